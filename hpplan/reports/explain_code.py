"""What codes mean, as their own files say: one in full, all in a table, either as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Code
from hpplan.reports.findings import dump
from hpplan.reports.paint import BOLD, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.reports.screen import Screen


def render(code: Code, *, color: bool = False) -> str:
    """Return id, name and severity, and the code's documentation."""
    title = paint(f"{code.id} {code.name} ({code.severity})", BOLD, color=color)
    lines = [paint(line, BOLD, color=color and line.startswith("## ")) for line in code.doc.splitlines()]
    return "\n".join([title, "", *lines, ""])


def render_table(codes: Sequence[Code], screen: Screen) -> str:
    """Return a line for each code."""
    rows = [(code.id, code.severity, code.name, code.summary) for code in codes]
    title = f"{len(codes)} codes; `hpplan explain CODE` tells all about one"
    return screen.table(title, ("code", "severity", "name", "what it finds"), rows)


def render_json(codes: Code | Sequence[Code]) -> str:
    """Return a code, or a list of them, as JSON."""
    return dump(_data(codes) if isinstance(codes, Code) else [_data(code) for code in codes], indent=2) + "\n"


def _data(code: Code) -> dict[str, Any]:
    return {
        "code": code.id,
        "name": code.name,
        "severity": code.severity,
        "summary": code.summary,
        "doc": code.doc,
    }
