"""What an assignment policy gets and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.routing.ownership import Ownership
    from hpplan.workload.workload import Item

Cost = Literal["rows", "rows^2"]
"""What encoding an item costs: its rows, or their square under full attention."""

COSTS: tuple[Cost, ...] = ("rows", "rows^2")

LOAD_FACTOR = 1.25
"""How far above the best bound a producer's load goes under a policy that heeds it."""


@dataclass(frozen=True, slots=True)
class Task:
    """The items to assign, in the order of the workload, and the producers to assign them to."""

    items: Sequence[Item]
    costs: Sequence[int]
    producers: int
    encoder_cp_size: int
    ownership: Ownership
    destinations: dict[int, tuple[int, ...]]
    row_granularity: bool
    load_factor: float
    row_bytes: int = 1
    input_row_bytes: int = 0
    nodes: tuple[int, ...] = ()
    """The node of each parent rank; empty where that is not known."""

    @property
    def pooled(self) -> bool:
        """Whether replicas share the encoder work."""
        return self.ownership.pooled

    @property
    def bound(self) -> int:
        """The least that the largest load can be: an even share, or the largest item."""
        return load_bound(self.costs, self.producers)


@dataclass(frozen=True, slots=True)
class Policy:
    """One way to assign items: `assign` returns, for each item, the bucket it goes to."""

    name: str
    assign: Callable[[Task], list[int]]
    summary: str
    looks_at_owners: bool = False
    """Whether it asks who owns which tokens, and so needs a mesh."""
    heeds_load_factor: bool = False


def load_bound(costs: Sequence[int], producers: int) -> int:
    """Return the least that the largest load can be."""
    return max(-(-sum(costs) // producers), max(costs, default=0))


def loads_of(buckets: Sequence[int], costs: Sequence[int], producers: int) -> list[int]:
    """Return the load of each producer."""
    loads = [0] * producers
    for bucket, cost in zip(buckets, costs, strict=True):
        loads[bucket] += cost
    return loads
