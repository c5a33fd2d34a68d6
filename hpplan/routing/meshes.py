"""The same micro-batches on several meshes, side by side: what each mesh encodes, moves and waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.errors import Failures
from hpplan.routing.assignment import DEFAULT_POLICY
from hpplan.routing.assignment.base import COSTS, LOAD_FACTOR
from hpplan.routing.routes_shape import GRANULARITY_FIELD
from hpplan.routing.statistics import statistics, without_buckets
from hpplan.routing.traffic import LINK_FIELD
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import TEXT, Field, count, list_of, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.statistics import Statistics
    from hpplan.routing.traffic import Link
    from hpplan.routing.transfers import Granularity
    from hpplan.workload.workload import Workload


class OnMesh(NamedTuple):
    """What one mesh comes to, added up over the micro-batches."""

    mesh: str
    ranks: int
    largest_load: int
    """Of the busiest producer of each micro-batch, for which all others wait."""
    mean_load: float
    """Of the producers of the mesh."""
    times_mean: float
    idle_producers: int
    """Producers that encode nothing, in the micro-batch with most of them."""
    bytes_leaving: int
    busiest_rank_bytes: int
    """Of the rank that moves most in each micro-batch."""
    seconds: float | None


MESHES = Answer(
    None,
    Field("micro_batches", count(1), "Number of micro-batches; amounts are added up over them."),
    Field("policy", TEXT, "The assignment policy, on each mesh."),
    GRANULARITY_FIELD,
    Field("cost", literal(COSTS), "What encoding an item is taken to cost."),
    LINK_FIELD,
    Field(
        "meshes",
        list_of(
            Answer(
                None,
                Field("mesh", TEXT, "As --mesh takes it."),
                Field("ranks", count(1), "Of the mesh."),
                Field("largest_load", count(0), "Of the busiest producer of each micro-batch, in the cost."),
                Field("mean_load", AMOUNT, "Of all producers, in the cost."),
                Field("times_mean", AMOUNT, "The largest load over the mean."),
                Field("idle_producers", count(0), "Producers that encode nothing, at the most."),
                Field("bytes_leaving", count(0), "Bytes that leave their rank."),
                Field("busiest_rank_bytes", count(0), "Bytes that the busiest rank sends or receives."),
                Field("seconds", AMOUNT, "Estimated time."),
                optional=("seconds",),
            )
        ),
        "Each mesh, in the order in which they were asked for.",
    ),
)
"""What `hpplan route` answers where --mesh is given several times."""


@dataclass(frozen=True)
class Meshes:
    """Statistics of the same micro-batches on several meshes, with one policy."""

    statistics: tuple[Statistics, ...]
    policy: str

    @property
    def first(self) -> Statistics:
        """Those of the first mesh; micro-batches, granularity, cost and link are the same in all."""
        return self.statistics[0]

    @property
    def warnings(self) -> list[Diagnostic]:
        """The first of each code, of whichever mesh."""
        found = [warning for one in self.statistics for warning in one.warnings]
        return list({warning.code: warning for warning in reversed(found)}.values())[::-1]

    @property
    def sums(self) -> list[OnMesh]:
        """What each mesh comes to."""
        return [_added_up(one) for one in self.statistics]

    def to_data(self) -> dict[str, Any]:
        """Return the meshes as a document."""
        meshes = [
            {name: value for name, value in one._asdict().items() if value is not None} for one in self.sums
        ]
        return MESHES.of(self.first, policy=self.policy, meshes=meshes)


def compare_meshes(
    meshes: Sequence[Mesh],
    workloads: Sequence[Workload],
    granularity: Granularity = "record",
    assign: str = DEFAULT_POLICY,
    *,
    link: Link | Cluster | None = None,
    cost: Cost = "rows",
    load_factor: float = LOAD_FACTOR,
    name: str = "",
    progress: Callable[[], object] | None = None,
) -> Meshes:
    """Route every micro-batch on each mesh; `assign` fills the buckets, also where workloads bring some.

    Raises InvalidInput with everything in which a workload does not fit any of
    the meshes, and what `statistics` raises.
    """
    free = [without_buckets(workload) for workload in workloads]
    found: list[Statistics] = []
    failures = Failures()
    for mesh in meshes:
        with failures:
            found.append(
                statistics(
                    mesh,
                    free,
                    granularity,
                    link=link,
                    cost=cost,
                    load_factor=load_factor,
                    only=assign,
                    name=name,
                    progress=progress,
                )
            )
    failures.settle()
    return Meshes(tuple(found), assign)


def _added_up(found: Statistics) -> OnMesh:
    one = found.running
    seconds = one.values.get("seconds")
    return OnMesh(
        str(found.mesh),
        found.mesh.world_size,
        one.largest,
        one.mean,
        one.times_mean,
        int(max(one.values["idle_producers"])),
        int(sum(one.values["bytes_leaving"])),
        int(sum(one.values["busiest_rank_bytes"])),
        None if seconds is None else sum(seconds),
    )
