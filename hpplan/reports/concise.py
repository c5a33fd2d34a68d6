"""Findings as one line each: `file:line:column: CODE severity: message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Sources


def render(diagnostics: Iterable[Diagnostic], sources: Sources) -> str:
    """Return the findings, sorted by file, line, column and code.

    Below a finding stand its related places that have a note, and its hint.
    Control characters from documents come out as escapes.
    """
    resolved = sources.resolve(diagnostics)
    related = sources.positions({place for item, _ in resolved for place in item.related if place.note})
    lines: list[str] = []
    for item, (line, column) in resolved:
        lines.append(f"{item.place.document}:{line}:{column}: {item.code.id} {item.level}: {item.message}")
        for place in item.related:
            if place.note:
                row, start = related[place]
                lines.append(f"  note: {place.document}:{row}:{start}: {place.note}")
        if item.hint:
            lines.append(f"  hint: {item.hint}")
    return "".join(visible(line) + "\n" for line in lines)


def visible(text: str) -> str:
    """Return one line of text with everything that a terminal would obey or hide as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def visible_lines(text: str) -> str:
    """Return text with everything that a terminal would obey or hide as escapes, apart from line breaks."""
    return "\n".join(visible(line) for line in text.split("\n"))
