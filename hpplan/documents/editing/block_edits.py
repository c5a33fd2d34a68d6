"""Removing and adding members of a YAML mapping in block style, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpplan.diagnostics import Path
from hpplan.documents.editing.nodes import Member, Node
from hpplan.documents.editing.page import Edit, Page, RefusedError

_BLANK_OR_COMMENT = re.compile(r"([ \t]*)(#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|\r|\n)")
_COLON = re.compile(r"[ \t\r\n]*:")


def block_edits(
    page: Page, node: Node, holder: Member | None, path: Path, gone: list[int], added: dict[int, list[str]]
) -> Iterator[Edit]:
    """Yield the edits that remove members by index, and add the keys under an index behind that member."""
    members = node.members or []
    if len(gone) == len(members) and not added:
        yield from _emptied(page, holder, members)
        return
    for index in gone:
        start = _start(page, members[index])
        if page.margin(start) is None:
            yield from _first_removed(page, members, frozenset(gone))
        else:
            yield page.line_start(start), _line_end(page, members[index])[1], ""
    for index, keys in added.items():
        first = _start(page, members[-1])
        margin = " " * (first - page.line_start(first))
        lines = [
            f"{line}{page.line_break}"
            for key in keys
            for line in page.canonical.lines(path, key, node.new[key], margin)
        ]
        at = _behind(page, members, index, len(margin)) if path else page.stop
        yield at, at, "".join(lines)


def replaced_lines(page: Page, member: Member, path: Path, anchor: str) -> Edit:
    """Return the edit that writes a member anew with its new value, and keeps the comment behind its key."""
    node = member.node
    start = _start(page, member)
    margin = " " * (start - page.line_start(start))
    key = str(path[-1])
    lines = page.canonical.lines(path[:-1], key, None if node is None else node.new, margin)
    spelled = f"{page.canonical.scalar(key)}:"
    lines[0] = lines[0][len(margin) :]
    if anchor and lines[0].startswith(spelled):
        lines[0] = f"{spelled} {anchor}{lines[0][len(spelled) :].lstrip()}".rstrip()
    stop, _ = _line_end(page, member)
    comment_from = member.end
    if node is not None and not node.flow:
        comment_from = _lead(page, member) or stop
    if len(lines) == 1 and comment_from == member.end:
        return start, member.end, lines[0]
    tail = page.tail(comment_from)
    if tail is not None and tail[0] <= stop:
        lines[0] += page.text[comment_from : tail[0]]
    return start, stop, page.line_break.join(lines)


def _emptied(page: Page, holder: Member | None, members: list[Member]) -> Iterator[Edit]:
    """Leave `{}`: behind the key of the mapping, or where its first member was."""
    start = _start(page, members[0])
    lead = None if holder is None else _lead(page, holder)
    if lead is not None and lead < page.line_start(start):
        yield lead, lead, " {}"
        first = page.line_start(start), _line_end(page, members[0])[1], ""
    else:
        first = start, _line_end(page, members[0])[0], "{}"
    yield first
    for member in members[1:]:
        yield page.line_start(member.start), _line_end(page, member)[1], ""


def _first_removed(page: Page, members: list[Member], gone: frozenset[int]) -> Iterator[Edit]:
    """Remove the member behind a dash; the next one that stays takes its place in the line."""
    start = _start(page, members[0])
    stop, at = _line_end(page, members[0])
    for index, member in enumerate(members[1:], 1):
        begin = _start(page, member)
        if page.line_start(begin) != at:
            break
        if index not in gone:
            yield start, at, ""
            yield at, begin, ""
            return
        at = _line_end(page, member)[1]
    # A comment comes between, or nothing stays: the dash has a line of its own.
    while page.text[start - 1] in " \t":
        start -= 1
    yield start, stop, ""


def _behind(page: Page, members: list[Member], index: int, column: int) -> int:
    """Return where a new member goes: behind a member and the comments that stand deeper."""
    least = column if index == len(members) - 1 else column + 1
    behind = at = _line_end(page, members[index])[1]
    while (match := _BLANK_OR_COMMENT.match(page.text, at)) is not None:
        at = match.end()
        if match.group(2):
            if len(match.group(1)) < least:
                break
            behind = at
    return behind


def _start(page: Page, member: Member) -> int:
    """Return where a member starts: at its key, or at the `?` before that."""
    before = page.text[page.line_start(member.start) : member.start].rstrip(" \t")
    return page.line_start(member.start) + len(before) - 1 if before.endswith("?") else member.start


def _line_end(page: Page, member: Member) -> tuple[int, int]:
    tail = page.tail(member.end)
    if tail is None:
        raise RefusedError("something that is no comment follows in its last line")
    return tail


def _lead(page: Page, member: Member) -> int | None:
    """Return the index behind the `:` of a member, and behind the anchor and tag that may follow it."""
    match = _COLON.match(page.text, member.key_end)
    if match is None or member.node is None:
        return None
    return match.end() if member.node.wide == member.node.start else member.node.wide
