"""Items go where their rows are needed, as long as loads stay near the best bound."""

from __future__ import annotations

import math
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

from hpplan.routing.assignment import lpt
from hpplan.routing.assignment.base import Policy, loads_of

if TYPE_CHECKING:
    from hpplan.routing.assignment.base import Task
    from hpplan.workload.workload import Item


class _Pool:
    """Producers by load, ties by number; entries are renewed when they are looked at."""

    def __init__(self, buckets: range | list[int], loads: list[int]) -> None:
        self._loads = loads
        self._heap = [(loads[bucket], bucket) for bucket in buckets]
        heapify(self._heap)

    def least(self) -> int | None:
        """Return the least loaded producer."""
        heap, loads = self._heap, self._loads
        while heap:
            load, bucket = heap[0]
            if load == loads[bucket]:
                return bucket
            heapreplace(heap, (loads[bucket], bucket))
        return None


class _Placer:
    """Places items one by one and keeps the loads; loads only ever grow."""

    def __init__(self, task: Task, limit: int) -> None:
        self._task = task
        self._limit = limit
        self.loads = [0] * task.producers
        self._all = _Pool(range(task.producers), self.loads)
        self._pools: dict[int, _Pool] = {}

    def place(self, index: int) -> int:
        """Return the producer for an item: the one that saves most rows within the limit."""
        cost = self._task.costs[index]
        best: int | None = None
        best_key = (0, 0, 0)
        for pool, saved in self._savings(self._task.items[index]):
            bucket = pool.least()
            if bucket is None or self.loads[bucket] + cost > self._limit:
                continue
            key = (-saved, self.loads[bucket], bucket)
            if best is None or key < best_key:
                best, best_key = bucket, key
        if best is None:
            best = self._all.least() or 0
        self.loads[best] += cost
        return best

    def saved(self, buckets: list[int]) -> int:
        """Return how many rows producers would not have to send, with items in these buckets."""
        task = self._task
        total = 0
        for item, bucket in zip(task.items, buckets, strict=True):
            rank = bucket * task.encoder_cp_size
            explicit = task.destinations.get(item.item_id)
            if explicit is not None and rank not in explicit:
                continue
            shard = task.ownership.shard_of(rank)
            owned = sum(stop - start for at, start, stop in task.ownership.runs(item) if at == shard)
            if task.row_granularity:
                total += owned
            elif owned or explicit is not None:
                total += item.rows
        return total

    def _savings(self, item: Item) -> list[tuple[_Pool, int]]:
        """Return groups of equally good producers, with the rows that each would not have to send."""
        task = self._task
        owned: dict[int, int] = {}
        for shard, start, stop in task.ownership.runs(item):
            owned[shard] = owned.get(shard, 0) + stop - start
        explicit = task.destinations.get(item.item_id)
        if explicit is None:
            return [
                (self._pool_of(shard), rows if task.row_granularity else item.rows)
                for shard, rows in owned.items()
            ]
        found: list[tuple[_Pool, int]] = []
        for rank in explicit:
            if rank % task.encoder_cp_size == 0:
                rows = owned.get(task.ownership.shard_of(rank), 0) if task.row_granularity else item.rows
                found.append((_Pool([rank // task.encoder_cp_size], self.loads), rows))
        return found

    def _pool_of(self, shard: int) -> _Pool:
        pool = self._pools.get(shard)
        if pool is None:
            size = self._task.encoder_cp_size
            ranks = self._task.ownership.ranks_of(shard)
            first = -(-ranks.start // size)
            pool = self._pools[shard] = _Pool(range(first, -(-ranks.stop // size)), self.loads)
        return pool


def assign(task: Task) -> list[int]:
    """Give each item, the largest first, to the producer that saves most rows and has room.

    A producer has room while its load stays within `load_factor` of the best
    bound, or within what largest-first balancing reaches where that is more;
    an item that fits nowhere it is needed goes to the least loaded. Where
    largest-first balancing saves as many rows, that is taken.
    """
    order = lpt.largest_first(task)
    balanced = lpt.assign_in_order(task, order)
    if task.ownership.shards == 1 and not task.destinations:
        return balanced  # everybody needs every row, so no producer is better than another
    balanced_load = max(loads_of(balanced, task.costs, task.producers), default=0)
    # All costs together are at most as many times the bound as there are producers.
    factor = min(task.load_factor, task.producers)
    limit = max(math.floor(factor * task.bound), balanced_load)
    placer = _Placer(task, limit)
    found = [0] * len(task.items)
    for index in order:
        found[index] = placer.place(index)
    better = placer.saved(found) > placer.saved(balanced)
    return found if better and max(placer.loads, default=0) <= limit else balanced


LOCAL = Policy("local", assign, "where the rows are needed, within a factor of the best load")
