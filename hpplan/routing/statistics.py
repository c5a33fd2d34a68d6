"""How each assignment policy does over many micro-batches: median, 95th percentile and worst."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.assignment import DEFAULT_POLICY, POLICIES
from hpplan.routing.assignment.base import COSTS, LOAD_FACTOR
from hpplan.routing.request import check_links, check_request
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_shape import GRANULARITY
from hpplan.routing.traffic import LINK_FIELD, Traffic
from hpplan.routing.traffic_warnings import folded
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import FLAG, TEXTS, Field, count, literal, mapping_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.traffic import Link
    from hpplan.routing.transfers import Granularity
    from hpplan.workload.workload import Workload

GIVEN = "as given"
"""Stands for the buckets that the workloads bring along, beside the policies."""


class Measure(NamedTuple):
    """Something that is worked out for each micro-batch; less is better."""

    name: str
    summary: str
    of: Callable[[Traffic], float]
    decimals: int
    needs_link: bool = False
    of_pools: bool = False
    """Whether it is worked out only where replicas share the encoder work."""


def _encode_imbalance(traffic: Traffic) -> float:
    """Return the load of the busiest producer against the mean, both over all replicas of the mesh."""
    load = traffic.producer_load
    return load.largest / load.mean if load.mean else 1.0


def _send_imbalance(traffic: Traffic) -> float:
    peak = traffic.largest_sender
    return peak.rows / peak.mean if peak.mean else 1.0


def _receive_imbalance(traffic: Traffic) -> float:
    peak = traffic.largest_receiver
    return peak.rows / peak.mean if peak.mean else 1.0


MEASURES: tuple[Measure, ...] = (
    Measure(
        "encode_imbalance",
        "cost of the busiest producer / mean of the mesh's producers",
        _encode_imbalance,
        3,
    ),
    Measure("send_imbalance", "rows sent by the busiest rank / mean", _send_imbalance, 3),
    Measure("receive_imbalance", "rows received by the busiest rank / mean", _receive_imbalance, 3),
    Measure("rows_leaving", "rows that leave their rank", lambda traffic: traffic.rows_leaving, 0),
    Measure(
        "bytes_leaving",
        "bytes that leave their rank",
        lambda traffic: traffic.bytes_leaving,
        0,
    ),
    Measure(
        "input_bytes_leaving",
        "bytes of inputs that leave their rank",
        lambda traffic: 0 if traffic.inputs is None else traffic.inputs.bytes_leaving,
        0,
        of_pools=True,
    ),
    Measure(
        "idle_producers",
        "producers that encode nothing",
        lambda traffic: sum(not bucket for _, routes in traffic.table.parents for bucket in routes.buckets),
        0,
        of_pools=True,
    ),
    Measure("seconds", "estimated time", lambda traffic: traffic.seconds or 0.0, 9, needs_link=True),
)
"""What is compared; an imbalance of 1 is none."""


class Distribution(NamedTuple):
    """One measure over all micro-batches; `worst_at` is the first micro-batch with the worst."""

    median: float
    p95: float
    worst: float
    worst_at: int


DISTRIBUTION = Answer(
    None,
    Field("median", AMOUNT, "Of the values of all micro-batches."),
    Field("p95", AMOUNT, "The nearest-rank 95th percentile."),
    Field("worst", AMOUNT, "The largest value."),
    Field("worst_at", count(0), "The first micro-batch with the worst, counted from 0."),
)
_MEASURED = Answer(
    None,
    *(
        Field(one.name, DISTRIBUTION.schema, f"{one.summary[0].upper()}{one.summary[1:]}.")
        for one in MEASURES
    ),
    optional=tuple(one.name for one in MEASURES if one.needs_link or one.of_pools),
)
STATISTICS = Answer(
    None,
    Field(
        "mesh",
        Answer(
            None,
            Field("axes", mapping_of(count(1)), "Axis to size."),
            Field("order", TEXTS, "The axes, outermost first."),
            Field("sp", FLAG, "Whether TP ranks split the sequence."),
            Field("ep", count(2), "Ranks that share experts, where there are several."),
            optional=("ep",),
        ).schema,
        "The axes of the job's ranks.",
    ),
    Field("granularity", GRANULARITY, "Whether whole records are sent, or owned rows alone."),
    Field("micro_batches", count(1), "Number of micro-batches."),
    Field("cost", literal(COSTS), "What encoding an item is taken to cost."),
    LINK_FIELD,
    Field(
        "policies",
        mapping_of(_MEASURED),
        "Distributions over the micro-batches, by assignment policy and measure.",
    ),
)
"""What `hpplan route` answers to many micro-batches."""


@dataclass(frozen=True)
class Statistics:
    """Distributions by policy and measure."""

    mesh: Mesh
    granularity: Granularity
    micro_batches: int
    link: Link | None
    cost: Cost
    policies: dict[str, dict[str, Distribution]]
    warnings: tuple[Diagnostic, ...] = ()
    """The first of each code, of whichever micro-batch."""

    @property
    def measures(self) -> list[Measure]:
        """The measures that were worked out."""
        found = next(iter(self.policies.values()))
        return [one for one in MEASURES if one.name in found]

    def best(self, measure: Measure) -> list[str]:
        """Return the policies with the least 95th percentile of a measure."""
        found = {policy: values[measure.name].p95 for policy, values in self.policies.items()}
        least = min(found.values())
        return [policy for policy, value in found.items() if value == least]

    def to_data(self) -> dict[str, Any]:
        """Return the statistics as a document."""
        policies = {
            policy: {name: DISTRIBUTION.of(found) for name, found in measures.items()}
            for policy, measures in self.policies.items()
        }
        return STATISTICS.of(self, mesh=self.mesh.to_data(), policies=policies)


def distribution(values: Sequence[float]) -> Distribution:
    """Return the median, the nearest-rank 95th percentile and the largest of at least one value.

    The median of an even number of values is the mean of the two in the middle.
    """
    ascending = sorted(values)
    count = len(ascending)
    low, high = ascending[(count - 1) // 2], ascending[count // 2]
    median = low if low == high else (low + high) / 2
    p95 = ascending[math.ceil(0.95 * count) - 1]
    return Distribution(median, p95, ascending[-1], values.index(ascending[-1]))


def statistics(
    mesh: Mesh,
    workloads: Sequence[Workload],
    granularity: Granularity = "record",
    *,
    link: Link | None = None,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    only: str | None = None,
    progress: Callable[[], object] | None = None,
) -> Statistics:
    """Route every micro-batch under every policy, and under its own buckets where all have some.

    Where workloads ask for pools of replicas, each policy is looked at with pools of one replica, of as
    many as they ask for, and of all.

    With `only` that policy is looked at alone. Encoding is measured in `cost`.
    `progress` is called after each micro-batch. Raises what `plan_routes`
    raises.
    """
    check_request(granularity, DEFAULT_POLICY if only is None else only, cost, load_factor)
    if link is not None:
        check_links(*link)
    ways = _ways(mesh, workloads, only)
    pooled = any(way.pool is not None for way in ways)
    wanted = [
        one for one in MEASURES if (link is not None or not one.needs_link) and (pooled or not one.of_pools)
    ]
    values: dict[str, dict[str, list[float]]] = {
        way.name: {measure.name: [] for measure in wanted} for way in ways
    }
    warnings: list[Diagnostic] = []
    for workload in workloads:
        free = without_buckets(workload)
        for name, policy, pool in ways:
            table = plan_routes(
                mesh,
                workload if policy is None else free.with_pool(pool),
                granularity,
                policy or DEFAULT_POLICY,
                cost=cost,
                load_factor=load_factor,
            )
            traffic = Traffic(table, link, cost=cost)
            for measure in wanted:
                values[name][measure.name].append(measure.of(traffic))
        warnings += table.warnings
        if progress is not None:
            progress()
    return Statistics(
        mesh,
        granularity,
        len(workloads),
        link,
        cost,
        {
            name: {measure: distribution(found) for measure, found in measures.items()}
            for name, measures in values.items()
        },
        tuple(folded(warnings, " in these micro-batches")),
    )


class _Way(NamedTuple):
    """A policy, None for the buckets that workloads bring, and the pools it is looked at with."""

    name: str
    policy: str | None
    pool: int | None
    """None where no workload asks for pools."""


def _ways(mesh: Mesh, workloads: Sequence[Workload], only: str | None) -> list[_Way]:
    asked = {mesh.pooled(workload.encoder_pool).pool for workload in workloads}
    pools: list[int | None] = [None] if asked == {1} else [*sorted({1, mesh.dp, *asked})]
    ways = [
        _Way(policy.name if pool is None else f"{policy.name}, pool {pool}", policy.name, pool)
        for policy in POLICIES
        if only in {None, policy.name}
        for pool in pools
    ]
    buckets = all(
        any(batch.buckets is not None for batch in workload.batches)
        if workload.encoder_pool != 1
        else all(batch.buckets is not None for batch in workload.batches)
        for workload in workloads
    )
    if only is None and buckets:
        ways.insert(0, _Way(GIVEN, None, None if asked == {1} else 1))
    return ways


def without_buckets(workload: Workload) -> Workload:
    """Return the workload with its items free to be assigned."""
    return replace(workload, batches=tuple(replace(batch, buckets=None) for batch in workload.batches))
