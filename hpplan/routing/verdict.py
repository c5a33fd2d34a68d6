"""The answer first: is a batch balanced, what does it cost, and which one change helps most."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hpplan.errors import InvalidInput
from hpplan.routing.assignment import DEFAULT_POLICY, POLICIES
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.transfers import GRANULARITIES
from hpplan.workload.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.routing.routes import RoutingTable
    from hpplan.workload.workload import Item, Workload

_MOST_ITEMS = 200_000
"""Items up to which changes are tried: each is planned."""

_WORTH = 0.95
"""A change is named where it leaves at most this part of a load, or of what the busiest rank moves."""


class Price(NamedTuple):
    """What counts, in the order in which it counts."""

    largest_load: int
    """Rows of the busiest producer."""
    busiest_bytes: int
    """Bytes of features and inputs that the busiest rank sends or receives."""
    bytes_leaving: int
    """Of features and inputs, of all ranks."""


class Change(NamedTuple):
    """A change that was planned, and what it costs."""

    option: str
    """What to type."""
    times_mean: float
    price: Price


class Verdict(NamedTuple):
    """What a preview opens with."""

    times_mean: float
    """Load of the busiest producer over the mean of all producers; 1 where there is nothing to encode."""
    rank: int
    """Global rank of the busiest producer."""
    producers: int
    idle: int
    """Producers that encode nothing."""
    heaviest: Item | None
    """The largest item of the busiest producer."""
    price: Price
    input_bytes: int
    """Bytes of inputs that leave their rank."""
    tried: int
    """Changes that were planned."""
    change: Change | None
    """The best of them; None where none helps."""


def verdict(table: RoutingTable, traffic: Traffic, policy: str = "") -> Verdict:
    """Return the verdict on a table; `policy` assigned its items, empty where buckets were given.

    A change is named where it lowers the largest load, or leaves it and lowers
    what the busiest rank moves, each by a twentieth at least.
    """
    load = traffic.producer_load
    parent = table.parents[load.parent]
    bucket = parent.ranks.index(load.rank) // table.workload.encoder_cp_size
    items = parent.routes.buckets[bucket]
    price = _price(traffic)
    best: Change | None = None
    tried = 0
    few = sum(len(batch.items) for batch in table.workload.batches) <= _MOST_ITEMS
    for option, found in _planned(table, policy) if few else ():
        tried += 1
        other = Traffic(found)
        cost = _price(other)
        if _helps(cost, price) and (best is None or cost < best.price):
            best = Change(option, _times(other), cost)
    inputs = traffic.inputs
    return Verdict(
        _times(traffic),
        load.rank,
        sum(len(routes.buckets) for _, routes in table.parents),
        sum(not own for _, routes in table.parents for own in routes.buckets),
        max(items, key=lambda item: item.rows, default=None),
        price,
        inputs.rows_leaving * inputs.row_bytes if inputs else 0,
        tried,
        best,
    )


def _helps(cost: Price, price: Price) -> bool:
    if _less(cost.largest_load, price.largest_load):
        return True
    return cost.largest_load <= price.largest_load and _less(cost.busiest_bytes, price.busiest_bytes)


def _less(after: int, before: int) -> bool:
    return after < before and after <= _WORTH * before


def _times(traffic: Traffic) -> float:
    load = traffic.producer_load
    return load.largest / load.mean if load.mean else 1.0


def _price(traffic: Traffic) -> Price:
    size, inputs = traffic.row_bytes, traffic.inputs
    busiest = max(traffic.largest_sender.rows, traffic.largest_receiver.rows) * size
    leaving = traffic.rows_leaving * size
    if inputs is not None:
        busiest += max(inputs.largest_sender.rows, inputs.largest_receiver.rows) * inputs.row_bytes
        leaving += inputs.rows_leaving * inputs.row_bytes
    return Price(traffic.producer_load.largest, busiest, leaving)


def _planned(table: RoutingTable, policy: str) -> Iterator[tuple[str, RoutingTable]]:
    """Yield each change with the table that it makes; those that do not fit the mesh are none."""
    workload, granularity, assign = table.workload, table.granularity, policy or DEFAULT_POLICY
    mesh = table.mesh.pooled(1)
    ways = [(f"--granularity {one}", workload, one, assign) for one in GRANULARITIES if one != granularity]
    if policy:
        ways += [
            (f"--assign {one.name}", workload, granularity, one.name)
            for one in POLICIES
            if one.name != policy
        ]
        if table.mesh.pool == 1 and mesh.dp > 1 and _numbered_apart(workload):
            ways.append(("--pool all", workload.with_pool("all"), granularity, assign))
    for layout in LAYOUTS if mesh.cp > 1 else ():
        if layout.name != workload.cp_layout:
            changed = workload.with_sequence(cp_layout=layout.name)
            ways.append((f"--cp-layout {layout.name}", changed, granularity, assign))
    for option, changed, one, name in ways:
        with suppress(InvalidInput):
            yield option, plan_routes(mesh, changed, one, name)


def _numbered_apart(workload: Workload) -> bool:
    """Whether replicas have items of their own, no two of one number."""
    ids = [item.item_id for batch in workload.batches for item in batch.items]
    return workload.per_replica and len(set(ids)) == len(ids)
