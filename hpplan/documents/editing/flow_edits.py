"""Removing and adding members of a mapping in flow style, in YAML and in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hpplan.diagnostics import Path
from hpplan.documents.editing.nodes import Node
from hpplan.documents.editing.page import Edit, Page, RefusedError


class _Span(NamedTuple):
    """Where a member is, and the index behind the comma that follows it, if one does."""

    start: int
    end: int
    behind: int
    has_comma: bool


def flow_edits(
    page: Page, node: Node, path: Path, gone: list[int], added: dict[int, list[str]]
) -> Iterator[Edit]:
    """Yield the edits that remove members by index, and add the keys under an index behind that member.

    What is added under -1 comes before the first member that stays.
    """
    spans = _spans(page, node)
    removed = frozenset(gone)
    kept = [index for index in range(len(spans)) if index not in removed]
    if not kept:
        yield from _all_new(page, node, path, spans, [key for keys in added.values() for key in keys])
        return
    last = kept[-1]
    ends = last < len(spans) - 1 and not spans[-1].has_comma
    if ends:
        yield spans[last].behind - 1, spans[last].behind, ""
    for index in gone:
        yield _range(page, spans, index, last)
    for index, keys in added.items():
        at = spans[max(index, kept[0])]
        margin = page.margin(at.start)
        if page.tail(at.behind) is None:
            margin = None
        pairs = [page.pair((*path, key), node.new[key], margin) for key in keys]
        if index < 0:
            yield at.start, at.start, page.joined([*pairs, ""], margin)
        elif margin is None:
            yield at.end, at.end, page.joined(["", *pairs], None)
        else:
            yield from _in_lines(
                page, at, pairs, margin, has_comma=at.has_comma and not (ends and index == last)
            )


def _in_lines(page: Page, at: _Span, pairs: list[str], margin: str, *, has_comma: bool) -> Iterator[Edit]:
    """Add pairs in lines of their own, behind the comment that may follow the member before them."""
    if not has_comma:
        yield at.end, at.end, ","
    tail = page.tail(at.behind)
    if tail is not None:
        lines = page.line_break + margin + page.joined(pairs, margin)
        yield tail[0], tail[0], f"{lines}," if has_comma else lines


def _all_new(page: Page, node: Node, path: Path, spans: list[_Span], keys: list[str]) -> Iterator[Edit]:
    """Change all that is between the brackets, but for comments that do not go with a member."""
    start, stop = node.wide, node.end - 1
    ranges = [_range(page, spans, index, -1) for index in range(len(spans))]
    left, at = "", start
    for begin, end, _ in ranges:
        left += page.text[at:begin]
        at = end
    comments = "#" in left + page.text[at:stop]
    margin = page.indentation(node.start)
    inner = None if comments else page.below(margin)
    joined = page.joined([page.pair((*path, key), node.new[key], inner) for key in keys], inner)
    if comments:
        yield start, start, joined
        yield from ranges
    elif keys and inner is not None:
        yield start, stop, f"{page.line_break}{inner}{joined}{page.line_break}{margin}"
    else:
        yield start, stop, joined


def _spans(page: Page, node: Node) -> list[_Span]:
    """Return where the members are; raise RefusedError where the text between them is not as expected."""
    text = page.text
    if text[node.wide - 1] not in "{[":
        raise RefusedError("it is a pair without brackets")
    spans: list[_Span] = []
    at = node.wide
    for member in node.members or []:
        start = at = page.skipped(at)
        if text[at] == "?" and at != member.start:
            at = page.skipped(at + 1)
        comma = page.skipped(member.end)
        has_comma = text[comma] == ","
        if at != member.start or not (has_comma or comma == node.end - 1):
            raise RefusedError("hpplan does not know how its members are set apart")
        at = comma + 1 if has_comma else member.end
        spans.append(_Span(start, member.end, at, has_comma))
    return spans


def _range(page: Page, spans: list[_Span], index: int, last: int) -> Edit:
    """Return the edit that removes a member, where `last` is the last one that stays."""
    span = spans[index]
    text = page.text
    margin = page.margin(span.start)
    tail = page.tail(span.behind)
    if tail is not None and margin is not None:
        return span.start - len(margin), tail[1], ""
    following = spans[index + 1].start if index + 1 < len(spans) else None
    if index < last and following is not None and text[span.behind : following].strip(" \t") == "":
        return span.start, following, ""
    start = span.start
    while margin is None and text[start - 1] in " \t":
        start -= 1
    # A comment goes along where no other member is in its line.
    before = text[spans[index - 1].behind : start] if index else "\n"
    if tail is not None and ("\n" in before or "\r" in before):
        return start, tail[0], ""
    return start, span.behind, ""
