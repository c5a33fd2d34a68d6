"""What a routing table promises one rank, in numbered rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from hpplan.exchange.fingerprints import Fingerprints
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.workload import Item


class Promise:
    """Rows due at a rank, by the numbers that `Fingerprints` gives them; `[…]` are one-dimensional."""

    def __init__(self, route: RankRoute, routes: RoutingTable) -> None:
        """Take the rank's route and the table that it is from."""
        self.route = route
        self._routes = routes
        self._parent = next(one for one in routes.parents if route.global_rank in one.ranks)

    @cached_property
    def items(self) -> dict[int, Item]:
        """The items of the batch that the rank's parent runs."""
        return {item.item_id: item for bucket in self._parent.routes.buckets for item in bucket}

    def hand_over(self) -> list[tuple[int, int, int]]:
        """(item_id, row_start, row_stop) of what is due, sorted by what the items say."""
        due = [(self.items[item].order, start, stop) for _, item, start, stop in self.route.receives]
        return [(order[2], start, stop) for order, start, stop in sorted(due)]

    def bucket(self, prints: Fingerprints) -> torch.Tensor:
        """Return the rows that the rank sends from, `[rows of its bucket]`."""
        return prints.numbers([(item, 0, rows) for item, rows in self.route.bucket])

    def sequence(self, prints: Fingerprints) -> torch.Tensor:
        """Return the row due at each local token, -1 for text, `[batch rows * local length]`."""
        wire = prints.numbers([receive[1:] for receive in self.route.receives])
        numbers = torch.full((self.batch_rows * self.route.local_length,), -1)
        for offset, rows, start in self.route.position_runs:
            if start >= 0:
                numbers[start : start + rows] = wire[offset : offset + rows]
        return numbers

    @property
    def batch_rows(self) -> int:
        """Batch rows of the decoder, one where no item tells."""
        return max(self.route.batch_rows, 1)

    def owners(self) -> torch.Tensor:
        """Return how many of its receivers own each row's token, `[rows of its bucket]`."""
        starts: dict[int, int] = {}
        rows = 0
        for item, count in self.route.bucket:
            starts[item] = rows
            rows += count
        owners = torch.zeros(rows, dtype=torch.int64)
        for rank in self._parent.ranks if rows else ():
            peer = self._routes.rank_route(rank)
            if peer is not None:
                _count_owned(owners, peer, self.route.group_rank, starts)
        return owners


def _count_owned(owners: torch.Tensor, peer: RankRoute, source: int, starts: dict[int, int]) -> None:
    owned = torch.zeros(peer.receive_buffer_rows, dtype=torch.int64)
    for offset, rows, start in peer.position_runs:
        owned[offset : offset + rows] = int(start >= 0)
    offset = 0
    for sender, item, row_start, row_stop in peer.receives:
        rows = row_stop - row_start
        if sender == source:
            at = starts[item] + row_start
            owners[at : at + rows] += owned[offset : offset + rows]
        offset += rows
