"""What a code means, as its own file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.paint import BOLD, paint

if TYPE_CHECKING:
    from hpplan.diagnostics import Code


def render(code: Code, *, color: bool = False) -> str:
    """Return id, name and severity, and the code's documentation."""
    title = paint(f"{code.id} {code.name} ({code.severity})", BOLD, color=color)
    lines = [paint(line, BOLD, color=color and line.startswith("## ")) for line in code.doc.splitlines()]
    return "\n".join([title, "", *lines, ""])
