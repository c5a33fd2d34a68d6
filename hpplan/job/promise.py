"""What a routing table promises one rank, in numbered rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.job.fingerprints import Fingerprints
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable
    from hpplan.workload.workload import Item


class Promise:
    """Rows due at a rank, by the numbers that `Fingerprints` gives them; `[…]` are one-dimensional."""

    def __init__(self, route: RankRoute, routes: RoutingTable) -> None:
        """Take the rank's route and the table that it is from."""
        self.route = route
        self._last = route.last
        self._routes = routes
        self._parent = next(one for one in routes.parents if route.global_rank in one.ranks)

    @cached_property
    def items(self) -> dict[int, Item]:
        """The items of the batch that the rank's parent runs."""
        return {item.item_id: item for bucket in self._parent.routes.buckets for item in bucket}

    def hand_over(self) -> list[tuple[int, int, int]]:
        """(item_id, row_start, row_stop) of what is due, sorted by what the items say."""
        due = [(self.items[item].order, start, stop) for _, item, start, stop in self._last.receives]
        return [(order[2], start, stop) for order, start, stop in sorted(due)]

    def bucket(self, prints: Fingerprints) -> torch.Tensor:
        """Return the rows that the rank sends from, `[rows of its bucket]`."""
        brought = zip(self.route.bucket, self.route.bucket_starts, strict=True)
        return prints.numbers([(item, first, first + rows) for (item, rows), first in brought])

    def sequence(self, prints: Fingerprints) -> torch.Tensor:
        """Return the row due at each local token, -1 for text, `[batch rows * local length]`."""
        wire = prints.numbers([receive[1:] for receive in self._last.receives])
        numbers = torch.full((self.batch_rows * self._last.local_length,), -1)
        for offset, rows, start in self._last.position_runs:
            if start >= 0:
                numbers[start : start + rows] = wire[offset : offset + rows]
        return numbers

    @property
    def batch_rows(self) -> int:
        """Batch rows of the decoder, one where no item tells."""
        return max(self._last.batch_rows, 1)

    def shares(self, prints: Fingerprints, order: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return this rank's share of each numbered row's gradient, and the sum of all receivers' shares.

        `order` are the group ranks as producers add gradients up, their own
        first. Receivers that do not own the row's token have no share.
        """
        owners = torch.zeros(prints.count, dtype=torch.int64)
        mine = torch.full((prints.count,), -1)
        peers = [self._routes.rank_route(self.route.group_ranks[rank]) for rank in order]
        for kept in (True, False):
            for peer in peers:
                assert peer is not None
                numbers = _owned(peer.last, prints, kept=kept)
                if peer.group_rank == self.route.group_rank:
                    mine[numbers] = owners[numbers]
                owners[numbers] += 1
        half = (owners > 0) & (owners % 2 == 0)
        share = torch.where(mine < 0, 0.0, 1.0 - 2.0 * (mine % 2))
        share[half & (mine == owners - 1)] /= 2
        return share, torch.where(half, 0.5, (owners > 0).to(torch.float32))


def _owned(peer: RankRoute, prints: Fingerprints, *, kept: bool) -> torch.Tensor:
    """Return the rows that a rank receives and whose token it owns: its own ones, or other ranks'."""
    wire = prints.numbers([receive[1:] for receive in peer.receives])
    sources = torch.repeat_interleave(torch.tensor(peer.output_splits))
    owned = torch.zeros(len(wire), dtype=torch.bool)
    for offset, rows, start in peer.position_runs:
        owned[offset : offset + rows] = start >= 0
    return wire[owned & ((sources == peer.group_rank) == kept)]
