"""`hpplan route`: who sends which rows to whom, what it costs, and whether it is balanced."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from hpplan.cli.inputs import note_warnings, refuse_overwriting
from hpplan.cli.names import ROUTE_FORMAT
from hpplan.cli.options import INPUT, Command, output_option
from hpplan.cli.route_inputs import read_links, read_route_input
from hpplan.cli.routing_options import NumberOrAll, RouteOptions, preview_options

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.cli.route_inputs import RouteInput
    from hpplan.reports.route.formats import RouteFormat
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.comparison import Links
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.statistics import Statistics


class _Options(NamedTuple):
    rank: int | Literal["all"] | None
    links: str | None
    bandwidth: float | None
    latency: float | None
    ranks_per_node: int | None
    node_bandwidth: float | None
    comparing: bool
    format_name: str | None
    export: str | None
    output_file: str | None

    @property
    def whole_table(self) -> bool:
        return self.rank is None and self.export is None and not self.comparing


@click.command("route", cls=Command, short_help="Compute and preview the feature-exchange routing table.")
@click.argument("path", type=INPUT, metavar="INPUT")
@preview_options
@click.option(
    "--rank",
    type=NumberOrAll("rank", 0),
    metavar="R",
    help="Show what one global rank does: what it sends, receives and hands over, and where received rows "
    "belong; all: what each does.",
)
@click.option(
    "--links",
    type=INPUT,
    metavar="FILE",
    help="What the ranks are connected with, as `hpplan exec --calibrate` measures it: times are predicted "
    "forward and backward, and changes priced in seconds.",
)
@click.option(
    "--bandwidth", type=float, metavar="GB/S", help="Of a rank's link, in 10^9 bytes/s, for a time estimate."
)
@click.option("--latency", type=float, metavar="US", help="Of the link, in microseconds. Default: 0.")
@click.option(
    "--ranks-per-node", type=click.IntRange(min=1), metavar="N", help="Fold large matrices to nodes."
)
@click.option(
    "--node-bandwidth",
    type=float,
    metavar="GB/S",
    help="Of a rank's link to ranks of its own node, for --compare. What stays in the node and what leaves "
    "it move one after the other: their times add up. Default: that of --bandwidth.",
)
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="Show the ways to move the features side by side, and which of them to take.",
)
@click.option(
    "--format",
    "format_name",
    type=ROUTE_FORMAT,
    help="html is a page, and svg its heat map. Default: by the name of FILE, else table.",
)
@click.option(
    "--export",
    type=click.Choice(["nccl-matrix", "param"]),
    help="Write the byte matrix of nccl-tests' alltoallv_perf, or PARAM traces, instead. PARAM reads one "
    "trace a rank: give --rank, or a folder with -o.",
)
@output_option()
@click.pass_obj
def command(output: Output, /, path: str, meshes: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - fields of _Options and RouteOptions
    """Preview the exchange of INPUT on a mesh: a workload, a plan with feature_exchange, or a routing table.

    A plan's parallel_dims are its mesh; a workload needs --mesh. Warnings go
    to standard error, and do not change the exit status. Of an INPUT with many
    micro-batches, statistics are shown for each assignment policy, or for that of
    --assign, and the worst of them; --micro-batch K routes one of them. --export,
    --rank and --compare need a single micro-batch. Several --mesh stand side by
    side, with buckets filled anew for each.
    """
    from hpplan.reports.route.formats import format_of

    asked = _Options(**{name: options.pop(name) for name in _Options._fields})
    chosen = format_of(asked.format_name, asked.output_file)
    if asked.export is not None and asked.format_name is not None:
        raise click.UsageError("--export has a format of its own; leave out --format")
    links = _links(output, asked)
    routing = RouteOptions(next(iter(meshes), None), **options)
    inputs = (path, routing.workload_file, asked.links)
    refuse_overwriting([asked.output_file], inputs)
    given = read_route_input(output, path, routing, preview=True)
    note_warnings(output, given.warnings)
    _check_links(links, chosen, asked, several=_several(given, meshes))
    screen = output.screen(asked.output_file)
    name = "standard input" if path == "-" else path
    if len(meshes) > 1:
        _check_shown(asked, "mesh; give one")
        compared = _meshes(output, given, meshes, routing, links, name)
        note_warnings(output, compared.warnings)
        output.write(asked.output_file, chosen.meshes(compared, screen))
        return
    if given.note:
        output.note(given.note)
    if given.micro_batches:
        _check_shown(asked, "micro-batch; pick it with --micro-batch K")
        statistics = _statistics(output, given, routing, links, name)
        note_warnings(output, statistics.warnings)
        output.write(asked.output_file, chosen.statistics(statistics, screen))
        return
    view = _view(output, given, routing, links, asked, chosen, name=name)
    world = view.table.mesh.world_size
    if isinstance(asked.rank, int) and asked.rank >= world:
        raise click.BadParameter(f"the mesh has ranks 0 to {world - 1}.", param_hint="'--rank'")
    if asked.export is None:
        output.write(asked.output_file, _text(view, links, chosen, asked, screen))
        return
    if asked.comparing:
        raise click.UsageError("--export writes one table; leave out --compare")
    _export(output, view.table, asked, inputs)


def _text(view: RouteView, links: Links, chosen: RouteFormat, asked: _Options, screen: Screen) -> str:
    """Return the table, a rank's part of it or every rank's, or the ways to move its features."""
    if asked.comparing:
        if asked.rank is not None:
            raise click.UsageError("--compare is about all ranks; leave out --rank")
        return _ways(view, links, chosen.name, screen)
    if asked.rank is None:
        return chosen.table(view, screen)
    if not chosen.by_rank:
        raise click.UsageError(f"--format {chosen.name} shows all ranks; leave out --rank")
    return chosen.rank(view, None if asked.rank == "all" else asked.rank, screen)


def _ways(view: RouteView, links: Links, format_name: str, screen: Screen) -> str:
    """Return the ways to move the features side by side."""
    from hpplan.api.documents import document_text
    from hpplan.reports.route.compare import render
    from hpplan.routing.comparison import compare_ways

    ways = compare_ways(view.table, links)
    if format_name == "table":
        return render(ways, screen)
    if format_name not in {"json", "yaml"}:
        raise click.UsageError(
            f"--format {format_name} does not show ways side by side; take table, json or yaml"
        )
    return document_text(ways.to_data(), "json" if format_name == "json" else "yaml")


def _view(
    output: Output,
    given: RouteInput,
    routing: RouteOptions,
    links: Links,
    asked: _Options,
    chosen: RouteFormat,
    *,
    name: str,
) -> RouteView:
    """Plan the routes, and say on standard error what they give cause to warn of."""
    table = given.table or routing.plan(given.mesh, given.workload, links.ranks_per_node)
    view = routing.view(
        table,
        planned=given.table is None,
        link=links.link,
        ranks_per_node=links.ranks_per_node,
        name=name,
    )
    # The table itself lists the warnings: on one terminal, once is enough.
    listed = asked.whole_table and chosen.name == "table" and asked.output_file in {None, "-"}
    if not (listed and sys.stdout.isatty() and sys.stderr.isatty()):
        note_warnings(output, view.warnings)
    return view


def _meshes(
    output: Output,
    given: RouteInput,
    specs: tuple[str, ...],
    routing: RouteOptions,
    links: Links,
    name: str,
) -> Meshes:
    """Route every micro-batch on every mesh and sum up."""
    from hpplan.errors import Failures
    from hpplan.reports.terminal.progress import progress_bar
    from hpplan.routing.assignment import DEFAULT_POLICY
    from hpplan.routing.assignment.base import LOAD_FACTOR
    from hpplan.routing.mesh import parse_mesh
    from hpplan.routing.meshes import compare_meshes

    routing.check_load_factor()
    meshes = [given.mesh]
    failures = Failures()
    for spec in specs[1:]:
        with failures:
            meshes.append(parse_mesh(spec))
    failures.settle()
    workloads = given.micro_batches or (given.workload,)
    policy = routing.assign or DEFAULT_POLICY
    if given.note or any(batch.buckets is not None for one in workloads for batch in one.batches):
        output.note(f"Note: buckets in the input are left aside; --assign {policy} fills them for each mesh.")
    color = output.use_color(sys.stderr)
    with progress_bar("routing micro-batches", len(workloads) * len(meshes), color=color) as bar:
        return compare_meshes(
            meshes,
            workloads,
            routing.granularity or "record",
            policy,
            link=links.link,
            cost=routing.cost or "rows",
            load_factor=routing.load_factor or LOAD_FACTOR,
            name=name,
            progress=bar.advance,
        )


def _statistics(
    output: Output, given: RouteInput, routing: RouteOptions, links: Links, name: str
) -> Statistics:
    """Route every micro-batch under every policy and sum up."""
    from hpplan.reports.terminal.progress import progress_bar
    from hpplan.routing.assignment.base import LOAD_FACTOR
    from hpplan.routing.statistics import statistics

    if routing.assign is not None:
        routing.check_load_factor()
    color = output.use_color(sys.stderr)
    with progress_bar("routing micro-batches", len(given.micro_batches), color=color) as bar:
        return statistics(
            given.mesh,
            given.micro_batches,
            routing.granularity or "record",
            link=links.link,
            cost=routing.cost or "rows",
            load_factor=routing.load_factor or LOAD_FACTOR,
            only=routing.assign,
            name=name,
            progress=bar.advance,
        )


def _check_shown(asked: _Options, what: str) -> None:
    """Refuse options that show one of what there are several of."""
    shown = {
        "--rank": asked.rank is not None,
        "--export": asked.export is not None,
        "--compare": asked.comparing,
    }
    for option, is_given in shown.items():
        if is_given:
            raise click.UsageError(f"{option} shows one {what}")


def _several(given: RouteInput, meshes: tuple[str, ...]) -> str:
    if len(meshes) > 1:
        return "several meshes"
    return "statistics over micro-batches" if given.micro_batches else ""


def _check_links(links: Links, chosen: RouteFormat, asked: _Options, *, several: str) -> None:
    """Refuse options about links and nodes that what is shown does not depend on.

    `several` says what is shown of more than one mesh or micro-batch; empty for one of each.
    """
    if asked.comparing:
        return
    what, timed, by_node = f"--format {chosen.name}", chosen.timed, chosen.by_node
    if not asked.whole_table:
        what, timed, by_node = "--rank" if asked.export is None else "--export", False, False
    elif several:
        what, timed, by_node = several, True, False
    if links.node_bandwidth is not None:
        raise click.UsageError("--node-bandwidth is for --compare; add that, or leave out --node-bandwidth")
    if links.link is not None and not timed:
        option = "--bandwidth" if asked.links is None else "--links"
        raise click.UsageError(f"{option} is not for {what}; leave it out")
    if asked.ranks_per_node is not None and not by_node:
        raise click.UsageError(f"--ranks-per-node is not for {what}; leave it out")


def _links(output: Output, asked: _Options) -> Links:
    from hpplan.routing.comparison import Links
    from hpplan.routing.request import check_links
    from hpplan.routing.traffic import Link

    if asked.links is not None:
        for name in ("bandwidth", "latency", "ranks_per_node", "node_bandwidth"):
            if getattr(asked, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"--links says all about links and nodes; leave out {option}")
        cluster = read_links(output, asked.links)
        return Links(cluster, cluster.ranks_per_node)
    bandwidth, latency = asked.bandwidth, asked.latency
    if asked.node_bandwidth is not None and (bandwidth is None or asked.ranks_per_node is None):
        raise click.UsageError("--node-bandwidth needs --bandwidth and --ranks-per-node")
    if bandwidth is None and latency is not None:
        raise click.UsageError("--latency alone gives no time; add --bandwidth")
    check_links(bandwidth, latency, asked.node_bandwidth)
    link = None if bandwidth is None else Link(bandwidth, latency or 0.0)
    return Links(link, asked.ranks_per_node, asked.node_bandwidth)


def _export(output: Output, table: RoutingTable, asked: _Options, read: tuple[str | None, ...]) -> None:
    from hpplan.reports.route import nccl, param

    rank, target = asked.rank, asked.output_file
    if asked.export == "nccl-matrix":
        if rank is not None:
            raise click.UsageError("the nccl-tests matrix has all ranks; leave out --rank")
        output.write(target, nccl.render(table))
    elif isinstance(rank, int):
        output.write(target, param.render(table, rank))
    elif target is None or target == "-":
        raise click.UsageError("PARAM reads one trace a rank: add --rank R, or -o FOLDER for all of them")
    else:
        param.check_size(table)
        traces = [os.path.join(target, f"{number}.json") for number in range(table.mesh.world_size)]  # noqa: PTH118 - as typed
        refuse_overwriting(traces, read, folder=target)
        texts = ((trace, param.render(table, number)) for number, trace in enumerate(traces))
        output.write_files(texts, target)
