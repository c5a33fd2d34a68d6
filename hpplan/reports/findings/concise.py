"""Findings as one line each: `file:line:column: CODE severity: message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.paint import BOLD, SEVERITY_COLORS, paint
from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources


def render(diagnostics: Iterable[Diagnostic], sources: Sources, *, color: bool = False) -> str:
    """Return the findings, sorted by file, line, column and code.

    Below a finding stand its related places that have a note, and its hint.
    Control characters from documents come out as escapes. With `color`, code
    and severity are in that of the severity.
    """
    resolved = sources.resolve(diagnostics)
    related = sources.positions({place for item, _ in resolved for place in item.related if place.note})
    lines: list[str] = []
    for item, (line, column) in resolved:
        where = visible(f"{item.place.document}:{line}:{column}:")
        kind = paint(f"{item.code.id} {item.level}:", BOLD, SEVERITY_COLORS[item.level], color=color)
        lines.append(f"{where} {kind} {visible(item.message)}")
        for place in item.related:
            if place.note:
                row, start = related[place]
                lines.append(visible(f"  note: {place.document}:{row}:{start}: {place.note}"))
        if item.hint:
            lines.append(visible(f"  hint: {item.hint}"))
    return "".join(f"{line}\n" for line in lines)
