"""Changing what a document holds and nothing else in its text: comments, order, quotes and blanks stay."""

from __future__ import annotations

from typing import NamedTuple

from hpplan.diagnostics import Path
from hpplan.documents.collector import collector_paused
from hpplan.documents.editing.anchors import GONE, Anchors, Copy, same
from hpplan.documents.editing.block_edits import block_edits, replaced_lines
from hpplan.documents.editing.flow_edits import flow_edits
from hpplan.documents.editing.json_nodes import JsonNodes
from hpplan.documents.editing.nodes import ALIAS, MERGED, Member, Node
from hpplan.documents.editing.page import Edit, Page, RefusedError
from hpplan.documents.editing.yaml_nodes import YamlNodes
from hpplan.documents.reader import parse_document
from hpplan.documents.scalars import Data
from hpplan.documents.source import BOM, Source
from hpplan.documents.spelling import unwritable
from hpplan.documents.tokens import SEQUENCE
from hpplan.documents.writer import KeyOrder
from hpplan.errors import InvalidInput


class Edited(NamedTuple):
    """A text that was changed where its data was; `text` is None where that cannot be done.

    `notes` say what was written anew as a whole, and why.
    """

    text: str | None
    notes: list[str]


def edited(source: Source, old: Data, new: Data, key_order: KeyOrder) -> Edited:
    """Return the text of a document, its byte order mark included, with `new` in it instead of `old`."""
    if same(old, new):
        return Edited(source.marked_text, [])
    page = Page(source, key_order)
    try:
        with collector_paused():
            editor = _Editor(page, old, new)
            text = editor.text()
            repeated = frozenset(copy for copy, uses in editor.anchors.copies.items() if uses > 1)
            if repeated:
                editor = _Editor(page, old, new, repeated)
                text = editor.text()
    except RefusedError as refused:
        return Edited(None, [str(refused)])
    text = BOM + text if source.has_mark else text
    if not _reads_as(text, source, new):
        return Edited(None, ["changed in place, its text would not read back as the plan"])
    return Edited(text, editor.notes)


class _Editor:
    """Works out the edits, node by node in the order of the text."""

    def __init__(self, page: Page, old: Data, new: Data, repeated: frozenset[Copy] = frozenset()) -> None:
        self.page = page
        self.notes: list[str] = []
        nodes = (JsonNodes if page.is_json else YamlNodes)(page.text, old, new)
        self._root = nodes.root
        self.anchors = Anchors(page.text, nodes.anchored, repeated)
        page.stop = nodes.stop
        page.measure(self._root)

    def text(self) -> str:
        """Return the text after the edits."""
        return self.page.changed(self._inside(self._root, None, ()))

    def _inside(self, node: Node, holder: Member | None, path: Path) -> list[Edit]:
        """Return the edits that make what is new of a list or mapping, member by member."""
        edits: list[Edit] = []
        gone: list[int] = []
        keys: list[str] = []
        members = node.members or []
        for index, member in enumerate(members):
            if member.target is not None and member.target.became is GONE:
                raise RefusedError("one of its keys is an alias whose anchor is gone")
            if member.key is MERGED:
                continue
            keys.append(member.key)
            if node.kind != SEQUENCE and member.key not in node.new:
                gone.append(index)
                self.anchors.remove(member.start, member.end)
            elif member.node is not None:
                edits += self._member(node, member, (*path, member.key))
        if node.kind == SEQUENCE:
            return edits
        added = self._added(node, keys, path, gone)
        if gone or added:
            if node.flow:
                edits += flow_edits(self.page, node, path, gone, added)
            else:
                edits += block_edits(self.page, node, holder, path, gone, added)
        return edits

    def _added(self, node: Node, keys: list[str], path: Path, gone: list[int]) -> dict[int, list[str]]:
        """Return the keys that a mapping lacks, under the index of the member that each is to follow."""
        members = node.members or []
        there = frozenset(keys)
        if not node.old.keys() >= there:
            raise RefusedError("hpplan does not find its keys")
        lacking = node.new.keys() - there
        if len(keys) < len(members):
            lacking = self._lacking(node, there, lacking)
        added: dict[int, list[str]] = {}
        if not lacking:
            return added
        removed = frozenset(gone)
        kept = {member.key: index for index, member in enumerate(members) if index not in removed}
        last = max(kept.values(), default=len(members) - 1)
        # The top of a YAML document grows at its end.
        in_order = (bool(path) or self.page.is_json) and keys == self.page.keys(path, node.old)
        at = -1 if node.flow else last
        for key in self.page.keys(path, node.new):
            if key in kept:
                at = kept[key]
            elif key in lacking:
                added.setdefault(at if in_order else last, []).append(key)
        return added

    def _lacking(self, node: Node, keys: frozenset[str], lacking: set[str]) -> set[str]:
        """Return what a mapping lacks of some keys after what `<<` brings in."""
        if keys <= node.new.keys() and not self.anchors.moved:
            merged = {key: value for key, value in node.old.items() if key not in keys}
        else:
            merged = self.anchors.merged(node)
        if not merged.keys() <= node.new.keys():
            raise RefusedError("'<<' brings in what has to go")
        return {key for key in lacking if key not in merged or not same(merged[key], node.new[key])}

    def _member(self, parent: Node, member: Member, path: Path) -> list[Edit]:
        """Return the edits that give a member its new value."""
        node = member.node
        assert node is not None
        anchor = ""
        if node.kind == ALIAS:
            value = self.anchors.value(node)
            if value is not GONE and same(value, node.new):
                return []
            override = self._override(node, value, path)
            if override is not None:
                return [(node.start, node.end, override)]
            known, anchor = self.anchors.copied(node)
            if known:
                return [(node.start, node.end, known)]
        elif node.members is not None and (node.differs or node.old is node.new):
            noted = len(self.notes)
            try:
                edits = self._inside(node, member, path)
            except RefusedError as refused:
                del self.notes[noted:]
                name = ".".join(map(str, path))
                self.notes.append(f"'{name}' was written anew, without the comments in it: {refused}")
            else:
                if node.differs:
                    self.anchors.change(node)
                return edits
        elif same(node.old, node.new):
            return []
        self.anchors.remove(node.start, member.end)
        return [self._set(parent, member, path, anchor)]

    def _set(self, parent: Node, member: Member, path: Path, anchor: str) -> Edit:
        """Return the edit that replaces the value of a member as a whole."""
        node = member.node
        assert node is not None
        is_short = not node.new or not isinstance(node.new, (dict, list))
        before = self.page.text[node.start - 1]
        if (
            not parent.flow
            and parent.kind != SEQUENCE
            and (not is_short or not node.flow or (node.start == node.end and before != ":"))
        ):
            return replaced_lines(self.page, member, path, anchor)
        put = anchor + self.page.flow(path, node.new, self.page.margin(member.start))
        if node.start == node.end:
            put = f" {put}" if before in ":-" else f": {put}"
        return node.start, node.end, put

    def _override(self, node: Node, value: Data, path: Path) -> str | None:
        """Spell a mapping that merges what an alias stands for, where the new value only adds to that."""
        new = node.new
        if type(value) is not dict or type(new) is not dict or not value.keys() <= new.keys():
            return None
        changed = [
            key for key in self.page.keys(path, new) if key not in value or not same(value[key], new[key])
        ]
        if len(changed) == len(new):
            return None
        alias = self.page.text[node.start : node.end]
        pairs = [self.page.pair((*path, key), new[key], None) for key in changed]
        return f"{{{', '.join([f'<<: {alias}', *pairs])}}}"


def _reads_as(text: str, source: Source, data: Data) -> bool:
    """Whether hpplan finds the data in a text."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        raise unwritable() from None
    try:
        document = parse_document(raw, source.name)
    except InvalidInput:
        return False
    return source.format in {"yaml", document.source.format} and same(document.data, data)
