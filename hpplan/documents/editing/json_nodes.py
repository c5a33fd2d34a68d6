"""The nodes of a JSON text, where edits may be; the rest is passed over by the standard library's scanner."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs lack it

from hpplan.documents.editing.nodes import ABSENT, Member, Node
from hpplan.documents.json_text.tokens import end_of_node
from hpplan.documents.scalars import Data
from hpplan.documents.tokens import MAPPING, SCALAR, SEQUENCE

_SPACE = re.compile(r"[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*(?:,[ \t\r\n]*)?")


class JsonNodes:
    """The tree of nodes of a text that is known to be an object in JSON; `stop` is where it ends."""

    def __init__(self, text: str, old: Data, new: Data) -> None:
        """Walk the text once."""
        self._text = text
        self.anchored: list[Node] = []
        self.root = self._node(self._behind(_SPACE, 0), old, new)
        self.stop = self.root.end

    def _node(self, start: int, old: Data, new: Data) -> Node:
        sign = self._text[start]
        node = Node({"{": MAPPING, "[": SEQUENCE}.get(sign, SCALAR), start, old, new)
        if node.kind == SCALAR or not node.differs:
            node.end = end_of_node(self._text, start)
            return node
        node.wide = start + 1
        node.members = []
        index = self._behind(_SPACE, node.wide)
        while self._text[index] not in "}]":
            member = self._pair(index, old, new) if node.kind == MAPPING else self._item(index, node)
            node.members.append(member)
            index = self._behind(_COMMA, member.end)
        node.end = index + 1
        return node

    def _pair(self, start: int, old: dict[str, Data], new: dict[str, Data]) -> Member:
        key, end = scanstring(self._text, start + 1, True)  # noqa: FBT003 - its one signature
        member = Member(key, start, end)
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        index = self._behind(_COLON, end)
        if before is after:
            member.end = end_of_node(self._text, index)
        else:
            member.node = self._node(index, before, after)
            member.end = member.node.end
        return member

    def _item(self, start: int, node: Node) -> Member:
        index = len(node.members or ())
        member = Member(index, start, start)
        member.node = self._node(start, node.old[index], node.new[index])
        member.end = member.node.end
        return member

    def _behind(self, pattern: re.Pattern[str], index: int) -> int:
        match = pattern.match(self._text, index)
        return match.end() if match is not None else index
