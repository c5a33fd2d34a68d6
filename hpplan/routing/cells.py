"""Cells of the matrix of rows, many at once: what one source sends to ranks that get the same number.

The ranks of a cell are `blocks` blocks of `width` neighbours from `first` on, one CP coordinate apart:
a zigzag or contiguous sequence that goes once around all CP ranks is a handful of cells. `stride`
is the number of ranks of a CP coordinate, tp.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hpplan.routing.ownership import Stretch

Cell = tuple[int, int, int, int]
"""Source, first, width, blocks; all are parent ranks, or numbers of them."""

Shape = tuple[int, int, int]
"""First, width, blocks: the ranks of a cell, or shards."""


def ranges_of(first: int, width: int, blocks: int, stride: int) -> Iterator[range]:
    """Yield the ranks of a cell, block by block."""
    for start in range(first, first + blocks * stride, stride):
        yield range(start, start + width)


def reaches(rank: int, first: int, width: int, blocks: int, stride: int) -> bool:
    """Whether a rank is one of a cell's."""
    if blocks == 1:
        return first <= rank < first + width
    block, at = divmod(rank - first, stride)
    return 0 <= block < blocks and at < width


def rows_by_rank(cells: Iterable[tuple[Cell, int]], size: int, stride: int) -> list[int]:
    """Return the rows that each of `size` ranks gets from cells of any source, at one step a cell."""
    steps = [0] * (size + 1)
    apart: list[int] = []
    for (_, first, width, blocks), rows in cells:
        if blocks == 1:
            steps[first] += rows
            steps[first + width] -= rows
            continue
        if not apart:
            apart = [0] * (size + 2 * stride)
        beyond = first + blocks * stride
        apart[first] += rows
        apart[first + width] -= rows
        apart[beyond] -= rows
        apart[beyond + width] += rows
    if apart:
        for at in range(stride):
            apart[at::stride] = accumulate(apart[at::stride])
        steps = [one + other for one, other in zip(steps, apart, strict=False)]
    return list(accumulate(steps[:size]))


class Moved(NamedTuple):
    """Rows by rank: sent to others, received from others, and kept."""

    sent: list[int]
    received: list[int]
    kept: list[int]


def moved_by_rank(cells: Mapping[Cell, int], size: int, stride: int) -> Moved:
    """Return what each of `size` ranks moves, at a few steps a cell."""
    sent, kept = [0] * size, [0] * size
    for (source, first, width, blocks), rows in cells.items():
        # Nearly all cells have one block, and a call would double the time of the hot loop.
        home = (
            first <= source < first + width if blocks == 1 else reaches(source, first, width, blocks, stride)
        )
        sent[source] += rows * (width * blocks - home)
        if home:
            kept[source] += rows
    arrived = rows_by_rank(cells.items(), size, stride)
    return Moved(sent, [total - own for total, own in zip(arrived, kept, strict=True)], kept)


def moved_inside(
    cells: Mapping[Cell, int], group_of: Sequence[int], stride: int
) -> tuple[list[int], list[int]]:
    """Return the rows that each rank sends within its group, and that it receives there, kept ones included.

    `group_of` has a number for each rank. Costs some steps for each block of a
    cell, or for each rank of the source's group where those are fewer.
    """
    members: dict[int, list[int]] = {}
    for rank, group in enumerate(group_of):
        members.setdefault(group, []).append(rank)
    steps = {group: [0] * (len(own) + 1) for group, own in members.items()}
    sent = [0] * len(group_of)
    for (source, first, width, blocks), rows in cells.items():
        group = group_of[source]
        own, line = members[group], steps[group]
        runs: Iterable[tuple[int, int]]
        if blocks == 1:
            # Nearly all cells: a generator would double the time.
            runs = ((bisect_left(own, first), bisect_left(own, first + width)),)
        elif blocks > len(own):
            runs = (
                (at, at + 1) for at, rank in enumerate(own) if reaches(rank, first, width, blocks, stride)
            )
        else:
            runs = (
                (bisect_left(own, start), bisect_left(own, start + width))
                for start in range(first, first + blocks * stride, stride)
            )
        for low, high in runs:
            line[low] += rows
            line[high] -= rows
            sent[source] += rows * (high - low)
    received = [0] * len(group_of)
    for group, own in members.items():
        for rank, rows in zip(own, accumulate(steps[group]), strict=False):
            received[rank] = rows
    return sent, received


def pattern_of(ranks: Sequence[int], ranks_per_node: int) -> tuple[int, ...]:
    """Return the node of each rank, counted from 0 in the order in which they come up."""
    return numbered([rank // ranks_per_node for rank in ranks])


def numbered(blocks: Sequence[int]) -> tuple[int, ...]:
    """Return numbers of blocks by first appearance: equal for parents that blocks cut alike."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(block, len(numbers)) for block in blocks)


def joined(stretches: list[Stretch], slices: int) -> list[Shape]:
    """Return the shards of stretches, each in one shape alone; a CP rank has `slices` of them."""
    if len(stretches) == 1:
        return [stretches[0][:3]]
    if any(one[2] > 1 for one in stretches):
        return _bands(stretches, slices)
    found: list[Shape] = []
    for first, width, _, _ in sorted(stretches):
        if found and first <= found[-1][0] + found[-1][1]:
            start, before, _ = found[-1]
            found[-1] = (start, max(before, first + width - start), 1)
        else:
            found.append((first, width, 1))
    return found


def _bands(stretches: list[Stretch], slices: int) -> list[Shape]:
    """Return the shapes of rectangles, CP ranks by slices, cut where any of them begins or ends a slice."""
    rectangles: list[tuple[int, int, int, int]] = []
    for first, width, blocks, _ in stretches:
        cp_rank, cut = divmod(first, slices)
        if cut + width > slices:  # whole CP ranks
            rectangles.append((cp_rank, cp_rank + width // slices, 0, slices))
        else:
            rectangles.append((cp_rank, cp_rank + blocks, cut, cut + width))
    rectangles.sort()
    found: list[Shape] = []
    for low, high in pairwise(sorted({edge for one in rectangles for edge in one[2:]})):
        start = stop = -1
        for begin, end, left, right in rectangles:
            if not left <= low < right:
                continue
            if begin <= stop:
                stop = max(stop, end)
                continue
            if stop > 0:
                found.append((start * slices + low, high - low, stop - start))
            start, stop = begin, end
        if stop > 0:
            found.append((start * slices + low, high - low, stop - start))
    return found
