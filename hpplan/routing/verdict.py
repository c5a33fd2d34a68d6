"""The answer first: is a batch balanced, what does it cost, and which one change helps most."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.errors import InvalidInput
from hpplan.routing.assignment import DEFAULT_POLICY, POLICIES
from hpplan.routing.assignment.base import LOAD_FACTOR
from hpplan.routing.cluster import Cluster
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.transfers import GRANULARITIES
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import TEXT, Field, count, one_of, or_null
from hpplan.workload.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.transfers import Granularity
    from hpplan.workload.workload import Item, Workload

_MOST_ITEMS = 200_000
"""Items up to which changes are tried: each is planned."""

WORTH = 0.95
"""A change is named where it leaves at most this part of a load, or of what the busiest rank moves."""


class Price(NamedTuple):
    """What counts, in the order in which it counts."""

    largest_load: int
    """Of the busiest producer, in the cost of the traffic."""
    seconds: float | None
    """Predicted, of features forward and backward; None where links are not known."""
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
    seconds: float | None
    """Of the features, where a link is known; there and back where links are."""
    tried: int
    """Changes that were planned."""
    change: Change | None
    """The best of them; None where none helps."""


HEAVIEST = Answer(
    None,
    Field("item_id", count(0), "The largest item of the busiest producer."),
    Field("sample", one_of(TEXT, count(0), belongs="a name or a number"), "The sample it is of."),
    Field("rows", count(1), "Its rows."),
    optional=("sample",),
)


def _price_of(of: Callable[[Any], Price], name: str, value: object) -> int:
    amount: int = getattr(of(value), name)
    return amount


def _prices(of: Callable[[Any], Price]) -> Iterator[Field]:
    """Yield the fields of a price, of what has one."""
    for name, about in (
        ("largest_load", "Of the busiest producer, in rows, or in what `--cost` says."),
        ("busiest_bytes", "Bytes of features and inputs that the busiest rank moves."),
        ("bytes_leaving", "Bytes of features and inputs that leave their rank, of all ranks."),
    ):
        yield Field(name, count(0), about, get=partial(_price_of, of, name))


CHANGE = Answer(
    None,
    Field("option", TEXT, "What to type."),
    Field("times_mean", AMOUNT, "The largest load over the mean, then."),
    Field(
        "seconds",
        or_null(AMOUNT),
        "Predicted time of the features, forward and backward, then; null where links are not known.",
        get=lambda change: change.price.seconds,
    ),
    *_prices(lambda change: change.price),
)
VERDICT = Answer(
    None,
    Field("rank", count(0), "Global rank of the busiest producer."),
    Field("times_mean", AMOUNT, "Its load over the mean of all producers; 1 where nothing is encoded."),
    Field("producers", count(1), "Producers of the mesh."),
    Field("idle", count(0), "Producers that encode nothing."),
    Field(
        "heaviest",
        or_null(HEAVIEST),
        "What sets the largest load; null where nothing is encoded.",
        get=lambda found: None if found.heaviest is None else HEAVIEST.of(found.heaviest),
    ),
    *_prices(lambda found: found.price),
    Field("input_bytes", count(0), "Bytes of inputs among those that leave their rank."),
    Field(
        "seconds",
        or_null(AMOUNT),
        "Time of the features: over a link, one way; over links, predicted forward and backward. Else null.",
    ),
    Field("tried", count(0), "Changes that were planned and priced."),
    Field(
        "change",
        or_null(CHANGE),
        "The change that helps most; null where none does.",
        get=lambda found: None if found.change is None else CHANGE.of(found.change),
    ),
)
"""What a preview opens with, as data."""


def verdict(
    table: RoutingTable,
    traffic: Traffic,
    policy: str = "",
    *,
    load_factor: float = LOAD_FACTOR,
    ranks_per_node: int | None = None,
) -> Verdict:
    """Return the verdict on a table; `policy` assigned its items, empty where buckets were given.

    Loads are in the cost of `traffic`, and changes are planned with it, with `load_factor` and
    with `ranks_per_node`, as the table was. A change is named where it lowers the largest load,
    or leaves it and lowers what the busiest rank moves, each by a twentieth at least.
    """
    load = traffic.producer_load
    parent = table.parents[load.parent]
    bucket = parent.ranks.index(load.rank) // table.workload.encoder_cp_size
    items = parent.routes.buckets[bucket]
    price = _price(traffic)
    best: Change | None = None
    tried = 0
    few = sum(len(batch.items) for batch in table.workload.batches) <= _MOST_ITEMS
    for option, changed, granularity, assign in (
        _changes(table, policy, timed=isinstance(traffic.link, Cluster)) if few else ()
    ):
        with suppress(InvalidInput):
            found = plan_routes(
                table.mesh.pooled(1),
                changed,
                granularity,
                assign,
                cost=traffic.cost,
                load_factor=load_factor,
                ranks_per_node=ranks_per_node,
            )
            tried += 1
            other = Traffic(found, traffic.link, cost=traffic.cost)
            after = _price(other)
            if _helps(after, price) and (best is None or after < best.price):
                best = Change(option, _times(other), after)
    inputs = traffic.inputs
    return Verdict(
        _times(traffic),
        load.rank,
        sum(len(routes.buckets) for _, routes in table.parents),
        sum(not own for _, routes in table.parents for own in routes.buckets),
        max(items, key=lambda item: item.rows, default=None),
        price,
        inputs.bytes_leaving if inputs else 0,
        traffic.seconds,
        tried,
        best,
    )


def _helps(after: Price, before: Price) -> bool:
    if _less(after.largest_load, before.largest_load):
        return True
    if after.seconds is None or before.seconds is None:
        moves_less = _less(after.busiest_bytes, before.busiest_bytes)
    else:
        moves_less = _less(after.seconds, before.seconds)
    return moves_less and after.largest_load <= before.largest_load


def _less(after: float, before: float) -> bool:
    return after < before and after <= WORTH * before


def _times(traffic: Traffic) -> float:
    load = traffic.producer_load
    return load.largest / load.mean if load.mean else 1.0


def _price(traffic: Traffic) -> Price:
    size, inputs = traffic.row_bytes, traffic.inputs
    busiest = max(traffic.largest_sender.rows, traffic.largest_receiver.rows) * size
    leaving = traffic.bytes_leaving
    if inputs is not None:
        busiest += max(inputs.largest_sender.rows, inputs.largest_receiver.rows) * inputs.row_bytes
        leaving += inputs.bytes_leaving
    seconds = None if traffic.prediction is None else traffic.seconds
    return Price(traffic.producer_load.largest, seconds, busiest, leaving)


def _changes(
    table: RoutingTable, policy: str, *, timed: bool
) -> list[tuple[str, Workload, Granularity, str]]:
    """Return each change: its option, and the workload, granularity and policy to plan then.

    The two collectives of `once` may take longer with fewer bytes: it is tried where times are known.
    """
    workload, granularity, assign = table.workload, table.granularity, policy or DEFAULT_POLICY
    known = [one for one in GRANULARITIES if one != granularity and (timed or one != "once")]
    ways = [(f"--granularity {one}", workload, one, assign) for one in known]
    if policy:
        ways += [
            (f"--assign {one.name}", workload, granularity, one.name)
            for one in POLICIES
            if one.name != policy
        ]
        if table.mesh.pool == 1 and table.mesh.dp > 1 and _numbered_apart(workload):
            ways.append(("--pool all", workload.with_pool("all"), granularity, assign))
    for layout in LAYOUTS if table.mesh.cp > 1 else ():
        if layout.name != workload.cp_layout:
            changed = workload.with_sequence(cp_layout=layout.name)
            ways.append((f"--cp-layout {layout.name}", changed, granularity, assign))
    return ways


def _numbered_apart(workload: Workload) -> bool:
    """Whether replicas have items of their own, no two of one number."""
    ids = [item.item_id for batch in workload.batches for item in batch.items]
    return workload.per_replica and len(set(ids)) == len(ids)
