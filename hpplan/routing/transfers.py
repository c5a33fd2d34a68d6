"""The transfers of one batch: which rows of which item go from whom to whom."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from hpplan.routing.cells import joined, ranges_of, reaches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hpplan.routing.cells import Cell
    from hpplan.routing.modes import Mode
    from hpplan.routing.ownership import Ownership
    from hpplan.workload.workload import Item

Granularity = Literal["record", "row", "once"]
"""Whether a destination gets an item's whole record, or only the rows whose tokens it owns.

Where TP ranks hold copies, `once` sends such a row to one of them, which passes it on; elsewhere it is `row`.
"""

GRANULARITIES: tuple[Granularity, ...] = ("record", "row", "once")

ROUTES_VERSION = 1
"""Of the rules by which transfers follow from buckets, in digests and documents of routing tables."""


class Transfer(NamedTuple):
    """Rows `[row_start, row_stop)` of an item; source and destination are parent ranks."""

    source: int
    destination: int
    item_id: int
    row_start: int
    row_stop: int


class Piece(NamedTuple):
    """Rows `[start, stop)` of an item, which one rank brings."""

    item: Item
    start: int
    stop: int

    def clipped(self, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield what of runs of the item's rows it has."""
        for start, stop in runs:
            if start < self.stop and stop > self.start:
                yield max(start, self.start), min(stop, self.stop)


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
        *,
        sharded: bool = False,
    ) -> None:
        """Take the items of each bucket, in order; `destinations` are the explicit ones.

        `items` are the same in the order in which their replicas list them. With `sharded` each of the
        ranks that encode a bucket together has a share of its rows.
        """
        self.items = items
        self.sharded = sharded and encoder_cp_size > 1
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

    def bucket_of(self, parent_rank: int) -> list[Piece]:
        """Return what a rank brings: nothing, where it is no producer."""
        bucket, share = divmod(parent_rank, self.encoder_cp_size)
        if not self.sharded:
            return [] if share else [Piece(item, 0, item.rows) for item in self.buckets[bucket]]
        total, size = sum(item.rows for item in self.buckets[bucket]), self.encoder_cp_size
        # Ulysses and ring encoders leave even shares, what remains to the first ranks.
        start = share * (total // size) + min(share, total % size)
        stop = start + total // size + (share < total % size)
        found: list[Piece] = []
        row = 0
        for item in self.buckets[bucket]:
            low, high = max(start, row), min(stop, row + item.rows)
            if low < high:
                found.append(Piece(item, low - row, high - row))
            row += item.rows
        return found

    @cached_property
    def rows_produced(self) -> list[int]:
        """Rows that each rank brings."""
        produced = [0] * self.size
        for rank, piece in self.pieces():
            produced[rank] += piece.stop - piece.start
        return produced

    def pieces(self) -> Iterator[tuple[int, Piece]]:
        """Yield what each rank brings, by rank and bucket order."""
        for rank in range(0, self.size, 1 if self.sharded else self.encoder_cp_size):
            for piece in self.bucket_of(rank):
                yield rank, piece

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
        if whole and self.mode.reaches_all:
            return [Part(range(self.size), ((0, item.rows),), item.rows)]
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
            for shard, rows in sorted(by_shard(runs).items())
        ]

    def _explicit_parts(self, item: Item, runs: list[tuple[int, int, int]], *, whole: bool) -> list[Part]:
        owned = by_shard(runs)
        found: list[Part] = []
        for rank in sorted(self.explicit[item.item_id]):
            rows = ((0, item.rows),) if whole else tuple(owned.get(self.ownership.shard_of(rank), ()))
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
        for source, piece in self.pieces():
            for ranks, runs, _ in self.parts(piece.item):
                within = list(piece.clipped(runs))
                for rank in ranks:
                    for start, stop in within:
                        yield Transfer(source, rank, piece.item.item_id, start, stop)

    @cached_property
    def totals(self) -> Totals:
        """The sums that need every item, in one pass over the items."""
        return self._totals_of_pieces() if self.sharded else self._totals_of_records()

    def _totals_of_records(self) -> Totals:
        cells: dict[Cell, int] = {}
        least = transfers = 0
        stretches_of, slices = self.ownership.stretches, self.ownership.slices
        copies = self.ownership.copies
        whole = self.whole_records
        explicit = self.explicit
        everyone = [(0, self.ownership.shards, 1)] if self.mode.reaches_all else None
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
            for first, width, blocks in everyone or joined(stretches, slices):
                transfers += copies * width * blocks
                key = (source, first * copies, width * copies, blocks)
                cells[key] = cells.get(key, 0) + item.rows
        return Totals(cells, least, transfers)

    def _totals_of_pieces(self) -> Totals:
        cells: dict[Cell, int] = {}
        least = transfers = 0
        for source, piece in self.pieces():
            runs = self.ownership.runs(piece.item)
            for ranks, sent, _ in self._parts(piece.item, runs, whole=self.whole_records):
                within = list(piece.clipped(sent))
                if within:
                    key = (source, ranks.start, len(ranks), 1)
                    cells[key] = cells.get(key, 0) + sum(stop - start for start, stop in within)
                    transfers += len(within) * len(ranks)
            for ranks, sent, _ in self._parts(piece.item, runs, whole=False):
                rows = sum(stop - start for start, stop in piece.clipped(sent))
                least += rows * (len(ranks) - (source in ranks))
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


def by_shard(runs: list[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Return the row runs of each shard."""
    found: dict[int, list[tuple[int, int]]] = {}
    for shard, start, stop in runs:
        found.setdefault(shard, []).append((start, stop))
    return found
