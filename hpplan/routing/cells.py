"""Cells of the matrix of rows, many at once: what one source sends to ranks that get the same number.

The ranks of a cell are `blocks` blocks of `width` neighbours from `first` on, one CP coordinate apart:
a zigzag or contiguous sequence that goes once around all CP ranks is a handful of cells. `stride`
is the number of ranks of a CP coordinate, tp.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
