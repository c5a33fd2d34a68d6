"""What codes mean, as their own files say: one in full, all in a table, either as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Code
from hpplan.reports.findings.base import dump
from hpplan.reports.terminal.folding import fold
from hpplan.reports.terminal.paint import BOLD, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.reports.terminal.screen import Screen


_PARAGRAPH = re.compile(r"(?m)(?:^(?!#).+\n)+")


def render(code: Code, screen: Screen) -> str:
    """Return id, name and severity, and the code's documentation, whose prose fits a terminal."""
    title = paint(f"{code.id} {code.name} ({code.severity})", BOLD, color=screen.color)
    doc = code.doc if screen.width is None else _folded(code.doc, screen.width)
    lines = [paint(line, BOLD, color=screen.color and line.startswith("## ")) for line in doc.splitlines()]
    return "\n".join([title, "", *lines, ""])


def _folded(doc: str, width: int) -> str:
    """Return a documentation whose paragraphs fit a terminal; headings and examples stay as they are."""
    parts = doc.split("```")
    parts[::2] = (
        _PARAGRAPH.sub(lambda found: fold(" ".join(found.group().split()), width) + "\n", part)
        for part in parts[::2]
    )
    return "```".join(parts)


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
