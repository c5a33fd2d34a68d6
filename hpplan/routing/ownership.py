"""Which parent rank holds which decoder token: one coordinate system for every layout and mesh."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.workload.layouts.base import Layout
    from hpplan.workload.workload import Item


class OwnedRun(NamedTuple):
    """Rows `[row_start, row_stop)` of an item at consecutive local tokens from `local` on."""

    row_start: int
    row_stop: int
    local: int


class Stretch(NamedTuple):
    """The same number of rows for each shard of `blocks` blocks: `width` neighbours from `first` on.

    Blocks are one CP rank apart, which is `Ownership.slices` shards. A single block may be of any
    width; of several, each lies within its CP rank.
    """

    first: int
    width: int
    blocks: int
    rows: int
    """Of each shard."""


class Ownership:
    """Who owns the tokens of one parent.

    A *shard* is what one rank holds. With sp each parent rank has a shard of
    its own; without it all TP ranks of a CP coordinate hold the same shard.
    The shards of a pool's replicas follow each other, and an item's rows lie
    on those of its own replica.
    """

    def __init__(self, layouts: Sequence[Layout], length: int, cp: int, tp: int, *, sp: bool) -> None:
        """Take a layout of `length` tokens over `cp` ranks for each replica."""
        self._layouts = layouts
        self.slices = tp if sp else 1
        """Slices of a CP rank's local sequence."""
        self.copies = 1 if sp else tp
        """Ranks that hold the same shard."""
        self.replica_shards = cp * self.slices
        self.replica_size = self.replica_shards * self.copies
        """Ranks of a replica."""
        self.shards = len(layouts) * self.replica_shards
        self.pooled = len(layouts) > 1
        """Whether replicas share the encoder work."""
        self.local_length = length // cp // self.slices
        """Tokens of one shard."""

    def shard_of(self, parent_rank: int) -> int:
        """Return the shard that a parent rank holds."""
        return parent_rank // self.copies

    def replica_of(self, parent_rank: int) -> int:
        """Return the replica, within its pool, of a parent rank."""
        return parent_rank // self.replica_size

    def ranks_of_replica(self, replica: int) -> range:
        """Return the parent ranks of a replica."""
        return range(replica * self.replica_size, (replica + 1) * self.replica_size)

    def first_shard(self, replica: int) -> int:
        """Return the first shard of a replica."""
        return replica * self.replica_shards

    def ranks_of(self, shard: int) -> range:
        """Return the parent ranks that hold a shard."""
        return range(shard * self.copies, (shard + 1) * self.copies)

    def runs(self, item: Item) -> list[tuple[int, int, int]]:
        """Return (shard, row_start, row_stop) of each maximal run of an item's rows, by row.

        Rows count through all spans, so a run may cross from one span to the next.
        """
        found = self._runs(self._layouts[item.replica], item.spans)
        base = self.first_shard(item.replica)
        return [(base + shard, start, stop) for shard, start, stop in found] if base else found

    def _runs(self, layout: Layout, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
        locate = layout.locate
        slices, size = self.slices, self.local_length
        found: list[tuple[int, int, int]] = []
        row = first = 0
        last = -1
        for start, rows in spans:
            token = start
            stop = start + rows
            while token < stop:
                shard, local, end = locate(token)
                end = min(end, stop)
                if slices > 1:
                    cut, local = divmod(local, size)
                    shard = shard * slices + cut
                    edge = token + size - local
                    # Within a run of the layout, slices follow each other.
                    while edge < end:
                        if shard != last:
                            if last >= 0:
                                found.append((last, first, row))
                            last, first = shard, row
                        row += edge - token
                        token = edge
                        edge += size
                        shard += 1
                if shard != last:
                    if last >= 0:
                        found.append((last, first, row))
                    last, first = shard, row
                row += end - token
                token = end
        if last >= 0:
            found.append((last, first, row))
        return found

    def stretches(self, item: Item) -> tuple[list[Stretch], int]:
        """Return what `runs` does without a step for each shard, and the number of runs.

        Sums alone need it: images may lie on hundreds of shards, or once around all CP ranks.
        A shard may be in several stretches.
        """
        found, runs = self._stretches(self._layouts[item.replica], item.spans)
        base = self.first_shard(item.replica)
        return [one._replace(first=base + one.first) for one in found] if base else found, runs

    def _stretches(self, layout: Layout, spans: Iterable[tuple[int, int]]) -> tuple[list[Stretch], int]:
        locate, neighbours = layout.locate, layout.neighbours
        slices, pieces_of = self.slices, self._pieces
        found: list[Stretch] = []
        runs = 0
        last = -1
        for start, rows in spans:
            token = start
            stop = start + rows
            while token < stop:
                cp_rank, local, end = locate(token)
                end = min(end, stop)
                pieces = pieces_of(local, end - token)
                runs -= cp_rank * slices + pieces[0][0] == last
                for cut, width, each in pieces:
                    runs += width
                    found.append(Stretch(cp_rank * slices + cut, width, 1, each))
                last = found[-1].first + found[-1].width - 1
                token = end
                if token == stop:
                    break
                step, count, size = neighbours(token, stop)
                if count:
                    cp_rank, local, _ = locate(token)
                    pieces = pieces_of(local, size)
                    runs -= cp_rank * slices + pieces[0][0] == last
                    final = cp_rank + step * (count - 1)
                    lowest = min(cp_rank, final) * slices
                    for cut, width, each in pieces:
                        runs += width * count
                        shape = (width * count, 1) if width == slices else (width, count)
                        found.append(Stretch(lowest + cut, *shape, each))
                    last = final * slices + pieces[-1][0] + pieces[-1][1] - 1
                    token += count * size
        return found, runs

    def _pieces(self, local: int, rows: int) -> list[tuple[int, int, int]]:
        """Return (first slice, slices, rows of each) of rows from a CP rank's local index on."""
        size = self.local_length
        if self.slices == 1:
            return [(0, 1, rows)]
        cut, at = divmod(local, size)
        found: list[tuple[int, int, int]] = []
        if at:
            head = min(size - at, rows)
            found.append((cut, 1, head))
            cut += 1
            rows -= head
        full, tail = divmod(rows, size)
        if full:
            found.append((cut, full, size))
        if tail:
            found.append((cut + full, 1, tail))
        return found

    def shard(self, number: int) -> Shard:
        """Return the tokens of one shard."""
        replica, own = divmod(number, self.replica_shards)
        cp_rank, cut = divmod(own, self.slices)
        low = cut * self.local_length
        high = low + self.local_length
        ranges: list[tuple[int, int, int]] = []
        local = 0
        for start, stop in self._layouts[replica].held(cp_rank):
            first = max(start, start + low - local)
            last = min(stop, start + high - local)
            if first < last:
                ranges.append((first, last, local + first - start - low))
            local += stop - start
        return Shard(ranges)


class Shard:
    """The tokens of one shard, and where they lie in its local sequence."""

    def __init__(self, ranges: list[tuple[int, int, int]]) -> None:
        """Take (token_start, token_stop, local_start) of each range; neighbours are joined."""
        joined: list[tuple[int, int, int]] = []
        for start, stop, local in sorted(ranges):
            if joined:
                before = joined[-1]
                if before[1] == start and before[2] + before[1] - before[0] == local:
                    joined[-1] = (before[0], stop, before[2])
                    continue
            joined.append((start, stop, local))
        self.ranges = joined
        """Ascending by token."""
        self._stops = [stop for _, stop, _ in joined]

    def owned(self, spans: Iterable[tuple[int, int]]) -> list[OwnedRun]:
        """Return the owned rows of an item as runs at consecutive local tokens, by row."""
        found: list[OwnedRun] = []
        ranges = self.ranges
        count = len(ranges)
        row = 0
        for start, rows in spans:
            stop = start + rows
            at = bisect_right(self._stops, start)
            while at < count:
                low, high, local = ranges[at]
                if low >= stop:
                    break
                low_token = low if low > start else start  # noqa: FURB136 - max() doubles the time of the hot loop
                high_token = high if high < stop else stop  # noqa: FURB136 - the same
                found.append(
                    OwnedRun(row + low_token - start, row + high_token - start, local + low_token - low)
                )
                at += 1
            row += rows
        return found


def row_runs(owned: list[OwnedRun]) -> list[tuple[int, int]]:
    """Join owned runs that meet in rows: what a rank receives in row granularity."""
    joined: list[tuple[int, int]] = []
    for start, stop, _ in owned:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined
