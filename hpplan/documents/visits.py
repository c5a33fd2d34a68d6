"""A walk over a document's text that knows the path of each node, for what is wrong with the text itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hpplan.diagnostics import Diagnostic, Path, Place
from hpplan.documents.codes import DUPLICATE_KEY
from hpplan.documents.source import Source
from hpplan.documents.tokens import CLOSE, MAPPING, SEQUENCE, Tokens


class Visit(NamedTuple):
    """A key, or a node with its path: its kind, where it starts, its text if it is a string.

    `first` is set for a key: where the first key like it in its mapping is.
    """

    kind: str
    start: int
    text: str | None
    path: Path
    first: int | None

    def place(self, source: Source) -> Place:
        """Return where this is in the document."""
        return Place(source.name, self.path, self.first is not None, source.position(self.start))

    def duplicate(self, source: Source) -> Diagnostic:
        """Return the finding for a key that is not the first one."""
        assert self.first is not None
        place = self.place(source)
        first = Place(source.name, self.path, True, source.position(self.first), "first given here")  # noqa: FBT003 - on the key
        message = f"the key {self.path[-1]!r} is given twice in one mapping"
        return Diagnostic(DUPLICATE_KEY, message, place, related=(first,))


def visits(tokens: Tokens) -> Iterator[Visit]:
    """Yield what a walk meets."""
    open_nodes: list[_Open] = []
    for kind, index, text in tokens:
        if kind == CLOSE:
            open_nodes.pop()
            continue
        first = open_nodes[-1].take(kind, index, text) if open_nodes else None
        yield Visit(kind, index, text, tuple(node.key for node in open_nodes), first)
        if kind in {MAPPING, SEQUENCE}:
            open_nodes.append(_Open(is_mapping=kind == MAPPING))


class _Open:
    """A list or mapping that the walk is inside of, and the key or index it is at."""

    def __init__(self, *, is_mapping: bool) -> None:
        self.key: str | int = "" if is_mapping else -1
        self._firsts: dict[tuple[str, str | None], int] = {}
        self._is_mapping = self._expects_key = is_mapping

    def take(self, kind: str, index: int, text: str | None) -> int | None:
        """Go on to the next node; return where the first key like this one is, if this is a key."""
        if not self._is_mapping:
            self.key = int(self.key) + 1
            return None
        self._expects_key = not self._expects_key
        if self._expects_key:
            return None
        self.key = "?" if text is None else text
        return self._firsts.setdefault((kind, text), index)
