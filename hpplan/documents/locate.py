"""Where nodes are in a document's text: one walk for any number of paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hpplan.documents.steps import CLOSE, MAPPING, MERGE, SCALAR, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hpplan.diagnostics import Path
    from hpplan.documents.source import Source
    from hpplan.documents.steps import Step


@dataclass
class _Wanted:
    """A node of the tree of wanted paths, with the indices found so far."""

    below: dict[str | int, _Wanted] = field(default_factory=dict)
    key: int | None = None
    value: int | None = None

    def count(self) -> int:
        """Return the number of nodes of this tree."""
        return 1 + sum(child.count() for child in self.below.values())

    def index(self, *, on_key: bool) -> int:
        index = self.key if on_key and self.key is not None else self.value
        return index or 0


def find(source: Source, wanted: Iterable[tuple[Path, bool]]) -> list[int]:
    """Return the character index of each (path, on_key), or of its nearest ancestor in the text."""
    asked = list(wanted)
    top = _Wanted(value=0)
    for path, _ in asked:
        node = top
        for key in path:
            node = node.below.setdefault(key, _Wanted())
    if source.format == "json":
        from hpplan.documents.json_steps import json_steps

        _walk(json_steps(source.text), top)
    else:
        from hpplan.documents.yaml_steps import yaml_steps

        _walk(yaml_steps(source.text), top)
    return [_nearest(top, path, on_key=on_key) for path, on_key in asked]


def _nearest(top: _Wanted, path: Path, *, on_key: bool) -> int:
    node = top
    for key in path:
        below = node.below[key]
        if below.value is None:
            # Where something is missing, people look at the name of what lacks it.
            return node.index(on_key=True)
        node = below
    return node.index(on_key=on_key)


def _walk(steps: Iterator[Step], top: _Wanted) -> None:
    """Fill in the indices, up to the last that is wanted; the first of several equal keys counts."""
    open_nodes: list[_Open] = []
    missing = top.count()
    for step, index, text in steps:
        if step == CLOSE:
            open_nodes.pop()
            continue
        parent = open_nodes[-1] if open_nodes else None
        if parent is None:
            node: _Wanted | None = top
        elif parent.expects_key:
            parent.take_key(step, index, text)
            node = None
        else:
            node = parent.take_value()
        if node is not None:
            node.value = index
            missing -= 1
            if not missing:
                return
        if step in {MAPPING, SEQUENCE}:
            open_nodes.append(_Open(node, is_mapping=step == MAPPING))


class _Open:
    """A list or mapping that the walk is inside of."""

    __slots__ = ("count", "expects_key", "is_mapping", "member", "node")

    def __init__(self, node: _Wanted | None, *, is_mapping: bool) -> None:
        self.node = node
        self.is_mapping = is_mapping
        self.expects_key = is_mapping
        self.member: _Wanted | None = None  # what the next value of a mapping belongs to
        self.count = 0

    def take_key(self, step: str, index: int, text: str | None) -> None:
        self.expects_key = False
        self.member = None
        if self.node is None:
            return
        if step == SCALAR and text is not None:
            member = self.node.below.get(text)
            if member is not None and member.key is None:
                member.key = index
                self.member = member
        elif step == MERGE:
            # Until a key of its own turns up, what is merged is where `<<` is.
            for child in self.node.below.values():
                if child.value is None:
                    child.value = index

    def take_value(self) -> _Wanted | None:
        if self.is_mapping:
            self.expects_key = True
            return self.member
        self.count += 1
        return self.node.below.get(self.count - 1) if self.node is not None else None
