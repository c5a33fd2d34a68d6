"""Findings as one line each: `file:line:column: CODE severity: message`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hpplan.reports.terminal.paint import BOLD, SEVERITY_COLORS, paint

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


def visible(text: str) -> str:
    """Return one line of text with everything that a terminal would obey or hide as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def on_terminal(text: str) -> str:
    """Return text as a terminal may get it: escaped, apart from line breaks, tabs and colours."""
    return _NOT_PLAIN.sub(lambda found: found[1] or visible(found[0]), text)


_NOT_PLAIN: Final = re.compile(r"(\x1b\[[0-9;]*m)|[^\t\n -~]")


def visible_lines(text: str) -> str:
    """Return text with everything that a terminal would obey or hide as escapes, apart from line breaks."""
    return "\n".join(visible(line) for line in text.split("\n"))
