"""The ways to move the features of a table, side by side, and the one to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.quantities import duration, size
from hpplan.reports.terminal.screen import stacked

if TYPE_CHECKING:
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.comparison import Comparison


def render(comparison: Comparison, screen: Screen) -> str:
    """Return the comparison for people: a line for each way, then what to take and why."""
    best = comparison.best
    headers, rows = measures_of(comparison)
    table = screen.table("Ways to move the features", headers, rows, range(1, len(headers)))
    meanings = screen.facts([(way.name, way.summary) for way in comparison.ways])
    take = screen.folded("", f"Take {best.name}: {comparison.reason}. {how_to_take(best.name)}")
    return stacked([table, meanings, take])


def measures_of(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return the names of what is measured, and the measures of each way, its name first."""
    nodes = comparison.links.ranks_per_node is not None
    headers = ["way", "collectives", "rows moved", "bytes moved", "busiest rank"]
    headers += ["rows between nodes"] * nodes + ["estimated time"] * (comparison.links.link is not None)
    rows = []
    for way in comparison.ways:
        row = [
            way.name,
            str(len(way.steps)),
            f"{way.rows:,}",
            size(way.rows * comparison.row_bytes),
            size(way.busiest_rows * comparison.row_bytes),
        ]
        row += [f"{way.rows_between_nodes:,}"] * nodes
        row += [duration(way.seconds)] if way.seconds is not None else []
        rows.append(row)
    return headers, rows


def how_to_take(name: str) -> str:
    """Say how a way is run."""
    return f"Run it with --granularity {name}."
