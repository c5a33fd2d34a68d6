"""Where nodes are in a document's text: one walk for any number of paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpplan.diagnostics import Path
from hpplan.documents.tokens import CLOSE, MAPPING, MERGE, SCALAR, SEQUENCE, Tokens


class _Wanted:
    """A node of the tree of wanted paths, with the indices found so far."""

    __slots__ = ("above", "below", "key", "value")

    def __init__(self, above: _Wanted | None) -> None:
        self.above = above
        self.below: dict[str | int, _Wanted] | None = None
        self.key: int | None = None
        self.value: int | None = None

    def index(self, *, on_key: bool) -> int:
        """Return where the node is, or its nearest ancestor in the text."""
        node: _Wanted | None = self
        while node is not None and node.value is None:
            # Where something is missing, people look at the name of what lacks it.
            node, on_key = node.above, True
        if node is None:
            return 0
        return (node.key if on_key and node.key is not None else node.value) or 0


def find(text: str, format_name: str, wanted: Iterable[tuple[Path, bool]]) -> list[int]:
    """Return the character index of each (path, on_key), or of its nearest ancestor in the text."""
    if format_name == "toml":
        from hpplan.documents.toml_positions import toml_positions

        positions = toml_positions(text)
        return [_nearest(positions, path, on_key=on_key) for path, on_key in wanted]
    top = _Wanted(None)
    missing = 1
    asked: list[tuple[_Wanted, bool]] = []
    for path, on_key in wanted:
        node = top
        for key in path:
            if node.below is None:
                node.below = {}
            child = node.below.get(key)
            if child is None:
                child = node.below[key] = _Wanted(node)
                missing += 1
            node = child
        asked.append((node, on_key))
    if format_name == "json":
        from hpplan.documents.json_text.tokens import json_tokens

        _walk(json_tokens(text), top, missing)
    else:
        from hpplan.documents.yaml_text.tokens import yaml_tokens

        _walk(yaml_tokens(text), top, missing)
    return [node.index(on_key=on_key) for node, on_key in asked]


def _nearest(positions: Mapping[Path, tuple[int, int]], path: Path, *, on_key: bool) -> int:
    while path not in positions:
        path, on_key = path[:-1], True
    key, value = positions[path]
    return key if on_key else value


def _walk(tokens: Tokens, top: _Wanted, missing: int) -> None:
    """Fill in the indices up to the last of `missing` ones, passing over what holds none.

    The first of several equal keys counts.
    """
    open_nodes: list[_Open] = []
    pass_over: bool | None = None
    try:
        while missing:
            kind, index, text = tokens.send(pass_over)
            pass_over = False
            if kind == CLOSE:
                open_nodes.pop()
                continue
            parent = open_nodes[-1] if open_nodes else None
            if parent is not None and parent.expects_key:
                pass_over = not parent.take_key(kind, index, text)
                continue
            node = top if parent is None else parent.take_value()
            if node is not None:
                node.value = index
                missing -= 1
            if kind in {MAPPING, SEQUENCE}:
                if node is not None and node.below is not None:
                    open_nodes.append(_Open(node.below, is_mapping=kind == MAPPING))
                else:
                    pass_over = True
    except StopIteration:
        return


class _Open:
    """A list or mapping that the walk is inside of."""

    __slots__ = ("below", "count", "expects_key", "is_mapping", "member")

    def __init__(self, below: dict[str | int, _Wanted], *, is_mapping: bool) -> None:
        self.below = below
        self.is_mapping = is_mapping
        self.expects_key = is_mapping
        self.member: _Wanted | None = None  # what the next value of a mapping belongs to
        self.count = 0

    def take_key(self, kind: str, index: int, text: str | None) -> bool:
        """Return whether the walk is to go into the value, or at least to look at it."""
        if kind == SCALAR:
            member = self.below.get(text) if text is not None else None
            if member is None or member.key is not None:
                return False
            member.key = index
            self.member = member
            self.expects_key = False
            return True
        if kind == MERGE:
            # Until a key of its own turns up, what is merged is where `<<` is.
            for child in self.below.values():
                if child.value is None:
                    child.value = index
            return False
        # A list or mapping as a key: passed over itself, and then what belongs to it.
        self.member = None
        self.expects_key = False
        return False

    def take_value(self) -> _Wanted | None:
        if self.is_mapping:
            self.expects_key = True
            return self.member
        self.count += 1
        return self.below.get(self.count - 1)
