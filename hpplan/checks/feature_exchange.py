"""The workload that a plan carries under `feature_exchange`; the codes are those of workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.errors import InvalidInput
from hpplan.inspection.subject import Subject
from hpplan.routing.fit import check_fit, check_fitted, fit
from hpplan.routing.mesh import Mesh, mesh_of_plan
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.traffic_warnings import check_traffic
from hpplan.workload.codes import CODES as WORKLOAD_CODES
from hpplan.workload.micro_batches import has_micro_batches, read_micro_batches
from hpplan.workload.workload import Reading, Workload, read_workload

CODES: tuple[Code, ...] = WORKLOAD_CODES
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield what is wrong with the plan's workload, alone and on the mesh."""
    plan = subject.plan
    if "feature_exchange" in plan.data:
        place = plan.place.at("feature_exchange")
        yield from check_workload(plan.data["feature_exchange"], place, _mesh(subject))


def check_workload(data: Mapping[str, Any], place: Place, mesh: Mesh | None) -> Iterator[Diagnostic]:
    """Yield what is wrong with a workload, or with those of many micro-batches.

    Without a mesh, that is what any mesh would find wrong.
    """
    if isinstance(data, dict) and has_micro_batches(data):
        beside, readings = read_micro_batches(data, place)
        yield from beside
    else:
        readings = [read_workload(data, place)]
    for reading in readings:
        yield from reading.problems
        yield from reading.warnings
        if mesh is not None and reading.workload is not None:
            yield from _check_fit(reading.workload, reading, mesh)


def _check_fit(workload: Workload, reading: Reading, mesh: Mesh) -> Iterator[Diagnostic]:
    problems = list(check_fit(mesh, workload, reading.broken))
    yield from problems
    if problems or reading.problems:
        return
    yield from check_fitted(mesh, workload, fit(mesh, workload))
    # Without buckets the traffic depends on how `hpplan route` is asked to assign, and that tells of it.
    if all(batch.buckets is not None for batch in workload.batches):
        yield from check_traffic(Traffic(plan_routes(mesh, workload)))


def _mesh(subject: Subject) -> Mesh | None:
    plan = subject.plan
    if subject.mesh is not None or "parallel_dims" not in plan.data:
        return subject.mesh
    try:
        return mesh_of_plan(plan.data["parallel_dims"], plan.place.at("parallel_dims"))
    except InvalidInput:
        return None  # reported where `parallel_dims` is checked
