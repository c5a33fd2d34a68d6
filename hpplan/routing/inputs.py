"""Inputs of an encoder, which travel to the rank that encodes an item where that is in another replica."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.rank_route import PositionRun, RankRoute
from hpplan.routing.transfers import Transfer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.routing.transfers import BatchRoutes
    from hpplan.workload.workload import Item


class InputTotals(NamedTuple):
    """Rows of inputs by parent rank."""

    sent: list[int]
    """To other ranks."""
    received: list[int]
    """From other ranks."""
    kept: list[int]
    """Of items that a rank encodes for its own replica."""


class InputRoutes:
    """Who sends the inputs of which item to whom, in one parent.

    Every rank of a replica has read its batch. An item that is encoded in its
    own replica moves nothing; the inputs of another one come from one rank of
    its replica. Largest items first, that is the one that sends least so far,
    the lowest of equals.
    """

    def __init__(self, routes: BatchRoutes, *, one_each: bool = False) -> None:
        """Take the routes of the features; every item says its `input_rows`.

        With `one_each` an item has one row, as of grids, which go the way of its inputs.
        """
        self._routes = routes
        self._rows = (lambda _: 1) if one_each else rows_of

    def _encoders(self, producer: int) -> range:
        return range(producer, producer + self._routes.encoder_cp_size)

    @cached_property
    def _senders(self) -> dict[int, int]:
        """The rank that sends an item, of those that leave their replica."""
        ownership = self._routes.ownership
        moved: list[tuple[int, int, int, int]] = []
        for producer, item in self._routes.produced():
            away = sum(ownership.replica_of(rank) != item.replica for rank in self._encoders(producer))
            if away:
                moved.append((-rows_of(item), item.item_id, item.replica, away))
        loads = [0] * self._routes.size
        found: dict[int, int] = {}
        for rows, item_id, replica, away in sorted(moved):
            sender = min(ownership.ranks_of_replica(replica), key=loads.__getitem__)
            loads[sender] -= rows * away
            found[item_id] = sender
        return found

    def _moves(self) -> Iterator[tuple[int, int, Item]]:
        """Yield (source, destination, item) for each rank that encodes an item; the same where it has it."""
        replica_of = self._routes.ownership.replica_of
        for producer, item in self._routes.produced():
            for rank in self._encoders(producer):
                home = replica_of(rank) == item.replica
                yield (rank if home else self._senders[item.item_id]), rank, item

    def transfers(self) -> Iterator[Transfer]:
        """Yield what leaves its rank, by producer and bucket order."""
        for source, destination, item in self._moves():
            if source != destination:
                yield Transfer(source, destination, item.item_id, 0, self._rows(item))

    @cached_property
    def totals(self) -> InputTotals:
        """The sums of all ranks."""
        totals = InputTotals(*([0] * self._routes.size for _ in range(3)))
        for source, destination, item in self._moves():
            rows = self._rows(item)
            if source == destination:
                totals.kept[source] += rows
            else:
                totals.sent[source] += rows
                totals.received[destination] += rows
        return totals

    def rank_route(self, ranks: tuple[int, ...], parent_rank: int) -> RankRoute:
        """Return one rank's part: its bucket are the items of its replica, its sequence what it encodes.

        Rows are received in the order of sources, and positions are those in
        the inputs of its bucket of features.
        """
        routes = self._routes
        replica = routes.ownership.replica_of(parent_rank)
        sends: list[tuple[int, int, int, int]] = []
        arriving: list[tuple[int, int, Item]] = []
        filled = 0
        for source, destination, item in self._moves():
            if source == parent_rank:
                sends.append((destination, item.item_id, 0, self._rows(item)))
            if destination == parent_rank:
                arriving.append((source, filled, item))
                filled += self._rows(item)
        sends.sort(key=lambda send: send[0])
        arriving.sort(key=lambda arrival: arrival[0])
        input_splits, output_splits = [0] * routes.size, [0] * routes.size
        for destination, _, _, rows in sends:
            input_splits[destination] += rows
        positions: list[PositionRun] = []
        hand_over: list[tuple[int, tuple[int, int, int, int]]] = []
        offset = 0
        for source, start, item in arriving:
            rows = self._rows(item)
            output_splits[source] += rows
            positions.append(PositionRun(offset, rows, start))
            hand_over.append((start, (item.item_id, 0, rows, offset)))
            offset += rows
        return RankRoute(
            mode=routes.mode,
            global_rank=ranks[parent_rank],
            group_ranks=ranks,
            group_rank=parent_rank,
            bucket=tuple(
                (item.item_id, self._rows(item)) for item in routes.items if item.replica == replica
            ),
            bucket_starts=(0,) * sum(item.replica == replica for item in routes.items),
            sends=tuple(sends),
            receives=tuple((source, item.item_id, 0, self._rows(item)) for source, _, item in arriving),
            input_splits=tuple(input_splits),
            output_splits=tuple(output_splits),
            hand_over=tuple(record for _, record in sorted(hand_over)),
            position_runs=tuple(positions),
            copies=1,
            local_length=filled,
            batch_rows=1,
        )


def rows_of(item: Item) -> int:
    """Return the rows of an item's inputs, which it says."""
    assert item.input_rows is not None
    return item.input_rows
