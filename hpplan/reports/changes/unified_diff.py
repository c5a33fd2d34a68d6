"""Unified diffs that stay quick on documents of many thousand lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import Match, SequenceMatcher
from typing import TYPE_CHECKING

from hpplan.reports.terminal.paint import BOLD, CYAN, GREEN, RED, paint
from hpplan.reports.terminal.visible import on_terminal, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTEXT = 3


_STYLES = {"@": CYAN, "-": RED, "+": GREEN}


def render(before: str, after: str, before_name: str, after_name: str, *, color: bool = False) -> str:
    """Return the unified diff that would turn one text into the other; nothing where they are equal.

    In colour it is for people, and control characters come out as escapes.
    """
    old, new = _lines(before), _lines(after)
    lines = [
        line for group in _Matcher(old, new).get_grouped_opcodes(_CONTEXT) for line in _hunk(group, old, new)
    ]
    if not lines:
        return ""
    names = (f"--- {visible(before_name)}", f"+++ {visible(after_name)}")
    heads = (paint(name, BOLD, color=color) for name in names)
    return "".join(f"{line}\n" for line in (*heads, *(_shown(line, color=color) for line in lines)))


def _shown(line: str, *, color: bool) -> str:
    """Return a line of a hunk, in the colour of its sign, less its line feed."""
    text = line.removesuffix("\n")
    if color:
        text = on_terminal(text)
    shown = paint(text, _STYLES[line[0]], color=color) if line[0] in _STYLES else text
    return shown if line.endswith("\n") else f"{shown}\n\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Split a text at line feeds alone, as `patch` and `git apply` do."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


class _Matcher(SequenceMatcher[str]):
    """Lines up what occurs once on both sides first, and looks closely only in between.

    A plan repeats the same few lines for each of its modules, which the plain
    matcher compares with each other: a minute for a plan of 15,000 entries.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        blocks: list[Match] = []
        for i, j, size in self._runs():
            if blocks and blocks[-1].a + blocks[-1].size == i and blocks[-1].b + blocks[-1].size == j:
                blocks[-1] = Match(blocks[-1].a, blocks[-1].b, blocks[-1].size + size)
            else:
                blocks.append(Match(i, j, size))
        return [*blocks, Match(len(self._old), len(self._new), 0)]

    def _runs(self) -> Iterator[tuple[int, int, int]]:
        i = j = 0
        for anchor_i, anchor_j in [*_anchors(self._old, self._new), (len(self._old), len(self._new))]:
            for match in _alike(self._old[i:anchor_i], self._new[j:anchor_j]):
                yield i + match.a, j + match.b, match.size
            if anchor_i < len(self._old):
                yield anchor_i, anchor_j, 1
            i, j = anchor_i + 1, anchor_j + 1


def _alike(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    """Return the runs of lines that both sides have; of many lines that repeat, those at both ends alone."""
    counts = Counter(new)
    if sum(counts[line] for line in old) <= _MOST_PAIRS:
        return SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()[:-1]
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    return [Match(0, 0, start), Match(len(old) - end, len(new) - end, end)]


_MOST_PAIRS = 250_000
"""Equal lines of both sides, each with each, up to which all of them are compared."""


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines that occur once on both sides, the longest choice that keeps their order."""
    old_counts, new_counts = Counter(old), Counter(new)
    where = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [
        (index, where[line]) for index, line in enumerate(old) if old_counts[line] == 1 and line in where
    ]
    # Longest increasing subsequence: ends[k] is the smallest end of a chain of k + 1 pairs.
    ends: list[int] = []
    last: list[int] = []
    previous: list[int | None] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [number]
        previous.append(last[length - 1] if length else None)
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else None
    while at is not None:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _hunk(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[str]:
    first, final = group[0], group[-1]
    yield f"@@ -{_range(first[1], final[2])} +{_range(first[3], final[4])} @@\n"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (f" {line}" for line in old[i1:i2])
        else:
            yield from (f"-{line}" for line in old[i1:i2])
            yield from (f"+{line}" for line in new[j1:j2])


def _range(start: int, stop: int) -> str:
    """Spell a range of lines as unified diffs do: an empty one names the line before it."""
    size = stop - start
    first = start + 1 if size else start
    return str(first) if size == 1 else f"{first},{size}"
