"""Findings with the source line, a mark below what is wrong, and the related places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from hpplan.reports.findings.base import locate
from hpplan.reports.terminal.paint import BLUE, BOLD, DIM, SEVERITY_COLORS, paint
from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic, Place, Position
    from hpplan.documents.source import Sources
    from hpplan.reports.findings.base import Finding

_WIDEST = 240
"""Characters of a source line that are shown; a plan in one line is not shown whole."""

_BEFORE = 80
"""Characters that are kept before the mark in a line that is not shown whole."""

_TOKEN = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s,:{}\[\]"'#]|:(?=\S))+(?:\([^)]*\))?|\S""")
"""A key or a scalar, as far as one can tell within a line."""


class _Page:
    """Makes the blocks of one report; paints where colour is wanted."""

    def __init__(self, sources: Sources, *, color: bool) -> None:
        self._sources = sources
        self._color = color

    def block(self, finding: Finding) -> str:
        """Return one finding."""
        item, (line, column) = finding.diagnostic, finding.position
        color = SEVERITY_COLORS[item.level]
        width = max(
            len(str(position[0])) for position in (finding.position, *(p for _, p in finding.related))
        )
        margin = " " * width
        where = self._paint(visible(f"{item.place.document}:{line}:{column}:"), BOLD)
        level = self._paint(f"{item.code.id} {item.level}:", BOLD, color)
        lines = [f"{where} {level} {visible(item.message)} {self._paint(f'[{item.code.name}]', DIM)}"]
        lines += self._excerpt(item.place, finding.position, width, color)
        for place, position in finding.related:
            spot = visible(f"{place.document}:{position[0]}:{position[1]}:")
            note = visible(place.note or "related")
            lines.append(f"{margin} {self._paint(':', BLUE)} {spot} note: {note}")
            lines += self._excerpt(place, position, width, BLUE)
        if item.hint:
            lines.append(
                f"{margin} {self._paint('=', BLUE)} {self._paint('hint:', BOLD)} {visible(item.hint)}"
            )
        return "".join(f"{line}\n" for line in lines)

    def _excerpt(self, place: Place, position: Position, width: int, color: str) -> list[str]:
        source = self._sources.get(place.document)
        text = source.line(position[0]) if source is not None else ""
        if not text or text.isspace():
            return []
        before, token, after = _cut(text, position[1] - 1)
        mark = " " * _columns(before) + self._paint("^" * max(1, _columns(token)), BOLD, color)
        bar = self._paint("|", BLUE)
        number = self._paint(str(position[0]).rjust(width), BLUE)
        return [f"{number} {bar} {before}{token}{after}".rstrip(), f"{' ' * width} {bar} {mark}"]

    def _paint(self, text: str, *styles: str) -> str:
        return paint(text, *styles, color=self._color)


def render(diagnostics: Iterable[Diagnostic], sources: Sources, *, color: bool = False) -> str:
    """Return a block for each finding, with an empty line between two."""
    page = _Page(sources, color=color)
    return "\n".join(page.block(finding) for finding in locate(diagnostics, sources))


def _cut(text: str, start: int) -> tuple[str, str, str]:
    """Return what stands before the mark, above the mark and after it, shortened to what can be looked at."""
    found = _TOKEN.match(text, start, start + _WIDEST)
    stop = found.end() if found is not None else start
    if len(text) <= _WIDEST:
        return _shown(text[:start]), _shown(text[start:stop]), _shown(text[stop:])
    first = max(0, start - _BEFORE)
    last = min(len(text), max(stop, first + _WIDEST))
    before = ("…" if first else "") + _shown(text[first:start])
    return before, _shown(text[start:stop]), _shown(text[stop:last]) + ("…" if last < len(text) else "")


def _shown(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _columns(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )
