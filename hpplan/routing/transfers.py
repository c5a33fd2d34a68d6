"""The transfers of one batch: which rows of which item go from whom to whom."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from hpplan.routing.cells import joined, ranges_of, reaches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.routing.cells import Cell
    from hpplan.routing.modes import Mode
    from hpplan.routing.ownership import Ownership
    from hpplan.workload.workload import Item

Granularity = Literal["record", "row"]
"""Whether a destination gets an item's whole record, or only the rows whose tokens it owns."""

GRANULARITIES: tuple[Granularity, ...] = ("record", "row")

ROUTES_VERSION = 1
"""Of the rules by which transfers follow from buckets, in digests and documents of routing tables."""


class Transfer(NamedTuple):
    """Rows `[row_start, row_stop)` of an item; source and destination are parent ranks."""

    source: int
    destination: int
    item_id: int
    row_start: int
    row_stop: int


class Part(NamedTuple):
    """Rows that go to every rank of one shard, or to the one rank of an explicit destination."""

    ranks: range
    runs: tuple[tuple[int, int], ...]
    rows: int


class Totals(NamedTuple):
    """What a batch moves in all."""

    cells: dict[Cell, int]
    """Rows that each rank of a cell gets: what adds up to the matrix.

    What a pair moves may be spread over several cells.
    """
    least_rows_leaving: int
    """Rows that any schedule must move: row granularity, own rows left out."""
    transfers: int


class BatchRoutes:
    """Who sends what in a parent that runs one batch; parents with the same batch share one of these.

    Rows go to shards (`Part`), and from there to ranks: summaries count parts,
    so that TP ranks that hold copies cost nothing to plan.
    """

    def __init__(
        self,
        mode: Mode,
        granularity: Granularity,
        ownership: Ownership,
        buckets: tuple[tuple[Item, ...], ...],
        encoder_cp_size: int,
        destinations: dict[int, tuple[int, ...]],
        items: tuple[Item, ...] = (),
    ) -> None:
        """Take the items of each bucket, in order; `destinations` are the explicit ones.

        `items` are the same in the order in which their replicas list them.
        """
        self.items = items
        self.mode = mode
        self.granularity = granularity
        self.ownership = ownership
        self.buckets = buckets
        self.encoder_cp_size = encoder_cp_size
        self.explicit = {} if mode.reaches_all else destinations
        self.whole_records = granularity == "record" or mode.reaches_all
        self.size = ownership.shards * ownership.copies
        """Ranks of the parent."""
        self.stride = ownership.slices * ownership.copies
        """Ranks of one CP coordinate."""

    @cached_property
    def item_ids(self) -> tuple[tuple[int, ...], ...]:
        """The item ids of each bucket."""
        return tuple(tuple(item.item_id for item in bucket) for bucket in self.buckets)

    @cached_property
    def batch_rows(self) -> dict[int, int]:
        """Batch rows of the decoder of each replica that has items, as far as these tell."""
        found: dict[int, int] = {}
        for bucket in self.buckets:
            for item in bucket:
                found[item.replica] = max(found.get(item.replica, 0), item.batch_index + 1)
        return found

    def bucket_of(self, parent_rank: int) -> tuple[Item, ...]:
        """Return what a rank produces: nothing, where it is no producer."""
        bucket, beside = divmod(parent_rank, self.encoder_cp_size)
        return () if beside else self.buckets[bucket]

    def produced(self) -> Iterator[tuple[int, Item]]:
        """Yield each item with its producer, by producer and bucket order."""
        for bucket, items in enumerate(self.buckets):
            for item in items:
                yield bucket * self.encoder_cp_size, item

    def parts(self, item: Item) -> list[Part]:
        """Return where an item's rows go, by destination."""
        return self._parts(item, self.ownership.runs(item), whole=self.whole_records)

    def _parts(self, item: Item, runs: list[tuple[int, int, int]], *, whole: bool) -> list[Part]:
        ranks_of = self.ownership.ranks_of
        if item.item_id in self.explicit:
            return self._explicit_parts(item, runs, whole=whole)
        if len(runs) == 1:
            shard, start, stop = runs[0]
            return [Part(ranks_of(shard), ((start, stop),), stop - start)]
        if whole:
            record = ((0, item.rows),)
            return [Part(ranks_of(shard), record, item.rows) for shard in sorted({run[0] for run in runs})]
        return [
            Part(ranks_of(shard), tuple(rows), sum(stop - start for start, stop in rows))
            for shard, rows in sorted(_by_shard(runs).items())
        ]

    def _explicit_parts(self, item: Item, runs: list[tuple[int, int, int]], *, whole: bool) -> list[Part]:
        by_shard = _by_shard(runs)
        found: list[Part] = []
        for rank in sorted(self.explicit[item.item_id]):
            rows = ((0, item.rows),) if whole else tuple(by_shard.get(self.ownership.shard_of(rank), ()))
            if rows:
                found.append(Part(range(rank, rank + 1), rows, sum(stop - start for start, stop in rows)))
        return found

    @cached_property
    def records_needed(self) -> tuple[int, ...]:
        """Ids of items with explicit destinations that row granularity would cut short, ascending.

        Either a destination owns none of the item's tokens, so that it would get nothing; or an
        owner is left out, so that its rows would reach nobody. Whole records bring them all.
        """
        found: list[int] = []
        shard_of = self.ownership.shard_of
        for _, item in self.produced() if self.explicit else ():
            ranks = self.explicit.get(item.item_id)
            if ranks:
                owners = {run[0] for run in self.ownership.runs(item)}
                if owners != {shard_of(rank) for rank in ranks}:
                    found.append(item.item_id)
        return tuple(sorted(found))

    def destinations(self, item: Item) -> list[int]:
        """Return the parent ranks that an item goes to, ascending.

        In row granularity an explicit destination that owns nothing is still listed.
        """
        explicit = self.explicit.get(item.item_id)
        if explicit is not None:
            return sorted(explicit)
        return [rank for part in self.parts(item) for rank in part.ranks]

    def transfers(self) -> Iterator[Transfer]:
        """Yield every transfer, by source, bucket order, destination, row."""
        for source, item in self.produced():
            for ranks, runs, _ in self.parts(item):
                for rank in ranks:
                    for start, stop in runs:
                        yield Transfer(source, rank, item.item_id, start, stop)

    @cached_property
    def totals(self) -> Totals:
        """The sums that need every item, in one pass over the items."""
        cells: dict[Cell, int] = {}
        least = transfers = 0
        stretches_of, slices = self.ownership.stretches, self.ownership.slices
        copies = self.ownership.copies
        whole = self.whole_records
        explicit = self.explicit
        for source, item in self.produced():
            if item.item_id in explicit:
                runs = self.ownership.runs(item)
                for ranks, sent, rows in self._explicit_parts(item, runs, whole=whole):
                    key = (source, ranks.start, 1, 1)
                    cells[key] = cells.get(key, 0) + rows
                    transfers += len(sent)
                for ranks, _, rows in self._explicit_parts(item, runs, whole=False):
                    least += rows * (source not in ranks)
                continue
            home = source // copies
            least += item.rows * copies
            stretches, count = stretches_of(item)
            for first, width, blocks, rows in stretches:
                if reaches(home, first, width, blocks, slices):
                    least -= rows
                if not whole:
                    key = (source, first * copies, width * copies, blocks)
                    cells[key] = cells.get(key, 0) + rows
            if not whole:
                transfers += copies * count
                continue
            for first, width, blocks in joined(stretches, slices):
                transfers += copies * width * blocks
                key = (source, first * copies, width * copies, blocks)
                cells[key] = cells.get(key, 0) + item.rows
        return Totals(cells, least, transfers)

    def matrix(self) -> list[list[int]]:
        """Return rows from each parent rank to each: a square of numbers, so not for large parents."""
        rows = [[0] * self.size for _ in range(self.size)]
        for (source, first, width, blocks), moved in self.totals.cells.items():
            line = rows[source]
            for ranks in ranges_of(first, width, blocks, self.stride):
                for rank in ranks:
                    line[rank] += moved
        return rows


def _by_shard(runs: list[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for shard, start, stop in runs:
        found.setdefault(shard, []).append((start, stop))
    return found
