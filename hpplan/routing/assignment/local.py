"""Items go where their rows are needed, as long as loads stay near the best bound."""

from __future__ import annotations

import math
from functools import cached_property
from heapq import heapify, heapreplace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from hpplan.routing.assignment import lpt
from hpplan.routing.assignment.base import Policy, loads_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.routing.assignment.base import Task
    from hpplan.workload.workload import Item

_MOST_SWAPS = 400
"""Items up to which pairs change places where that saves bytes: their number is squared."""


_FEW, _MOST_STEPS = 24, 20_000
"""Items up to which the best assignment is looked for, and how long: some hundredths of a second."""


class _Producers:
    """Producers by load, ties by number; entries are renewed when they are looked at."""

    def __init__(self, buckets: Iterable[int], loads: list[int]) -> None:
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


class _Choice(NamedTuple):
    """Equally good producers for an item: how near they are, and the bytes that they would not move."""

    tier: int
    """0 a rank that gets its rows, 1 in the node of one, 2 in its replica, 3 anywhere in its pool."""
    producers: _Producers
    saved: int


class _Placer:
    """Places items one by one and keeps the loads; loads only ever grow."""

    def __init__(self, task: Task, limit: int) -> None:
        self._task = task
        self._limit = limit
        self.loads = [0] * task.producers
        self._known: dict[tuple[str, int], _Producers] = {}

    def place(self, index: int) -> int:
        """Return the producer for an item: of the nearest with room, the one that saves most bytes."""
        cost = self._task.costs[index]
        best: int | None = None
        best_key = (0, 0, 0, 0)
        for tier, producers, saved in self._choices(self._task.items[index]):
            bucket = producers.least()
            if bucket is None or self.loads[bucket] + cost > self._limit:
                continue
            key = (tier, -saved, self.loads[bucket], bucket)
            if best is None or key < best_key:
                best, best_key = bucket, key
        if best is None:
            best = self._group("all", 0, range(self._task.producers)).least() or 0
        self.loads[best] += cost
        return best

    def _choices(self, item: Item) -> list[_Choice]:
        """Return groups of equally good producers."""
        task = self._task
        owned = _owned(task, item)
        explicit = task.destinations.get(item.item_id)
        features, inputs = task.row_bytes, _input_bytes(task, item)
        found: list[_Choice] = []
        if explicit is None:
            for shard, rows in owned.items():
                ranks = task.ownership.ranks_of(shard)
                saved = (rows if task.row_granularity else item.rows) * features + inputs
                found.append(_Choice(0, self._of_ranks("shard", shard, ranks), saved))
        for rank in explicit or ():
            if rank % task.encoder_cp_size == 0:
                rows = owned.get(task.ownership.shard_of(rank), 0) if task.row_granularity else item.rows
                producer = _Producers([rank // task.encoder_cp_size], self.loads)
                found.append(_Choice(0, producer, rows * features))
        if task.nodes and task.pooled:
            for node in {task.nodes[rank] for shard in owned for rank in task.ownership.ranks_of(shard)}:
                members = [rank for rank, of in enumerate(task.nodes) if of == node]
                found.append(_Choice(1, self._of_ranks("node", node, members), 0))
        if task.pooled:
            home = task.ownership.ranks_of_replica(item.replica)
            found.append(_Choice(2, self._of_ranks("replica", item.replica, home), inputs))
        return found

    def _of_ranks(self, kind: str, number: int, ranks: Sequence[int]) -> _Producers:
        size = self._task.encoder_cp_size
        return self._group(kind, number, (rank // size for rank in ranks if rank % size == 0))

    def _group(self, kind: str, number: int, buckets: Iterable[int]) -> _Producers:
        group = self._known.get((kind, number))
        if group is None:
            group = self._known[kind, number] = _Producers(buckets, self.loads)
        return group


class _Savings:
    """The bytes that stay where they are, by item and producer."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @cached_property
    def _owned(self) -> list[dict[int, int]]:
        return [_owned(self._task, item) for item in self._task.items]

    def of(self, index: int, bucket: int) -> int:
        """Return the bytes that an item does not move where a producer encodes it."""
        task, item = self._task, self._task.items[index]
        rank = bucket * task.encoder_cp_size
        home = task.ownership.replica_of(rank) == item.replica
        saved = _input_bytes(task, item) if home else 0
        explicit = task.destinations.get(item.item_id)
        if explicit is not None and rank not in explicit:
            return saved
        owned = self._owned[index].get(task.ownership.shard_of(rank), 0)
        if task.row_granularity:
            return saved + owned * task.row_bytes
        return saved + (item.rows * task.row_bytes if owned or explicit is not None else 0)

    def total(self, buckets: Sequence[int]) -> int:
        """Return the bytes that stay, with items in these buckets."""
        return sum(self.of(index, bucket) for index, bucket in enumerate(buckets))


def _owned(task: Task, item: Item) -> dict[int, int]:
    """Return the rows of an item that each shard has."""
    owned: dict[int, int] = {}
    for shard, start, stop in task.ownership.runs(item):
        owned[shard] = owned.get(shard, 0) + stop - start
    return owned


def _input_bytes(task: Task, item: Item) -> int:
    return (item.input_rows or 0) * task.input_row_bytes if task.pooled else 0


def _improved(task: Task, savings: _Savings, found: list[int], limit: int) -> list[int]:
    """Move single items, and let pairs change places, as long as that saves bytes within the limit."""
    loads = loads_of(found, task.costs, task.producers)
    better = True
    while better:
        better = False
        for one, cost in enumerate(task.costs):
            for bucket in range(task.producers):
                gain = savings.of(one, bucket) - savings.of(one, found[one])
                if gain > 0 and loads[bucket] + cost <= limit:
                    loads[found[one]] -= cost
                    loads[bucket] += cost
                    found[one] = bucket
                    better = True
        for one, cost in enumerate(task.costs):
            for other in range(one):
                mine, theirs = found[one], found[other]
                grown = cost - task.costs[other]
                if mine == theirs or loads[theirs] + grown > limit or loads[mine] - grown > limit:
                    continue
                before = savings.of(one, mine) + savings.of(other, theirs)
                if savings.of(one, theirs) + savings.of(other, mine) > before:
                    loads[theirs] += grown
                    loads[mine] -= grown
                    found[one], found[other] = theirs, mine
                    better = True
    return found


def _searched(task: Task, savings: _Savings, order: Sequence[int], found: list[int], limit: int) -> list[int]:
    """Look for an assignment that saves most bytes, the largest items first, giving up after some steps."""
    producers = range(task.producers)
    gains = [[savings.of(index, bucket) for bucket in producers] for index in order]
    choices = [sorted(producers, key=lambda bucket, of=of: (-of[bucket], bucket)) for of in gains]  # type: ignore[misc]
    most = list(accumulate((max(of) for of in reversed(gains)), initial=0))[::-1]
    best, best_saved = list(found), savings.total(found)
    loads = [0] * task.producers
    chosen = list(found)
    steps = _MOST_STEPS

    def visit(at: int, saved: int) -> None:
        nonlocal best, best_saved, steps
        if saved + most[at] <= best_saved or not steps:
            return
        if at == len(order):
            best, best_saved = list(chosen), saved
            return
        cost = task.costs[order[at]]
        for bucket in choices[at]:
            if loads[bucket] + cost <= limit and steps:
                steps -= 1
                loads[bucket] += cost
                chosen[order[at]] = bucket
                visit(at + 1, saved + gains[at][bucket])
                loads[bucket] -= cost

    visit(0, 0)
    return best


def assign(task: Task) -> list[int]:
    """Give each item, the largest first, to the nearest producer with room that saves most bytes.

    A producer has room while its load stays within `load_factor` of the best
    bound, or within what largest-first balancing reaches where that is more;
    an item that fits nowhere it is needed goes to the least loaded. Bytes are
    those of features and, where replicas share the encoder work, of inputs.
    Where largest-first balancing saves as many, that is taken.
    """
    order = lpt.largest_first(task)
    balanced = lpt.assign_in_order(task, order)
    if task.ownership.shards == 1 and not task.destinations:
        return balanced  # everybody needs every row, so no producer is better than another
    balanced_load = max(loads_of(balanced, task.costs, task.producers), default=0)
    # All costs together are at most as many times the bound as there are producers.
    factor = min(task.load_factor, task.producers)
    limit = max(math.floor(factor * task.bound), balanced_load)
    placer, savings = _Placer(task, limit), _Savings(task)
    found = [0] * len(task.items)
    for index in order:
        found[index] = placer.place(index)
    if max(placer.loads, default=0) > limit:
        found = list(balanced)
    if task.pooled and len(task.items) <= _MOST_SWAPS:
        found = _improved(task, savings, found, limit)
        if len(task.items) <= _FEW:
            found = _searched(task, savings, order, found, limit)
    return found if savings.total(found) > savings.total(balanced) else balanced


LOCAL = Policy(
    "local",
    assign,
    "where the rows are needed, within a factor of the best load",
    looks_at_owners=True,
    heeds_load_factor=True,
)
