"""A document's text as an editor sees it: lines, margins, comments, and how new members are spelled."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from hpplan.diagnostics import Path
from hpplan.documents.editing.nodes import Node
from hpplan.documents.scalars import Data
from hpplan.documents.source import Source
from hpplan.documents.writer import CanonicalMembers, KeyOrder

Edit = tuple[int, int, str]
"""A range of the text, and what takes its place."""

# Only breaks that every reader takes for one end a line: YAML 1.1 has three more.
_BREAK = re.compile(r"\r\n|\r|\n")
_TAIL = re.compile(r"[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?=(\r\n|\r|\n))")
_BLANKS = re.compile(r"[ \t]*")
_COLON = re.compile(r"[ \t]*:[ \t]*")
_SKIPPED = re.compile(r"(?:[ \t\r\n\x85\u2028\u2029]+|#[^\r\n\x85\u2028\u2029]*)*")


class RefusedError(Exception):
    """Something cannot be edited where it stands; says why."""


class Page:
    """The text of a document, with a line break at its end."""

    def __init__(self, source: Source, key_order: KeyOrder) -> None:
        """Take the text as it is."""
        match = _BREAK.search(source.text)
        self.line_break = match.group() if match is not None else "\n"
        self._lacks_break = not source.text.endswith(("\n", "\r"))
        self.text = source.text + self.line_break if self._lacks_break else source.text
        self._source = source
        self.is_json = source.format == "json"
        self.canonical = CanonicalMembers(key_order)
        self.stop = len(self.text)
        """Where the document ends, and new members of its top go."""
        self._unit: str | None = None
        self._colon, self._comma = ": ", ", "

    def measure(self, root: Node) -> None:
        """Find out how a document in flow style, JSON above all, is indented and spaced."""
        members = root.members or []
        if not root.flow or not members:
            return
        first = members[0]
        self._unit = self.margin(first.start)
        if self.is_json and self._unit is None:
            match = _COLON.match(self.text, first.key_end)
            self._colon = match.group() if match is not None else self._colon
            self._comma = self.text[first.end : members[1].start] if len(members) > 1 else self._comma

    def changed(self, edits: Iterable[Edit]) -> str:
        """Return the text after some edits, none of which overlaps another."""
        pieces: list[str] = []
        index = 0
        for start, stop, put in sorted(edits, key=lambda edit: edit[:2]):
            pieces += (self.text[index:start], put)
            index = stop
        text = "".join((*pieces, self.text[index:]))
        return text.removesuffix(self.line_break) if self._lacks_break else text

    def margin(self, index: int) -> str | None:
        """Return what stands before a character in its line, if that is nothing but blanks."""
        text, start = self.text, index
        while start and text[start - 1] in " \t":
            start -= 1
        return text[start:index] if not start or text[start - 1] in "\r\n" else None

    def line_start(self, index: int) -> int:
        """Return where the line starts that a character is in."""
        return index - self._source.position(index)[1] + 1

    def indentation(self, index: int) -> str | None:
        """Return the blanks that a character's line starts with, if members stand in lines of their own."""
        match = None if self._unit is None else _BLANKS.match(self.text, self.line_start(index))
        return None if match is None else match.group()

    def tail(self, index: int) -> tuple[int, int] | None:
        """Return where the line ends and the next one starts, if nothing but a comment comes before."""
        match = _TAIL.match(self.text, index)
        return None if match is None else (match.end(), match.end(1))

    def skipped(self, index: int) -> int:
        """Return the index behind blanks, line breaks and comments."""
        match = _SKIPPED.match(self.text, index)
        return match.end() if match is not None else index

    def pair(self, path: Path, value: Data, margin: str | None) -> str:
        """Spell the member of a mapping in flow style that is at a path; see `flow`."""
        return f"{self._scalar(path[-1])}{self._colon}{self.flow(path, value, margin)}"

    def joined(self, members: Iterable[str], margin: str | None) -> str:
        """Join members that are in one line, or each in one with a margin."""
        return (self._comma if margin is None else f",{self.line_break}{margin}").join(members)

    def below(self, margin: str | None) -> str | None:
        """Return the margin one level below, if members stand in lines of their own there."""
        return None if margin is None or self._unit is None else margin + self._unit

    def flow(self, path: Path, value: Data, margin: str | None) -> str:
        """Spell a value in flow style: in one line, or in several where the document is, from a margin on."""
        if not value or not isinstance(value, (dict, list)):
            return self._scalar(value)
        inner = self.below(margin)
        if isinstance(value, dict):
            members = [self.pair((*path, key), value[key], inner) for key in self.keys(path, value)]
        else:
            members = [self.flow((*path, index), member, inner) for index, member in enumerate(value)]
        joined = self.joined(members, inner)
        if inner is not None:
            joined = f"{self.line_break}{inner}{joined}{self.line_break}{margin}"
        return f"{{{joined}}}" if isinstance(value, dict) else f"[{joined}]"

    def keys(self, path: Path, mapping: dict[str, Data]) -> list[str]:
        """Return the keys of a mapping in canonical order."""
        return sorted(mapping) if self.is_json else self.canonical.keys(path, mapping)

    def _scalar(self, value: Data) -> str:
        return json.dumps(value, ensure_ascii=False) if self.is_json else self.canonical.scalar(value)
