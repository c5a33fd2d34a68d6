"""Inputs of the commands that need routes: a workload, a plan or a routing table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.inputs import only_one_standard_input

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.cli.routing_options import RouteOptions
    from hpplan.diagnostics import Diagnostic, Place
    from hpplan.documents.reader import Document
    from hpplan.routing.cluster import Cluster
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
    """What became of buckets, or of --assign where the one workload has some."""
    warnings: tuple[Diagnostic, ...] = ()
    """In what --mesh contradicts the plan."""


def read_route_input(
    output: Output, path: str, options: RouteOptions, *, preview: bool = False
) -> RouteInput:
    """Read INPUT: a workload, a plan with `feature_exchange`, or a routing table.

    For a `preview` the workloads of many micro-batches are read as they are, where otherwise one of them
    has to be picked, and buckets that were filled for another mesh than that of --mesh are filled anew.

    Raises InvalidInput, UnusableRequest, or a usage error that says what to type.
    """
    from hpplan.api.routes import load_routes
    from hpplan.documents.reader import read_document
    from hpplan.validation.kinds import take

    only_one_standard_input((path, options.workload_file))
    document = read_document(path, output.sources)
    kind = take(document, f"hpplan {_command()}", "workload", "plan", "routes")
    if kind == "routes":
        if planned := options.given():
            raise click.UsageError(
                f"{path} is a routing table, which is planned already; leave out {planned[0]}"
            )
        table = load_routes(document)
        return RouteInput(table.mesh, table.workload, table)
    settings = output.configurations.settings(path)
    if kind == "plan":
        output.configurations.check([path])
        given = _of_plan(output, path, document, options.over(settings), preview=preview)
        warnings = () if options.mesh_text is None else _of_another_mesh(document, given.mesh)
        return replace(given, warnings=warnings)
    if options.workload_file is not None:
        raise click.UsageError(f"{path} is a workload itself; leave out --workload, or give a plan as INPUT")
    options = options.over(settings._replace(workload=None))
    if options.mesh_text is None:
        raise click.UsageError(
            f"a workload does not say on which mesh it runs; add {MESH_EXAMPLE} with the sizes of the job"
        )
    return _read(output, document, options, (document.data, document.place), preview=preview)


def read_routes(output: Output, path: str, options: RouteOptions) -> RoutingTable:
    """Read INPUT and plan its routes, unless it is a routing table."""
    given = read_route_input(output, path, options)
    return given.table or options.plan(given.mesh, given.workload)


def read_links(output: Output, path: str, *, told: bool = True) -> Cluster:
    """Read links.yaml, and warn, where that is `told`, of what it says in vain."""
    from hpplan.api.routes import load_links
    from hpplan.cli.inputs import note_warnings
    from hpplan.documents.reader import read_document
    from hpplan.validation.kinds import take

    document = read_document(path, output.sources)
    take(document, "--links", "links")
    cluster = load_links(document)
    if told:
        note_warnings(output, cluster.warnings)
    return cluster


def routes_of_plan(output: Output, path: str, document: Document, options: RouteOptions) -> RoutingTable:
    """Plan the routes of a plan's workload."""
    given = _of_plan(output, path, document, options, preview=False)
    if given.note:
        output.note(given.note)
    return options.plan(given.mesh, given.workload)


def _command() -> str | None:
    return click.get_current_context().info_name


def _of_plan(
    output: Output, path: str, document: Document, options: RouteOptions, *, preview: bool
) -> RouteInput:
    from hpplan.api.routes import exchange_of_plan

    exchange = None
    if options.workload_file is None:
        exchange = exchange_of_plan(document, f"type `hpplan {_command()} {path} --workload FILE`")
    if options.mesh_text is None and "parallel_dims" not in document.data:
        raise click.UsageError(f"the plan has no parallel_dims to take the mesh from; add {MESH_EXAMPLE}")
    return _read(output, document, options, exchange, preview=preview)


def _read(
    output: Output,
    document: Document,
    options: RouteOptions,
    exchange: tuple[Any, Place] | None,
    *,
    preview: bool,
) -> RouteInput:
    """Read mesh and workloads, those of `exchange` or of a file, and report what is wrong with either."""
    from hpplan.api.routes import mesh_of_plan
    from hpplan.documents.reader import read_document
    from hpplan.errors import Failures
    from hpplan.plan.model import Plan
    from hpplan.routing.mesh import parse_mesh
    from hpplan.validation.kinds import take
    from hpplan.workload.micro_batches import FIELD, load_workloads

    failures = Failures()
    with failures:
        if options.mesh_text is None:
            mesh = mesh_of_plan(Plan(document.data, document.place))
        else:
            mesh = parse_mesh(options.mesh_text)
    with failures:
        if exchange is None:
            own = read_document(str(options.workload_file), output.sources)
            take(own, "--workload", "workload")
            exchange = own.data, own.place
        workloads = load_workloads(*exchange, options.micro_batch)
        picked = options.micro_batch is not None and len(exchange[0].get(FIELD, ())) > 1
    failures.settle()
    workloads = tuple(
        workload.with_sequence(cp_layout=options.cp_layout, pad=options.pad or None).with_pool(options.pool)
        for workload in workloads
    )
    note = ""
    if preview and options.mesh_text is not None:
        workloads, note = _refilled(workloads, mesh, options)
    if preview and len(workloads) > 1:
        return RouteInput(mesh, workloads[0], micro_batches=workloads, note=note)
    if len(workloads) > 1:
        raise click.UsageError(
            f"the input has {len(workloads)} micro-batches; "
            f"pick one with --micro-batch K, from 0 to {len(workloads) - 1}"
        )
    workload, beside = _assignable(workloads[0], options, picked=picked)
    return RouteInput(mesh, workload, note=note or beside)


def _refilled(
    workloads: tuple[Workload, ...], mesh: Mesh, options: RouteOptions
) -> tuple[tuple[Workload, ...], str]:
    """Return workloads without buckets where those are for another number of producers, and say so."""
    from hpplan.routing.assignment import DEFAULT_POLICY
    from hpplan.routing.fit import as_many_buckets
    from hpplan.routing.statistics import without_buckets

    if all(as_many_buckets(mesh, workload) for workload in workloads):
        return workloads, ""
    return tuple(map(without_buckets, workloads)), (
        f"Note: the buckets in {workloads[0].place.document} are for another mesh than {mesh}; "
        f"--assign {options.assign or DEFAULT_POLICY} fills them anew."
    )


def _of_another_mesh(document: Document, mesh: Mesh) -> tuple[Diagnostic, ...]:
    """Return warnings about a mesh that a plan is not for: its workload may be looked at on any."""
    from hpplan.plan.model import Plan, check_plan
    from hpplan.routing.agreeing_plan import check_mesh

    # Nothing else of the plan is read, and a plan of a million entries takes long to check.
    said = {
        name: document.data[name] for name in ("mesh_dim_names", "parallel_dims") if name in document.data
    }
    plan = Plan({"param_plan": {}, "boundary_classes": {}, **said}, document.place)
    if any(check_plan(plan.data, plan.place)):
        return ()
    return tuple(replace(item, severity="warning") for item in check_mesh(plan, mesh))


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
