"""`hpplan route`: who sends which rows to whom, what it costs, and whether it is balanced."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from hpplan.cli.inputs import note_warnings
from hpplan.cli.names import ROUTE_FORMAT
from hpplan.cli.options import INPUT, PATH
from hpplan.cli.overwriting import refuse_overwriting
from hpplan.cli.route_inputs import read_route_input
from hpplan.cli.routing_options import RankOrAll, RouteOptions, routing_options

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.cli.route_inputs import RouteInput
    from hpplan.reports.route.formats import RouteFormat
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.comparison import Links
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.traffic import Link


_SLOWEST, _FASTEST = 1e-6, 1e6
"""GB/s; beyond them a time in seconds may be no number any more."""

_LONGEST = 1e9
"""Microseconds of latency."""


@click.command("route", short_help="Compute and preview the feature-exchange routing table.")
@click.argument("path", type=INPUT, metavar="INPUT")
@routing_options
@click.option(
    "--rank",
    type=RankOrAll(),
    metavar="R",
    help="Show what one global rank does: what it sends, receives and hands over, and where received rows "
    "belong; all: what each does.",
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
    metavar="F",
    help="table, json, yaml, csv, html (a page) or svg (its heat map). Default: by the name of FILE, "
    "else table.",
)
@click.option(
    "--export",
    type=click.Choice(["nccl-matrix", "param"]),
    help="Write the byte matrix of nccl-tests' alltoallv_perf, or PARAM traces, instead. PARAM reads one "
    "trace a rank: give --rank, or a folder with -o.",
)
@click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help="Write to FILE.")
@click.pass_obj
def command(
    output: Output,
    /,
    path: str,
    rank: int | Literal["all"] | None,
    bandwidth: float | None,
    latency: float | None,
    ranks_per_node: int | None,
    node_bandwidth: float | None,
    format_name: str | None,
    export: str | None,
    output_file: str | None,
    *,
    comparing: bool,
    **options: Any,  # noqa: ANN401 - the fields of RouteOptions
) -> int:
    """Preview the exchange of INPUT on a mesh: a workload, a plan with feature_exchange, or a routing table.

    A plan's parallel_dims are its mesh; a workload needs --mesh. Warnings go
    to standard error, and do not change the exit status. Of an INPUT with many
    micro-batches, statistics are shown for each assignment policy, or for that of
    --assign, as table, json or yaml; --micro-batch K routes one of them. --format
    csv, html or svg, --export, --rank and --compare need a single micro-batch.
    """
    from hpplan.reports.route.formats import format_of

    chosen = format_of(format_name, output_file)
    if export is not None and format_name is not None:
        raise click.UsageError("--export has a format of its own; leave out --format")
    links = _links(bandwidth, latency, ranks_per_node, node_bandwidth)
    routing = RouteOptions(**options)
    refuse_overwriting([output_file], (path, routing.workload_file))
    found = read_route_input(output, path, routing, several=True)
    note_warnings(output, found.warnings, strict=False)
    if not comparing:
        _check_links(links, chosen, rank, export, several=bool(found.micro_batches))
    screen = output.screen(output_file)
    if found.micro_batches:
        _only_statistics({"--rank": rank is not None, "--export": export is not None, "--compare": comparing})
        from hpplan.cli.route_analyses import statistics_text

        output.write(output_file, statistics_text(output, found, routing, links, chosen.name, screen))
        return 0
    # The table itself lists the warnings: on one terminal, once is enough.
    whole = chosen.name == "table" and rank is None and export is None and not comparing
    shown = whole and output_file in {None, "-"} and sys.stdout.isatty() and sys.stderr.isatty()
    name = "standard input" if path == "-" else path
    view = _view(output, found, routing, links, name=name, shown=shown)
    world = view.table.mesh.world_size
    if isinstance(rank, int) and rank >= world:
        raise click.BadParameter(f"the mesh has ranks 0 to {world - 1}.", param_hint="'--rank'")
    if export is not None:
        if comparing:
            raise click.UsageError("--export writes one table; leave out --compare")
        _export(output, view.table, export, rank, output_file, (path, routing.workload_file))
        return 0
    output.write(output_file, _text(view, links, chosen, rank, screen, comparing=comparing))
    return 0


def _text(
    view: RouteView,
    links: Links,
    chosen: RouteFormat,
    rank: int | Literal["all"] | None,
    screen: Screen,
    *,
    comparing: bool,
) -> str:
    """Return the table, a rank's part of it or every rank's, or the ways to move its features."""
    if comparing:
        if rank is not None:
            raise click.UsageError("--compare is about all ranks; leave out --rank")
        from hpplan.cli.route_analyses import comparison_text

        return comparison_text(view, links, chosen.name, screen)
    if rank is None:
        return chosen.table(view, screen)
    if chosen.rank is None:
        raise click.UsageError(f"--format {chosen.name} shows all ranks; leave out --rank")
    return chosen.rank(view, None if rank == "all" else rank, screen)


def _view(
    output: Output, found: RouteInput, options: RouteOptions, links: Links, *, name: str, shown: bool
) -> RouteView:
    """Plan the routes, and say on standard error what they give cause to warn of, unless it is `shown`."""
    from hpplan.reports.route.view import RouteView

    table = found.table or options.plan(found.mesh, found.workload)
    if found.note:
        output.note(found.note)
    policy = options.assign or "lpt"
    given = found.table is not None or all(batch.buckets is not None for batch in table.workload.batches)
    view = RouteView(table, "" if given else policy, links.link, links.ranks_per_node, name)
    if not shown:
        note_warnings(output, view.warnings, strict=False)
    return view


def _only_statistics(given: dict[str, bool]) -> None:
    """Refuse options that show one micro-batch, where there are many."""
    for option, is_given in given.items():
        if is_given:
            raise click.UsageError(f"{option} shows one micro-batch; pick it with --micro-batch K")


def _check_links(
    links: Links,
    chosen: RouteFormat,
    rank: int | Literal["all"] | None,
    export: str | None,
    *,
    several: bool,
) -> None:
    """Refuse options about links and nodes that what is shown does not depend on."""
    what, timed, by_node = f"--format {chosen.name}", chosen.timed, chosen.by_node
    if rank is not None or export is not None:
        what, timed, by_node = "--rank" if export is None else "--export", False, False
    elif several:
        what, timed, by_node = "statistics over micro-batches", True, False
    if links.node_bandwidth is not None:
        raise click.UsageError("--node-bandwidth is for --compare; add that, or leave out --node-bandwidth")
    if links.link is not None and not timed:
        raise click.UsageError(f"--bandwidth is not for {what}; leave it out")
    if links.ranks_per_node is not None and not by_node:
        raise click.UsageError(f"--ranks-per-node is not for {what}; leave it out")


def _links(
    bandwidth: float | None, latency: float | None, ranks_per_node: int | None, node_bandwidth: float | None
) -> Links:
    from hpplan.routing.comparison import Links

    if node_bandwidth is not None:
        if bandwidth is None or ranks_per_node is None:
            raise click.UsageError("--node-bandwidth needs --bandwidth and --ranks-per-node")
        _check_bandwidth(node_bandwidth, "--node-bandwidth")
    return Links(_link(bandwidth, latency), ranks_per_node, node_bandwidth)


def _link(bandwidth: float | None, latency: float | None) -> Link | None:
    from hpplan.routing.traffic import Link

    if bandwidth is None:
        if latency is not None:
            raise click.UsageError("--latency alone gives no time; add --bandwidth")
        return None
    _check_bandwidth(bandwidth, "--bandwidth")
    if latency is not None and not 0 <= latency <= _LONGEST:
        raise click.BadParameter(
            f"{latency} is not a number of microseconds from 0 to {_LONGEST:g}.", param_hint="'--latency'"
        )
    return Link(bandwidth, latency or 0.0)


def _check_bandwidth(bandwidth: float, option: str) -> None:
    if not bandwidth > 0:
        raise click.BadParameter(f"{bandwidth} is not a positive number of GB/s.", param_hint=f"'{option}'")
    if not _SLOWEST <= bandwidth <= _FASTEST:
        raise click.BadParameter(
            f"{bandwidth} GB/s is no link's; take {_SLOWEST:g} to {_FASTEST:g}.", param_hint=f"'{option}'"
        )


def _export(
    output: Output,
    table: RoutingTable,
    export: str,
    rank: int | Literal["all"] | None,
    output_file: str | None,
    read: tuple[str | None, ...],
) -> None:
    from hpplan.reports.route import nccl as route_nccl
    from hpplan.reports.route import param as route_param

    if export == "nccl-matrix":
        if rank is not None:
            raise click.UsageError("the nccl-tests matrix has all ranks; leave out --rank")
        output.write(output_file, route_nccl.render(table))
    elif isinstance(rank, int):
        output.write(output_file, route_param.render(table, rank))
    elif output_file in {None, "-"}:
        raise click.UsageError("PARAM reads one trace a rank: add --rank R, or -o FOLDER for all of them")
    else:
        assert output_file is not None
        route_param.check_size(table)
        traces = [os.path.join(output_file, f"{one}.json") for one in range(table.mesh.world_size)]  # noqa: PTH118 - as typed
        refuse_overwriting(traces, read, folder=output_file)
        output.write_files(
            ((trace, route_param.render(table, one)) for one, trace in enumerate(traces)), output_file
        )
