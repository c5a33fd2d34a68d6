"""Inputs of the commands that need routes: a workload, a plan or a routing table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hpplan.cli.overwriting import only_one_standard_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.cli.output import Output
    from hpplan.cli.routing_options import RouteOptions
    from hpplan.diagnostics import Diagnostic, Place
    from hpplan.documents.reader import Document
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable
    from hpplan.workload.workload import Workload

MESH_EXAMPLE = "--mesh dp=2,cp=2,tp=4,sp"


@dataclass(frozen=True)
class RouteInput:
    """A mesh and a workload that were read, or a whole table."""

    mesh: Mesh
    workload: Workload
    table: RoutingTable | None = None
    micro_batches: tuple[Workload, ...] = ()
    """Where there are several and none was picked; `workload` is the first of them then."""
    note: str = ""
    """What became of --assign, where the one workload has buckets."""
    warnings: tuple[Diagnostic, ...] = ()
    """In what --mesh contradicts the plan."""


def read_route_input(
    output: Output, path: str, options: RouteOptions, *, several: bool = False
) -> RouteInput:
    """Read INPUT: a workload, a plan with `feature_exchange`, or a routing table.

    With `several` the workloads of many micro-batches are read as they are;
    otherwise one of them has to be picked.

    Raises InvalidInput, UnusableRequest, or a usage error that says what to type.
    """
    from hpplan.documents.reader import read_document
    from hpplan.routing.routes_document import load_routes
    from hpplan.validation.kinds import take

    only_one_standard_input((path, options.workload_file))
    document = read_document(path, output.sources)
    taker = f"hpplan {click.get_current_context().info_name}"
    kind = take(document, taker, "workload", "plan", "routes")
    if kind == "routes":
        given = options.given()
        if given:
            raise click.UsageError(
                f"{path} is a routing table, which is planned already; leave out {given[0]}"
            )
        table = load_routes(document)
        return RouteInput(table.mesh, table.workload, table)
    settings = output.configurations.settings(path)
    if kind == "plan":
        output.configurations.check([path])
        mesh, found = _of_plan(output, path, document, options.over(settings))
    else:
        options = replace(options, mesh_text=options.mesh_text or settings.mesh)
        mesh, found = _of_workload(path, document, options)
    warnings = _of_another_mesh(document, mesh) if kind == "plan" and options.mesh_text is not None else ()
    workloads = tuple(_with_options(workload, options) for workload in found.workloads)
    if len(workloads) > 1:
        if not several:
            raise _pick_one(len(workloads))
        return RouteInput(mesh, workloads[0], micro_batches=workloads, warnings=warnings)
    workload, note = _assignable(workloads[0], options, picked=found.picked)
    return RouteInput(mesh, workload, note=note, warnings=warnings)


def read_routes(output: Output, path: str, options: RouteOptions) -> RoutingTable:
    """Read INPUT and plan its routes, unless it is a routing table."""
    found = read_route_input(output, path, options)
    return found.table or options.plan(found.mesh, found.workload)


def routes_of_plan(output: Output, path: str, document: Document, options: RouteOptions) -> RoutingTable:
    """Plan the routes of a plan's workload."""
    mesh, found = _of_plan(output, path, document, options)
    if len(found.workloads) > 1:
        raise _pick_one(len(found.workloads))
    workload, note = _assignable(_with_options(found.workloads[0], options), options, picked=found.picked)
    if note:
        output.note(note)
    return options.plan(mesh, workload)


def _with_options(workload: Workload, options: RouteOptions) -> Workload:
    return workload.with_sequence(cp_layout=options.cp_layout, pad=options.pad or None)


def _assignable(workload: Workload, options: RouteOptions, *, picked: bool) -> tuple[Workload, str]:
    """Return what an explicit --assign leaves of a workload's buckets, and what to say about it.

    A micro-batch that was `picked` out of several is assigned anew, as it is
    for the statistics over all of them; otherwise buckets in the input count.
    """
    if options.assign is None or all(batch.buckets is None for batch in workload.batches):
        return workload, ""
    if picked:
        from hpplan.routing.statistics import without_buckets

        return without_buckets(workload), (
            f"Note: the micro-batch has buckets; --assign {options.assign} fills them anew. "
            "Leave it out to route the micro-batch as it is."
        )
    return workload, (
        f"Note: the buckets in {workload.place.document} count, and --assign {options.assign} does not; "
        "remove `buckets` there to have its items assigned anew."
    )


class _Found(NamedTuple):
    """The workloads of an input."""

    workloads: tuple[Workload, ...]
    picked: bool = False
    """Whether it is one out of several."""


def _of_workload(path: str, document: Document, options: RouteOptions) -> tuple[Mesh, _Found]:
    if options.workload_file is not None:
        raise click.UsageError(f"{path} is a workload itself; leave out --workload, or give a plan as INPUT")
    if options.mesh_text is None:
        raise click.UsageError(
            f"a workload does not say on which mesh it runs; add {MESH_EXAMPLE} with the sizes of the job"
        )
    return _both(
        lambda: _mesh_of_text(options.mesh_text or ""),
        lambda: _workloads(document.data, document.place, options),
    )


def _of_plan(output: Output, path: str, document: Document, options: RouteOptions) -> tuple[Mesh, _Found]:
    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.reader import read_document
    from hpplan.errors import InvalidInput
    from hpplan.validation.kinds import take
    from hpplan.workload.codes import MISSING_FEATURE_EXCHANGE

    def workloads() -> _Found:
        if options.workload_file is not None:
            own = read_document(options.workload_file, output.sources)
            take(own, "--workload", "workload")
            return _workloads(own.data, own.place, options)
        return _workloads(document.data["feature_exchange"], document.place.at("feature_exchange"), options)

    if options.workload_file is None and "feature_exchange" not in document.data:
        raise InvalidInput(
            [
                Diagnostic(
                    MISSING_FEATURE_EXCHANGE,
                    "the plan has no `feature_exchange`, so there is no workload to route",
                    document.place,
                    hint=f"type `hpplan {click.get_current_context().info_name} {path} --workload FILE`",
                )
            ]
        )
    if options.mesh_text is None and "parallel_dims" not in document.data:
        raise click.UsageError(f"the plan has no parallel_dims to take the mesh from; add {MESH_EXAMPLE}")
    return _both(lambda: _mesh_of_plan(document, options), workloads)


def _mesh_of_text(text: str) -> Mesh:
    from hpplan.routing.mesh import parse_mesh

    return parse_mesh(text)


def _mesh_of_plan(document: Document, options: RouteOptions) -> Mesh:
    from hpplan.routing.mesh import mesh_of_plan

    if options.mesh_text is not None:
        return _mesh_of_text(options.mesh_text)
    return mesh_of_plan(document.data["parallel_dims"], document.place.at("parallel_dims"))


def _of_another_mesh(document: Document, mesh: Mesh) -> tuple[Diagnostic, ...]:
    """Return warnings about a mesh that a plan is not for: its workload may be looked at on any."""
    from dataclasses import replace

    from hpplan.plan.model import Plan, check_plan
    from hpplan.routing.agreeing_plan import check_mesh

    # Nothing else of the plan is read, and a plan of a million entries takes long to check.
    said = {
        name: document.data[name] for name in ("mesh_dim_names", "parallel_dims") if name in document.data
    }
    plan = Plan({"param_plan": {}, "boundary_classes": {}, **said}, document.place)
    if any(check_plan(plan.data, plan.place)):
        return ()
    return tuple(replace(one, severity="warning") for one in check_mesh(plan, mesh))


def _workloads(data: Any, place: Place, options: RouteOptions) -> _Found:  # noqa: ANN401 - of a document
    """Return the workload of each micro-batch, or of the one that was picked."""
    from hpplan.errors import InvalidInput
    from hpplan.workload.micro_batches import (
        FIELD,
        check_beside,
        has_micro_batches,
        load_micro_batches,
        with_warnings,
    )
    from hpplan.workload.workload import load_workload

    picked = options.micro_batch
    if not isinstance(data, dict) or not has_micro_batches(data):
        if picked:
            raise click.BadParameter("the input has one micro-batch, 0.", param_hint="'--micro-batch'")
        return _Found((load_workload(data, place),))
    entries = data[FIELD]
    if picked is None or not isinstance(entries, list) or not entries:
        return _Found(load_micro_batches(data, place))
    if picked >= len(entries):
        raise click.BadParameter(
            f"the input has micro-batches 0 to {len(entries) - 1}.", param_hint="'--micro-batch'"
        )
    beside = list(check_beside(data, place))
    if any(one.level == "error" for one in beside):
        raise InvalidInput(beside)
    workload = load_workload(entries[picked], place.at(FIELD, picked))
    return _Found(with_warnings((workload,), beside), len(entries) > 1)


def _pick_one(count: int) -> click.UsageError:
    return click.UsageError(
        f"the input has {count} micro-batches; pick one with --micro-batch K, from 0 to {count - 1}"
    )


def _both(mesh: Callable[[], Mesh], workloads: Callable[[], _Found]) -> tuple[Mesh, _Found]:
    """Read mesh and workloads, and report what is wrong with either."""
    from hpplan.errors import Failures

    failures = Failures()
    with failures:
        found_mesh = mesh()
    with failures:
        found_workloads = workloads()
    failures.settle()
    return found_mesh, found_workloads
