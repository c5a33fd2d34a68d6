"""What `hpplan route` shows instead of one table: ways compared, and statistics over micro-batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.cli.output import Output
    from hpplan.cli.route_inputs import RouteInput
    from hpplan.cli.routing_options import RouteOptions
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.comparison import Links

FORMATS = ("table", "json", "yaml")


def comparison_text(view: RouteView, links: Links, format_name: str, screen: Screen) -> str:
    """Compare the ways to move the features of a table."""
    from hpplan.reports.route.compare import render
    from hpplan.routing.comparison import compare_ways

    found = compare_ways(view.table, links)
    return _text(format_name, "ways side by side", found.to_data, lambda: render(found, screen))


def statistics_text(
    output: Output, found: RouteInput, options: RouteOptions, links: Links, format_name: str, screen: Screen
) -> str:
    """Route every micro-batch under every policy and sum up."""
    from hpplan.cli.inputs import note_warnings
    from hpplan.reports.route.statistics import render
    from hpplan.reports.terminal.progress import progress_bar
    from hpplan.routing.assignment.base import LOAD_FACTOR
    from hpplan.routing.statistics import statistics

    if options.assign is not None:
        options.check_load_factor()
    color = output.use_color(sys.stderr)
    with progress_bar("routing micro-batches", len(found.micro_batches), color=color) as bar:
        made = statistics(
            found.mesh,
            found.micro_batches,
            options.granularity or "record",
            link=links.link,
            cost=options.cost or "rows",
            load_factor=LOAD_FACTOR if options.load_factor is None else options.load_factor,
            only=options.assign,
            progress=bar.advance,
        )
    note_warnings(output, made.warnings, strict=False)
    return _text(format_name, "statistics over micro-batches", made.to_data, lambda: render(made, screen))


def _text(
    format_name: str, what: str, to_data: Callable[[], dict[str, Any]], render: Callable[[], str]
) -> str:
    if format_name == "table":
        return render()
    if format_name == "json":
        from hpplan.documents.writer import dump_json

        return dump_json(to_data())
    if format_name == "yaml":
        from hpplan.documents.writer import dump_yaml

        return dump_yaml(to_data())
    known = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    raise click.UsageError(f"--format {format_name} does not show {what}; take {known}")
