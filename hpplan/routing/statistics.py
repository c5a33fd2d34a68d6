"""How each assignment policy does over many micro-batches: in each, in the median, at p95 and at worst."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.routing.assignment import DEFAULT_POLICY, POLICIES
from hpplan.routing.assignment.base import COSTS, LOAD_FACTOR
from hpplan.routing.cluster import Cluster
from hpplan.routing.request import check_links, check_request
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_shape import GRANULARITY_FIELD
from hpplan.routing.traffic import LINK_FIELD, LINKS_FIELD, Link, Traffic
from hpplan.routing.traffic_warnings import folded
from hpplan.routing.verdict import WORTH
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import FLAG, TEXT, TEXTS, Field, count, list_of, literal, mapping_of, or_null

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable
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
    needs_links: bool = False
    """Whether it needs those of a cluster."""
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
        "busiest_rank_bytes",
        "bytes that the busiest rank sends or receives",
        lambda traffic: max(traffic.largest_sender.rows, traffic.largest_receiver.rows) * traffic.row_bytes,
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
    ),
    Measure("seconds", "estimated time", lambda traffic: traffic.seconds or 0.0, 9, needs_link=True),
    Measure(
        "predicted_forward_seconds",
        "predicted time forward",
        lambda traffic: 0.0 if traffic.prediction is None else traffic.prediction.forward,
        9,
        needs_links=True,
    ),
    Measure(
        "predicted_backward_seconds",
        "predicted time backward",
        lambda traffic: 0.0 if traffic.prediction is None else traffic.prediction.backward,
        9,
        needs_links=True,
    ),
)
"""What is compared; an imbalance of 1 is none."""


class Load(NamedTuple):
    """What the producers of one micro-batch encode, in the cost."""

    rank: int
    """Global rank of the busiest."""
    largest: int
    mean: float
    """Over the producers of all parents."""
    bound: int
    """The least that the largest load of its parent can be."""

    @property
    def above(self) -> float:
        """What the busiest encodes while all producers could have been done."""
        return self.largest - self.mean


LOAD = Answer(
    None,
    Field("rank", count(0), "Global rank of the busiest producer."),
    Field("largest", count(0), "Its load, in the cost."),
    Field("mean", AMOUNT, "Of the loads of all producers of the mesh."),
    Field("bound", count(0), "The least that the largest load of its parent can be."),
)


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
    optional=tuple(one.name for one in MEASURES if one.needs_link or one.needs_links or one.of_pools),
)
VERDICT = Answer(
    None,
    Field("times_mean", AMOUNT, "The largest loads, added up, over the means, added up."),
    Field("worst", count(0), "The micro-batch in which the busiest is furthest above the mean."),
    Field("rank", count(0), "Global rank of the busiest producer of that one."),
    Field("idle", count(0), "Producers that encode nothing, at worst."),
    Field("bytes_leaving", AMOUNT, "Bytes of features that leave their rank, in the median micro-batch."),
    Field("seconds", or_null(AMOUNT), "Time of the features in the median, where a link was given."),
    Field("tried", count(0), "Other ways that were planned."),
    Field(
        "change",
        or_null(
            Answer(
                None,
                Field("option", TEXT, "What to type."),
                Field("times_mean", AMOUNT, "The largest loads over the means, then."),
                Field("bytes_leaving", AMOUNT, "In the median micro-batch, then."),
            )
        ),
        "The way whose largest loads are least; null where none is better by a twentieth.",
    ),
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
    GRANULARITY_FIELD,
    Field("micro_batches", count(1), "Number of micro-batches."),
    Field("cost", literal(COSTS), "What encoding an item is taken to cost."),
    LINK_FIELD,
    LINKS_FIELD,
    Field("verdict", VERDICT.schema, "About the way that runs where nothing else is asked for."),
    Field(
        "policies",
        mapping_of(_MEASURED),
        "Distributions over the micro-batches, by assignment policy and measure.",
    ),
    Field(
        "loads",
        mapping_of(list_of(LOAD)),
        "The busiest producer of each micro-batch, by assignment policy.",
    ),
)
"""What `hpplan route` answers to many micro-batches."""


class Way(NamedTuple):
    """A policy, None for the buckets that workloads bring, and the pools it is looked at with."""

    name: str
    policy: str | None
    pool: int | None
    """None where no workload asks for pools."""

    @property
    def option(self) -> str:
        """What to type for it; empty for the buckets that workloads bring."""
        pool = "" if self.pool is None else f" --pool {self.pool}"
        return "" if self.policy is None else f"--assign {self.policy}{pool}"


class Found(NamedTuple):
    """What was found of one way, by micro-batch."""

    way: Way
    values: dict[str, list[float]]
    """By measure."""
    loads: list[Load]

    @property
    def largest(self) -> int:
        """The loads of the busiest producers, added up: all ranks wait for these."""
        return sum(load.largest for load in self.loads)

    @property
    def mean(self) -> float:
        """The means, added up."""
        return sum(load.mean for load in self.loads)

    @property
    def times_mean(self) -> float:
        """The one over the other; 1 where there is nothing to encode."""
        return self.largest / self.mean if self.largest else 1.0

    def worst(self, most: int) -> list[int]:
        """Return the micro-batches in which the busiest is furthest above the mean, the worst first."""
        order = sorted(range(len(self.loads)), key=lambda at: (-self.loads[at].above, at))
        return order[:most]


@dataclass(frozen=True)
class Statistics:
    """What was found of each way, and the distributions of it."""

    mesh: Mesh
    granularity: Granularity
    workloads: tuple[Workload, ...]
    link: Link | Cluster | None
    cost: Cost
    load_factor: float
    found: dict[str, Found]
    """By the name of the way."""
    warnings: tuple[Diagnostic, ...] = ()
    """The first of each code, of whichever micro-batch."""
    name: str = ""
    """What was routed, where that is a file."""

    @property
    def micro_batches(self) -> int:
        """How many there are."""
        return len(self.workloads)

    @property
    def ranks_per_node(self) -> int | None:
        """Ranks of a node of the cluster, where that is known."""
        return self.link.ranks_per_node if isinstance(self.link, Cluster) else None

    @property
    def running(self) -> Found:
        """What was found of the way that runs: as given, else the first policy in pools as asked for."""
        name, first = next(iter(self.found.items()))
        pool = max(self.mesh.pooled(workload.encoder_pool).pool for workload in self.workloads)
        asked = (one for one in self.found.values() if one.way[1:] == (first.way.policy, pool))
        return first if name == GIVEN else next(asked, first)

    @property
    def better(self) -> Found | None:
        """The way whose largest loads are least, where that is a twentieth less than the first has."""
        best = min(self.found.values(), key=lambda one: one.largest)
        least = self.running.largest
        return best if best.largest < least and best.largest <= WORTH * least else None

    @cached_property
    def policies(self) -> dict[str, dict[str, Distribution]]:
        """The distributions, by way and measure."""
        return {
            name: {measure: distribution(values) for measure, values in found.values.items()}
            for name, found in self.found.items()
        }

    def table(self, way: Way, micro_batch: int) -> RoutingTable:
        """Plan one micro-batch again as it was planned for a way."""
        one = self.workloads[micro_batch]
        return plan_routes(
            self.mesh,
            one if way.policy is None else without_buckets(one).with_pool(way.pool),
            self.granularity,
            way.policy or DEFAULT_POLICY,
            cost=self.cost,
            load_factor=self.load_factor,
            ranks_per_node=self.ranks_per_node,
        )

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
        loads = {name: [LOAD.of(load) for load in found.loads] for name, found in self.found.items()}
        return STATISTICS.of(
            self, mesh=self.mesh.to_data(), verdict=self._verdict(), policies=policies, loads=loads
        )

    def _verdict(self) -> dict[str, Any]:
        first, better = self.running, self.better
        measured = self.policies[first.way.name]
        worst = first.worst(1)[0]
        return VERDICT.of(
            first,
            worst=worst,
            rank=first.loads[worst].rank,
            idle=int(measured["idle_producers"].worst),
            bytes_leaving=measured["bytes_leaving"].median,
            seconds=measured["seconds"].median if "seconds" in measured else None,
            tried=len(self.found) - 1,
            change=None
            if better is None
            else {
                "option": better.way.option,
                "times_mean": better.times_mean,
                "bytes_leaving": self.policies[better.way.name]["bytes_leaving"].median,
            },
        )


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
    link: Link | Cluster | None = None,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    only: str | None = None,
    name: str = "",
    progress: Callable[[], object] | None = None,
) -> Statistics:
    """Route every micro-batch under every policy, and under its own buckets where all have some.

    Where workloads ask for pools of replicas, each policy is looked at with pools of one replica, of as
    many as they ask for, and of all.

    With `only` that policy is looked at alone. Encoding is measured in `cost`. `name` is the file that
    was read, for pages.
    `progress` is called after each micro-batch. Raises what `plan_routes`
    raises.
    """
    check_request(granularity, DEFAULT_POLICY if only is None else only, cost, load_factor)
    if isinstance(link, Link):
        check_links(*link)
    ways = _ways(mesh, workloads, only)
    pooled = any(way.pool is not None for way in ways)
    wanted = [
        one
        for one in MEASURES
        if (link is not None or not one.needs_link)
        and (isinstance(link, Cluster) or not one.needs_links)
        and (pooled or not one.of_pools)
    ]
    found = {way.name: Found(way, {one.name: [] for one in wanted}, []) for way in ways}
    empty = Statistics(mesh, granularity, tuple(workloads), link, cost, load_factor, found, name=name)
    warnings: list[Diagnostic] = []
    for number in range(len(workloads)):
        for way, values, loads in found.values():
            table = empty.table(way, number)
            traffic = Traffic(table, link, cost=cost)
            for measure in wanted:
                values[measure.name].append(measure.of(traffic))
            load = traffic.producer_load
            loads.append(Load(load.rank, load.largest, load.mean, load.bound))
        warnings += table.warnings
        if progress is not None:
            progress()
    return replace(empty, warnings=tuple(folded(warnings, " in these micro-batches")))


def _ways(mesh: Mesh, workloads: Sequence[Workload], only: str | None) -> list[Way]:
    asked = {mesh.pooled(workload.encoder_pool).pool for workload in workloads}
    pools: list[int | None] = [None] if asked == {1} else [*sorted({1, mesh.dp, *asked})]
    ways = [
        Way(policy.name if pool is None else f"{policy.name}, pool {pool}", policy.name, pool)
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
        ways.insert(0, Way(GIVEN, None, None if asked == {1} else 1))
    return ways


def without_buckets(workload: Workload) -> Workload:
    """Return the workload with its items free to be assigned."""
    return replace(workload, batches=tuple(replace(batch, buckets=None) for batch in workload.batches))
