"""Each row once: where TP ranks hold copies, rows go to one rank of a CP coordinate, then to the rest.

The first step sends each row to its CP coordinate: a producer that holds the row's token keeps it, any other
spreads the rows of an item evenly over the TP ranks there. In the second, the gather, each rank of the
coordinate sends what it then holds to the others. Items with explicit destinations go to these directly, in
the first step.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.ownership import row_runs
from hpplan.routing.rank_route import RankRoute, received_route, sorted_sends
from hpplan.routing.transfers import BatchRoutes, Totals, Transfer, by_shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hpplan.routing.cells import Cell
    from hpplan.routing.modes import Mode
    from hpplan.routing.ownership import Ownership
    from hpplan.routing.transfers import Granularity, Piece
    from hpplan.workload.workload import Item


class Held(NamedTuple):
    """Rows `[start, stop)` of an item that a rank has after the first step, and who sent them."""

    source: int
    item: Item
    start: int
    stop: int


class OnceRoutes(BatchRoutes):
    """Routes of a batch whose rows go once to each CP coordinate."""

    def first(self) -> Iterator[tuple[int, int, Item, list[tuple[int, int]]]]:
        """Yield (source, destination, item, row runs) of the first step, by source and bucket order."""
        for source, piece in self.pieces():
            for rank, runs in self._spread(source, piece):
                yield source, rank, piece.item, runs

    def _spread(self, source: int, piece: Piece) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the ranks that a piece goes to in the first step, and the rows, by rank."""
        item = piece.item
        if item.item_id in self.explicit:
            for part in self.parts(item):
                if runs := list(piece.clipped(part.runs)):
                    yield part.ranks.start, runs
            return
        for shard, owned in sorted(by_shard(self.ownership.runs(item)).items()):
            yield from self._shared_out(source, piece, shard, owned)

    def _shared_out(
        self, source: int, piece: Piece, shard: int, owned: list[tuple[int, int]]
    ) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the ranks of a shard that get rows of a piece, of those that the shard owns, and these."""
        runs = list(piece.clipped(owned))
        rows = sum(stop - start for start, stop in runs)
        ranks = self.ownership.ranks_of(shard)
        if source in ranks and rows:
            yield source, runs
        elif rows:
            copies = self.ownership.copies
            shares = {
                (number + source) % copies: (rows * number // copies, rows * (number + 1) // copies)
                for number in range(copies)
            }
            for beside in range(copies):
                if cut := list(_cut(runs, *shares[beside])):
                    yield ranks.start + beside, cut

    def _first_to(self, shard: int) -> Iterator[tuple[int, int, Item, list[tuple[int, int]]]]:
        """Yield what `first` does of the ranks of one shard, without working out where all else goes."""
        ranks = self.ownership.ranks_of(shard)
        replica = self.ownership.replica_of(ranks.start)
        owned_of = self.ownership.shard(shard).owned
        for source, piece in self.pieces():
            item = piece.item
            if item.item_id in self.explicit:
                for rank, runs in self._spread(source, piece):
                    if rank in ranks:
                        yield source, rank, item, runs
            elif item.replica == replica and (owned := owned_of(item.spans)):
                for rank, runs in self._shared_out(source, piece, shard, row_runs(owned)):
                    yield source, rank, item, runs

    @cached_property
    def held(self) -> list[list[Held]]:
        """What each rank has after the first step: its own rows first, which no collective carries."""
        return _held(range(self.size), self.first())

    def held_at(self, shard: int) -> list[list[Held]]:
        """Return `held` of the ranks of one shard; a rank that plans for itself needs no more."""
        return _held(self.ownership.ranks_of(shard), self._first_to(shard))

    def to_gather(self, held: list[Held]) -> list[Held]:
        """Return what a rank sends to the others of its CP coordinate, of what it holds."""
        return [one for one in held if one.item.item_id not in self.explicit] if self.explicit else held

    def transfers(self) -> Iterator[Transfer]:
        """Yield every transfer of the first step, by source, bucket order, destination, row."""
        for source, rank, item, runs in self.first():
            for start, stop in runs:
                yield Transfer(source, rank, item.item_id, start, stop)

    def gathers(self) -> Iterator[Transfer]:
        """Yield every transfer of the second step, by source, in the order in which rows arrived there."""
        for source in range(self.size):
            for destination in self._beside(source):
                for _, item, start, stop in self.to_gather(self.held[source]):
                    yield Transfer(source, destination, item.item_id, start, stop)

    def _beside(self, rank: int) -> list[int]:
        ranks = self.ownership.ranks_of(self.ownership.shard_of(rank))
        return [other for other in ranks if other != rank]

    @cached_property
    def steps(self) -> tuple[dict[Cell, int], dict[Cell, int]]:
        """The cells of the first step, and those of the second without what a rank has already."""
        first: dict[Cell, int] = {}
        for source, rank, _, runs in self.first():
            key = (source, rank, 1, 1)
            first[key] = first.get(key, 0) + sum(stop - start for start, stop in runs)
        second: dict[Cell, int] = {}
        for rank in range(self.size):
            rows = sum(stop - start for _, _, start, stop in self.to_gather(self.held[rank]))
            for other in self._beside(rank) if rows else ():
                second[rank, other, 1, 1] = rows
        return first, second

    @cached_property
    def totals(self) -> Totals:
        """The sums of both steps."""
        first, second = self.steps
        cells = dict(first)
        for key, rows in second.items():
            cells[key] = cells.get(key, 0) + rows
        transfers = sum(len(runs) for *_, runs in self.first())
        transfers += sum(
            len(self.to_gather(self.held[rank])) * len(self._beside(rank)) for rank in range(self.size)
        )
        return Totals(cells, super().totals.least_rows_leaving, transfers)


def kind_of_routes(mode: Mode, granularity: Granularity, ownership: Ownership) -> type[BatchRoutes]:
    """Return what routes are in a granularity: without copies, each row goes to one rank as it is."""
    once = granularity == "once" and ownership.copies > 1 and mode.collective == "all_to_all"
    return OnceRoutes if once else BatchRoutes


def _held(ranks: range, arriving: Iterable[tuple[int, int, Item, list[tuple[int, int]]]]) -> list[list[Held]]:
    """Return what each of the ranks has once everything has arrived."""
    held: list[list[Held]] = [[] for _ in ranks]
    for source, rank, item, runs in arriving:
        held[rank - ranks.start].extend(Held(source, item, start, stop) for start, stop in runs)
    for rank, of_rank in zip(ranks, held, strict=True):
        of_rank.sort(key=lambda one: one.source != rank)
    return held


def _cut(runs: list[tuple[int, int]], low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of rows number `low` to `high`, counted through the runs."""
    row = 0
    for start, stop in runs:
        first, last = max(low, row), min(high, row + stop - start)
        if first < last:
            yield start + first - row, start + last - row
        row += stop - start


def once_route(routes: OnceRoutes, ranks: tuple[int, ...], parent_rank: int) -> RankRoute:
    """Return one rank's view of both steps; `ranks` are the parent's global ranks."""
    bucket = routes.bucket_of(parent_rank)
    sends = [
        (rank, piece.item.item_id, start, stop)
        for piece in bucket
        for rank, runs in routes._spread(parent_rank, piece)  # noqa: SLF001 - of this file
        for start, stop in runs
    ]
    beside = routes.ownership.ranks_of(routes.ownership.shard_of(parent_rank))
    held_beside = dict(zip(beside, routes.held_at(routes.ownership.shard_of(parent_rank)), strict=True))
    held = held_beside[parent_rank]
    starts = accumulate((one.stop - one.start for one in held), initial=0)
    wire = sorted(zip(held, starts, strict=False), key=lambda one: one[0].source)
    first = received_route(
        routes,
        ranks,
        parent_rank,
        [(source, item, [(start, stop)], []) for (source, item, start, stop), _ in wire],
        bucket=tuple((piece.item.item_id, piece.stop - piece.start) for piece in bucket),
        bucket_starts=tuple(piece.start for piece in bucket),
        sends=sorted_sends(sends),
        places=[start for _, start in wire],
    )
    return first.then(_gather(routes, ranks, parent_rank, held_beside))


def _gather(
    routes: OnceRoutes, ranks: tuple[int, ...], parent_rank: int, held_beside: dict[int, list[Held]]
) -> RankRoute:
    """Return the second step of one rank: its bucket are the runs that it holds, each a number of its own.

    `held_beside` is what the ranks of its CP coordinate hold, by parent rank.
    """
    shard = routes.ownership.shard(routes.ownership.shard_of(parent_rank))
    held = held_beside[parent_rank]
    sends = [
        (rank, number, 0, stop - start)
        for number, (_, item, start, stop) in enumerate(held)
        for rank in held_beside
        if rank == parent_rank or item.item_id not in routes.explicit
    ]
    arrivals = [
        (source, item, [(start, stop)], shard.owned(item.spans))
        for source, of_source in held_beside.items()
        for _, item, start, stop in (held if source == parent_rank else routes.to_gather(of_source))
    ]
    return received_route(
        routes,
        ranks,
        parent_rank,
        arrivals,
        bucket=tuple((number, stop - start) for number, (_, _, start, stop) in enumerate(held)),
        bucket_starts=(0,) * len(held),
        sends=sorted_sends(sends),
    )
