"""What a document's text is made of: the nodes that an edit has to know, and where they stand."""

from __future__ import annotations

from typing import Any, Final

from hpplan.documents.scalars import Data

ABSENT: Final[Any] = object()
"""The data of what is not there."""

ALIAS: Final = "alias"

MERGED: Final = object()
"""Stands for the merge key `<<` among the keys of a mapping."""


class Node:
    """A list, mapping, scalar or alias in the text, from its anchor and tag to the end of its content.

    `members` are known where an edit may be needed among them. `wide` is the
    index behind the opening bracket of a node in flow style, or behind what
    stands before the first member of one in block style.
    """

    __slots__ = ("became", "end", "flow", "kind", "members", "new", "old", "start", "target", "wide")

    def __init__(self, kind: str, start: int, old: Data, new: Data) -> None:
        """Start without members, as wide as nothing."""
        self.kind = kind
        self.start = self.end = self.wide = start
        self.old = old
        self.new = new
        self.flow = True
        """Whether the node may stand in one line with what is around it."""
        self.members: list[Member] | None = None
        self.target: Node | None = None
        """What an alias stands for."""
        self.became: Data = ABSENT
        """What aliases of this node stand for after the edits, where that is another value than before."""

    @property
    def differs(self) -> bool:
        """Whether edits inside a list or mapping can make what is new of it."""
        old, new = self.old, self.new
        if old is new or type(old) is not type(new):
            return False
        return type(old) is dict or (type(old) is list and len(old) == len(new))


class Member:
    """What a mapping holds under a key, or a list at an index; `node` is left out where it stays as it is."""

    __slots__ = ("end", "key", "key_end", "node", "start", "target")

    def __init__(self, key: Any, start: int, key_end: int) -> None:  # noqa: ANN401 - a string, an index or `MERGED`
        """Start with a key alone."""
        self.key = key
        self.start = start
        self.key_end = self.end = key_end
        self.node: Node | None = None
        self.target: Node | None = None
        """What an alias stands for that is the key."""
