"""The nodes of a YAML text, from the parser's events: whole where it has aliases, else where edits may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from hpplan.documents.editing.nodes import ABSENT, ALIAS, MERGED, Member, Node
from hpplan.documents.scalars import Data, PlainScalars
from hpplan.documents.tokens import MAPPING, SCALAR, SEQUENCE
from hpplan.documents.yaml_text.parser import Event, open_parser
from hpplan.documents.yaml_text.tags import tagged_scalar

_BLANK = frozenset(" \t\r\n\x85\u2028\u2029")
_PROPERTIES = re.compile(r"[&!]\S*(?:[ \t]+[&!]\S*)*")


class YamlNodes:
    """The tree of nodes of a text that is known to be a mapping in YAML.

    `anchored` are the nodes that aliases may stand for, and `stop` is the
    index where the document ends. What `old` and `new` have in common is
    passed over, unless the text has aliases: what they stand for may change.
    """

    def __init__(self, text: str, old: Data, new: Data) -> None:
        """Walk the text once."""
        self._text = text
        self._get_event: Callable[[], Event] = open_parser(text).get_event
        self._whole = "&" in text and re.search(r"\*[0-9A-Za-z_-]", text) is not None
        self._by_name: dict[str, Node] = {}
        self._plain = PlainScalars()
        self.anchored: list[Node] = []
        for _ in range(2):
            self._get_event()
        self.root = self._node(self._get_event(), old, new)
        end = self._get_event()
        self.stop: int = end.start_mark.index if end.explicit else len(text)

    def _node(self, event: Event, old: Data, new: Data) -> Node:
        kind = type(event)
        start = event.start_mark.index
        if kind is AliasEvent:
            node = Node(ALIAS, start, old, new)
            node.target = self._by_name[event.anchor]
            node.end = event.end_mark.index
            return node
        node = Node(SCALAR if kind is ScalarEvent else SEQUENCE, start, old, new)
        if event.anchor is not None:
            self._by_name[event.anchor] = node
            self.anchored.append(node)
        if kind is ScalarEvent:
            node.end = self._end(event)
            node.start = min(start, node.end)
            return node
        node.flow = event.flow_style
        node.wide = event.end_mark.index
        if not node.flow:
            match = _PROPERTIES.match(self._text, start)
            node.wide = match.end() if match is not None else start
        if kind is MappingStartEvent:
            node.kind = MAPPING
        if not self._whole and not node.differs:
            node.end = self._skip(event)
        elif kind is MappingStartEvent:
            self._mapping(node)
        else:
            self._sequence(node)
        return node

    def _mapping(self, node: Node) -> None:
        get_event, whole = self._get_event, self._whole
        old = node.old if type(node.old) is dict else {}
        new = node.new if type(node.new) is dict else {}
        members = node.members = []
        while (kind := type(event := get_event())) is not MappingEndEvent:
            member = Member(self._key(event, kind), event.start_mark.index, event.end_mark.index)
            if kind is AliasEvent:
                member.target = self._by_name[event.anchor]
            members.append(member)
            event = get_event()
            before, after = old.get(member.key, ABSENT), new.get(member.key, ABSENT)
            if whole or before is not after:
                member.node = self._node(event, before, after)
                member.end = member.node.end
            else:
                member.end = self._skip(event)
        node.end = event.end_mark.index if node.flow else members[-1].end

    def _sequence(self, node: Node) -> None:
        get_event = self._get_event
        old, new = node.old, node.new
        alike = type(old) is type(new) is list and len(old) == len(new)
        pairs = iter(zip(old, new, strict=True) if alike else ())
        members = node.members = []
        while True:
            event = get_event()
            kind = type(event)
            if kind is SequenceEndEvent:
                break
            start = event.start_mark.index
            member = Member(len(members), start, start)
            member.node = self._node(event, *next(pairs, (ABSENT, ABSENT)))
            member.end = member.node.end
            members.append(member)
        node.end = event.end_mark.index if node.flow else members[-1].end

    def _key(self, event: Event, kind: type) -> Any:  # noqa: ANN401 - a string or `MERGED`
        if kind is AliasEvent:
            return self._by_name[event.anchor].old
        if event.value == "<<" and not event.style and event.tag is None:
            return MERGED
        if event.tag is not None:
            key = tagged_scalar(event.tag, event.value)[0]
        else:
            key = event.value if event.style else self._plain[event.value]
        if event.anchor is not None:
            self._by_name[event.anchor] = anchored = Node(SCALAR, event.start_mark.index, key, key)
            self.anchored.append(anchored)
        return key if type(key) is str else str(key)

    def _skip(self, event: Event) -> int:
        """Pass over a node and return where its content ends."""
        get_event = self._get_event
        last = event
        opened = 0
        while True:
            kind = type(event)
            if kind is ScalarEvent or kind is AliasEvent:
                last = event
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                opened -= 1
                # What ends in block style ends where the next token is, comments later.
                if event.end_mark.index > event.start_mark.index:
                    last = event
            else:
                opened += 1
            if not opened:
                return self._end(last)
            event = get_event()

    def _end(self, event: Event) -> int:
        """Return where a scalar, an alias or a bracket ends; for nothing at all, behind what comes before."""
        text = self._text
        start: int = event.start_mark.index
        end: int = event.end_mark.index
        kind = type(event)
        is_text = kind is ScalarEvent and event.style in {"|", ">"}
        if is_text and "+" in text[start : text.find("\n", start)]:
            # The empty lines at its end are part of it.
            return end - (2 if text[end - 2 : end] == "\r\n" else 1)
        if is_text or (kind is ScalarEvent and end == start):
            while text[end - 1] in _BLANK:
                end -= 1
        return end
