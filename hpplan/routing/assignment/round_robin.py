"""Items in turn, as the workload lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.assignment.base import Policy

if TYPE_CHECKING:
    from hpplan.routing.assignment.base import Task


def assign(task: Task) -> list[int]:
    """Give the i-th item to producer i modulo the number of producers."""
    return [index % task.producers for index in range(len(task.items))]


ROUND_ROBIN = Policy("round-robin", assign, "in turn, as listed")
