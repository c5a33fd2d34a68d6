"""Who encodes what: the assignment policies, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing.assignment.base import LOAD_FACTOR, Cost, Policy, Task
from hpplan.routing.assignment.contiguous import CONTIGUOUS
from hpplan.routing.assignment.local import LOCAL
from hpplan.routing.assignment.lpt import LPT
from hpplan.routing.assignment.round_robin import ROUND_ROBIN

if TYPE_CHECKING:
    from hpplan.routing.ownership import Ownership
    from hpplan.workload.workload import Batch, Item, Workload

POLICIES: tuple[Policy, ...] = (LPT, ROUND_ROBIN, CONTIGUOUS, LOCAL)
"""Every policy."""

DEFAULT_POLICY = POLICIES[0].name


def policy_named(name: str) -> Policy:
    """Return the policy of that name, which has been checked."""
    return next(policy for policy in POLICIES if policy.name == name)


def fill_buckets(
    workload: Workload,
    batch: Batch,
    ownership: Ownership,
    producers: int,
    *,
    policy: str = DEFAULT_POLICY,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    row_granularity: bool = False,
    nodes: tuple[int, ...] = (),
) -> tuple[tuple[Item, ...], ...]:
    """Return the items of each bucket: those the workload gives, else those a policy assigns.

    `nodes` has the node of each parent rank, where that is known. Assigned
    buckets list their items in the order of (replica, batch_index, first token,
    item_id).
    """
    if batch.buckets is not None:
        by_id = {item.item_id: item for item in batch.items}
        return tuple(tuple(by_id[item_id] for item_id in bucket) for bucket in batch.buckets)
    costs = [item.rows for item in batch.items]
    if cost == "rows^2":
        costs = [rows * rows for rows in costs]
    task = Task(
        batch.items,
        costs,
        producers,
        workload.encoder_cp_size,
        ownership,
        batch.destinations,
        row_granularity,
        load_factor,
        workload.row_bytes,
        workload.input_row_bytes,
        nodes,
    )
    buckets: list[list[tuple[tuple[int, int, int, int], Item]]] = [[] for _ in range(producers)]
    for item, bucket in zip(batch.items, policy_named(policy).assign(task), strict=True):
        buckets[bucket].append(((item.replica, item[1], item[3][0][0], item[0]), item))
    for entries in buckets:
        entries.sort()
    return tuple(tuple(item for _, item in entries) for entries in buckets)
