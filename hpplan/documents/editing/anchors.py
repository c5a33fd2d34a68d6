"""What aliases and merges stand for while the nodes that have their anchors change."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from itertools import count
from typing import Final

from hpplan.documents.editing.nodes import ABSENT, ALIAS, MERGED, Node
from hpplan.documents.editing.page import RefusedError
from hpplan.documents.scalars import Data

GONE: Final[Data] = object()
"""What an alias stands for whose anchor is gone."""

Copy = tuple[int, str]
"""What takes the place of an alias: where the alias's anchor is, and the value."""


def same(left: Data, right: Data) -> bool:
    """Whether two values are equal, numbers in their type and NaN with itself too."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        return len(left) == len(right) and all(
            value is (other := right.get(key, ABSENT))
            or (value == other if type(value) is str else same(value, other))
            for key, value in left.items()
        )
    if kind is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(repr(left) == repr(right) if kind is float else left == right)


class Anchors:
    """The nodes of a text that aliases may stand for, in its order.

    Of several aliases that become the same, which `copies` counts, the first
    one gets an anchor that the others stand for, if it is among `repeated`.
    """

    def __init__(self, text: str, anchored: list[Node], repeated: frozenset[Copy]) -> None:
        """Start before any of them changes."""
        self.copies: Counter[Copy] = Counter()
        self.moved = False
        """Whether one of them has changed or gone."""
        self._text = text
        self._anchored = anchored
        self._starts = [node.start for node in anchored]
        self._repeated = repeated
        self._names: dict[Copy, str] = {}

    def change(self, node: Node) -> None:
        """Remember what a node became in its place."""
        at = bisect_left(self._starts, node.start)
        if self._starts[at : at + 1] == [node.start]:
            node.became, self.moved = node.new, True

    def remove(self, start: int, stop: int) -> None:
        """Remember that what has an anchor in a range of the text is there no more."""
        for node in self._anchored[bisect_left(self._starts, start) : bisect_left(self._starts, stop)]:
            node.became, self.moved = GONE, True

    def value(self, alias: Node) -> Data:
        """Return what an alias stands for after the edits before it."""
        target = alias.target
        assert target is not None
        if target.became is not ABSENT:
            return target.became
        return target.old if alias.old is ABSENT else alias.old

    def merged(self, node: Node) -> dict[str, Data]:
        """Return what `<<` brings into a mapping after the edits."""
        merged: dict[str, Data] = {}
        for member in node.members or []:
            if member.key is not MERGED:
                continue
            merge = member.node
            aliases = [each.node for each in merge.members] if merge and merge.members else [merge]
            for alias in aliases:
                value = self.value(alias) if alias is not None and alias.kind == ALIAS else GONE
                if type(value) is not dict:
                    raise RefusedError(
                        "'<<' brings in a mapping without an anchor, or one whose anchor is gone"
                    )
                for key, brought in value.items():
                    merged.setdefault(key, brought)
        return merged

    def copied(self, node: Node) -> tuple[str, str]:
        """Return the alias of what another alias became already, or the anchor of what others become too."""
        if not node.new or not isinstance(node.new, (dict, list)) or node.target is None:
            return "", ""
        copy = (node.target.start, json.dumps(node.new, sort_keys=True))
        self.copies[copy] += 1
        if copy not in self._repeated:
            return "", ""
        if copy in self._names:
            return f"*{self._names[copy]}", ""
        name = next(
            name
            for number in count(2)
            if f"&{(name := f'{self._text[node.start + 1 : node.end]}-{number}')}" not in self._text
            and name not in self._names.values()
        )
        self._names[copy] = name
        return "", f"&{name} "
