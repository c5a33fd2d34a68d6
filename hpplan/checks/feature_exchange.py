"""The workload that a plan carries under `feature_exchange`; the codes are those of workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.errors import InvalidInput
from hpplan.routing.fit import check_owners, fit
from hpplan.routing.mesh import mesh_of_plan
from hpplan.routing.micro_batches import has_micro_batches, load_micro_batches
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.traffic_warnings import check_traffic
from hpplan.routing.workload import load_workload
from hpplan.routing.workload_codes import CODES as WORKLOAD_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from hpplan.checks.subject import Subject
    from hpplan.diagnostics import Code, Diagnostic, Place
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.workload import Workload

CODES: tuple[Code, ...] = WORKLOAD_CODES


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
    try:
        several = isinstance(data, dict) and has_micro_batches(data)
        workloads = load_micro_batches(data, place) if several else (load_workload(data, place),)
    except InvalidInput as failure:
        yield from failure.diagnostics
        return
    for workload in workloads:
        yield from _check_fit(workload, mesh)


def _check_fit(workload: Workload, mesh: Mesh | None) -> Iterator[Diagnostic]:
    yield from workload.warnings
    if mesh is None:
        return
    try:
        yield from check_owners(fit(mesh, workload), workload)
    except InvalidInput as failure:
        yield from failure.diagnostics
        return
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
