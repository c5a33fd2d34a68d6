"""One rank's view of the routes: everything it needs to run them, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.ownership import OwnedRun, row_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hpplan.routing.modes import Mode
    from hpplan.routing.ownership import Shard
    from hpplan.routing.transfers import BatchRoutes, Piece
    from hpplan.workload.workload import Item


class PositionRun(NamedTuple):
    """`rows` received rows from `offset` on lie at consecutive positions from `start`; -1: not owned."""

    offset: int
    rows: int
    start: int


Arrival = tuple[int, "Item", list[tuple[int, int]], list[OwnedRun]]
"""Source, item, row runs, and the item's rows that the rank owns."""


@dataclass(frozen=True)
class RankRoute:
    """What one rank sends, receives and hands over. Peers are group ranks; all amounts are rows."""

    mode: Mode
    global_rank: int
    group_ranks: tuple[int, ...]
    """Global ranks of the exchange group, in group order."""
    group_rank: int
    bucket: tuple[tuple[int, int], ...]
    """(item_id, rows) of my features, in bucket order; empty where I am no producer."""
    bucket_starts: tuple[int, ...]
    """The first row of each that I have, above 0 where a bucket's ranks share its rows."""
    sends: tuple[tuple[int, int, int, int], ...]
    """(destination, item_id, row_start, row_stop) in wire order."""
    receives: tuple[tuple[int, int, int, int], ...]
    """(source, item_id, row_start, row_stop) in wire order."""
    input_splits: tuple[int, ...]
    """Rows to each group rank."""
    output_splits: tuple[int, ...]
    """Rows from each group rank."""
    hand_over: tuple[tuple[int, int, int, int], ...]
    """(item_id, row_start, row_stop, receive_offset) by (batch_index, first token, item_id), then row."""
    position_runs: tuple[PositionRun, ...]
    """Where received rows lie in my local sequence, in wire order; they cover every received row."""
    copies: int
    """Ranks of the group that hold the same tokens as I do, me included."""
    local_length: int
    """Tokens of one batch row that I hold."""
    batch_rows: int
    """Batch rows, as far as the items tell."""
    gather: RankRoute | None = None
    """The second step, where rows go once to a CP coordinate: it sends on what this one received.

    Its bucket are the runs that were received, by number and in their order.
    """

    def then(self, gather: RankRoute) -> RankRoute:
        """Return the route with a second step."""
        return replace(self, gather=gather)

    @property
    def last(self) -> RankRoute:
        """The step whose rows are handed over."""
        return self if self.gather is None else self.gather

    @property
    def rows_produced(self) -> int:
        """Rows of my bucket."""
        return sum(rows for _, rows in self.bucket)

    @property
    def rows_kept(self) -> int:
        """Rows that I produce and hold myself."""
        return self.input_splits[self.group_rank]

    @property
    def rows_sent(self) -> int:
        """Rows that I send to others; a broadcast sends a row once, to all of them."""
        if self.mode.reaches_all:
            return self.rows_produced if len(self.group_ranks) > 1 else 0
        own = self.send_buffer_rows - self.rows_kept
        return own if self.gather is None else own + self.gather.rows_sent

    @property
    def rows_received(self) -> int:
        """Rows that I receive from others."""
        own = self.receive_buffer_rows - self.rows_kept
        return own if self.gather is None else own + self.gather.rows_received

    @property
    def send_buffer_rows(self) -> int:
        """Rows that I pack: what I send, and what I keep."""
        return sum(self.input_splits)

    @property
    def receive_buffer_rows(self) -> int:
        """Rows that arrive: what I receive, and what I keep."""
        return sum(self.output_splits)

    @cached_property
    def positions(self) -> list[int]:
        """For each received row its index `batch_index * local_length + position`, -1 where not owned."""
        found: list[int] = []
        for _, rows, start in self.position_runs:
            found.extend([-1] * rows if start < 0 else range(start, start + rows))
        return found


def rank_route(routes: BatchRoutes, ranks: tuple[int, ...], parent_rank: int) -> RankRoute:
    """Return one rank's view; `ranks` are the parent's global ranks."""
    bucket = routes.bucket_of(parent_rank)
    return received_route(
        routes,
        ranks,
        parent_rank,
        _arrivals(routes, parent_rank),
        bucket=tuple((piece.item.item_id, piece.stop - piece.start) for piece in bucket),
        bucket_starts=tuple(piece.start for piece in bucket),
        sends=_sends(routes, bucket),
    )


def received_route(
    routes: BatchRoutes,
    ranks: tuple[int, ...],
    parent_rank: int,
    arrivals: Iterable[Arrival],
    *,
    bucket: tuple[tuple[int, int], ...],
    bucket_starts: tuple[int, ...],
    sends: Sequence[tuple[int, int, int, int]],
    places: Sequence[int] | None = None,
) -> RankRoute:
    """Return a rank's view, made of what it sends and of what arrives in wire order.

    With `places`, one for each run that arrives, rows are not put at tokens, but from these places on.
    """
    input_splits = [0] * routes.size
    for destination, _, start, stop in sends:
        input_splits[destination] += stop - start
    output_splits = [0] * routes.size
    receives: list[tuple[int, int, int, int]] = []
    hand_over: list[tuple[tuple[int, int, int], int, int, int]] = []
    positions: list[PositionRun] = []
    length = routes.ownership.local_length
    offset = 0
    for source, item, runs, owned in arrivals:
        first_local = item[1] * length
        for start, stop in runs:
            receives.append((source, item[0], start, stop))
            hand_over.append(((item[1], item[3][0][0], item[0]), start, stop, offset))
            rows = stop - start
            if places is not None:
                positions.append(PositionRun(offset, rows, places[len(positions)]))
                output_splits[source] += rows
                offset += rows
                continue
            if len(owned) == 1 and owned[0][1] - owned[0][0] == rows:
                # All of it is mine and in one piece, as most of what arrives is.
                positions.append(PositionRun(offset, rows, first_local + owned[0][2]))
                output_splits[source] += rows
                offset += rows
                continue
            row = start
            for low, high, local in owned:
                if high <= start or low >= stop:
                    continue
                if low > row:
                    positions.append(PositionRun(offset + row - start, low - row, -1))
                    row = low
                last = min(high, stop)
                positions.append(
                    PositionRun(offset + row - start, last - row, first_local + local + row - low)
                )
                row = last
            if row < stop:
                positions.append(PositionRun(offset + row - start, stop - row, -1))
            output_splits[source] += rows
            offset += rows
    hand_over.sort()
    laid = places is not None
    return RankRoute(
        mode=routes.mode,
        global_rank=ranks[parent_rank],
        group_ranks=ranks,
        group_rank=parent_rank,
        bucket=bucket,
        bucket_starts=bucket_starts,
        sends=tuple(sends),
        receives=tuple(receives),
        input_splits=tuple(input_splits),
        output_splits=tuple(output_splits),
        hand_over=tuple((order[2], start, stop, at) for order, start, stop, at in hand_over),
        position_runs=tuple(positions),
        copies=1 if laid else routes.ownership.copies,
        local_length=offset if laid else length,
        batch_rows=1 if laid else routes.batch_rows.get(routes.ownership.replica_of(parent_rank), 0),
    )


def _sends(routes: BatchRoutes, bucket: list[Piece]) -> list[tuple[int, int, int, int]]:
    return sorted_sends(
        [
            (rank, piece.item.item_id, start, stop)
            for piece in bucket
            for part in routes.parts(piece.item)
            for rank in part.ranks
            for start, stop in piece.clipped(part.runs)
        ]
    )


def sorted_sends(sends: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Sort what a rank sends by destination; within one the order stays that of the bucket."""
    sends.sort(key=_destination)
    return sends


def _destination(send: tuple[int, int, int, int]) -> int:
    return send[0]


def _arrivals(routes: BatchRoutes, parent_rank: int) -> Iterator[Arrival]:
    """Yield (source, item, row runs, owned runs) of each item that a rank receives, in wire order."""
    shard: Shard = routes.ownership.shard(routes.ownership.shard_of(parent_rank))
    owned_of = shard.owned
    replica = routes.ownership.replica_of(parent_rank)
    explicit = routes.explicit
    whole, everyone = routes.whole_records, routes.mode.reaches_all
    for source, piece in routes.pieces():
        item = piece.item
        owned = owned_of(item[3]) if item.replica == replica else []
        if explicit and item[0] in explicit:
            if parent_rank not in explicit[item[0]] or not (owned or whole):
                continue
        elif not (owned or everyone):
            continue
        runs = [(0, item.rows)] if whole else row_runs(owned)
        if routes.sharded:
            runs = list(piece.clipped(runs))
            owned = [
                OwnedRun(max(low, piece.start), min(high, piece.stop), local + max(piece.start - low, 0))
                for low, high, local in owned
                if low < piece.stop and high > piece.start
            ]
            if not runs:
                continue
        yield source, item, runs, owned
