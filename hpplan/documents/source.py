"""A document's text, and the positions of its nodes, worked out only when asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic, Place, Position

Format = Literal["yaml", "json", "toml"]

BOM: Final = "\ufeff"

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# Only breaks that every reader takes for one end a header line: YAML 1.1 has three more.
_HEADER = re.compile(r"(?:[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|\r|\n|\Z))+")


def format_of_name(name: str) -> Format | None:
    """Return the format that the name of a file asks for, if it does."""
    if name.endswith(".json"):
        return "json"
    return "yaml" if name.endswith((".yaml", ".yml")) else None


@dataclass(frozen=True)
class Source:
    """The text of one document, without a byte order mark.

    `name` is the path it was read from, or `<stdin>`.
    """

    name: str
    text: str = field(repr=False)
    format: Format
    has_mark: bool = False
    """Whether a byte order mark stood before the text."""
    _shown: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The line that was asked for last: a document in one line is long, and may have many findings."""
    _located: dict[Place, Position] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The positions that were worked out so far."""

    @property
    def marked_text(self) -> str:
        """The text with the byte order mark that stood before it, if one did: what the file holds."""
        return BOM + self.text if self.has_mark else self.text

    @property
    def own_format(self) -> Format:
        """The format in which to write the document back.

        A file called *.json may hold JSON that only a YAML reader takes; its
        other readers take no YAML.
        """
        return "json" if format_of_name(self.name) == "json" else self.format

    @cached_property
    def header(self) -> str:
        """The comments before the first line of a YAML document, with one empty line between paragraphs."""
        match = _HEADER.match(self.text) if self.format == "yaml" else None
        lines = _LINE_BREAK.split(match.group()) if match is not None else []
        paragraphs = (
            "".join(f"{line}\n" for line in group)
            for is_comment, group in groupby((line.strip() for line in lines), key=bool)
            if is_comment
        )
        return "\n".join(paragraphs)

    @cached_property
    def has_comments(self) -> bool:
        """Whether a YAML document has comments behind its header, which a rewrite would lose."""
        if self.format != "yaml":
            return False
        from hpplan.documents.yaml_text.comments import has_comment

        match = _HEADER.match(self.text)
        return has_comment(self.text, match.end() if match is not None else 0)

    @cached_property
    def _line_starts(self) -> list[int]:
        if "\r" in self.text:
            return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        # Several times faster, and positions in a large JSON text are mostly this.
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))[:-1]

    def position(self, index: int) -> Position:
        """Return line and column, counted from 1, of the character at `index`."""
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line `number`, counted from 1, without its line break; empty beyond the last line."""
        starts = self._line_starts
        if not 1 <= number <= len(starts):
            return ""
        if number not in self._shown:
            stop = starts[number] if number < len(starts) else len(self.text)
            self._shown.clear()
            self._shown[number] = self.text[starts[number - 1] : stop].rstrip("\r\n")
        return self._shown[number]

    def locate(self, places: Iterable[Place]) -> dict[Place, Position]:
        """Return where each place is, in one pass over the text for all of them.

        A place that is not in the text, such as a missing field or a node that
        an alias stands for, gets the position of its nearest ancestor that is:
        of that one's key where it has one. What is merged is where `<<` is.
        """
        known: dict[Place, Position] = {}
        wanted: list[Place] = []
        for place in places:
            position = place.position or self._located.get(place)
            if position is not None:
                known[place] = position
            else:
                wanted.append(place)
        if wanted:
            from hpplan.documents.collector import collector_paused
            from hpplan.documents.locate import find

            with collector_paused():
                indices = find(self.text, self.format, [(place.path, place.on_key) for place in wanted])
                for place, index in zip(wanted, indices, strict=True):
                    known[place] = self._located[place] = self.position(index)
        return known


class Sources:
    """The documents of one run, by name."""

    def __init__(self) -> None:
        """Start without documents."""
        self._sources: dict[str, Source] = {}

    def add(self, source: Source) -> None:
        """Remember a document; one of the same name takes the place of the earlier one."""
        self._sources[source.name] = source

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the documents that were read."""
        return tuple(self._sources)

    def get(self, name: str) -> Source | None:
        """Return the document called `name`, if it was read."""
        return self._sources.get(name)

    def positions(self, places: Iterable[Place]) -> dict[Place, Position]:
        """Return where each place is; line 1, column 1 in a document that is not known."""
        by_document: dict[str, list[Place]] = {}
        for place in places:
            by_document.setdefault(place.document, []).append(place)
        positions: dict[Place, Position] = {}
        for name, group in by_document.items():
            source = self._sources.get(name)
            if source is None:
                positions.update((place, place.position or (1, 1)) for place in group)
            else:
                positions.update(source.locate(group))
        return positions

    def resolve(self, diagnostics: Iterable[Diagnostic]) -> list[tuple[Diagnostic, Position]]:
        """Return the findings with their positions, sorted by document, line, column, code and message."""
        findings = list(diagnostics)
        # Reports ask for the related places next, and one walk over a text finds all of them.
        positions = self.positions(
            dict.fromkeys(place for finding in findings for place in (finding.place, *finding.related))
        )
        resolved = [(finding, positions[finding.place]) for finding in findings]
        resolved.sort(key=lambda pair: (pair[0].place.document, pair[1], pair[0].code.id, pair[0].message))
        return resolved
