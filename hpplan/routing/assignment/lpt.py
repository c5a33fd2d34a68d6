"""Largest first to the least loaded: balanced to within a third of the best possible."""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

from hpplan.routing.assignment.base import Policy

if TYPE_CHECKING:
    from hpplan.routing.assignment.base import Task


def largest_first(task: Task) -> list[int]:
    """Return item indices by falling cost, ties by rising item id."""
    items, costs = task.items, task.costs
    keys = [(-cost, item[0], index) for index, (cost, item) in enumerate(zip(costs, items, strict=True))]
    keys.sort()
    return [index for _, _, index in keys]


def assign(task: Task) -> list[int]:
    """Give each item, the largest first, to the least loaded producer, ties to the lowest."""
    return assign_in_order(task, largest_first(task))


def assign_in_order(task: Task, order: list[int]) -> list[int]:
    """Give each item, in this order of their indices, to the least loaded producer."""
    costs = task.costs
    loads = [(0, bucket) for bucket in range(task.producers)]
    heapify(loads)
    found = [0] * len(task.items)
    for index in order:
        load, bucket = loads[0]
        found[index] = bucket
        heapreplace(loads, (load + costs[index], bucket))
    return found


LPT = Policy("lpt", assign, "largest first to the least loaded")
