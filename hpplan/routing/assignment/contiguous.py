"""Neighbours stay together: the listed order is cut into one piece a producer, of about equal cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.assignment.base import Policy

if TYPE_CHECKING:
    from hpplan.routing.assignment.base import Task


def assign(task: Task) -> list[int]:
    """Give an item to the producer in whose even share of the total cost its middle lies."""
    total = sum(task.costs)
    found: list[int] = []
    before = 0
    for cost in task.costs:
        found.append((2 * before + cost) * task.producers // (2 * total))
        before += cost
    return found


CONTIGUOUS = Policy("contiguous", assign, "neighbours together, cut into pieces of about equal cost")
