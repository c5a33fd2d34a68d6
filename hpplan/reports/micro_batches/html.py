"""Statistics over micro-batches as one self-contained page, on which the worst have pages of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.micro_batches.facts import (
    HEADERS,
    best_meshes,
    counted,
    measures_of_meshes,
    setting_of,
    setting_of_meshes,
    side_by_side,
    verdict_of,
)
from hpplan.reports.micro_batches.svg import charts, charts_of_meshes
from hpplan.reports.route.html import document, sections, warnings_list
from hpplan.reports.route.markup import escape, facts_list, section, table
from hpplan.reports.route.view import RouteView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.diagnostics import Diagnostic
    from hpplan.reports.micro_batches.svg import Chart
    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Statistics

WORST = 4
"""Micro-batches that have pages of their own."""

_HEADERS = (*HEADERS[:-1], "at")
"""A phone has no room for more."""

_WORST_HEADERS = (
    "micro-batch",
    "busiest rank",
    "its load",
    "mean",
    "bound",
    "times the mean",
    "idle producers",
)


def render(found: Statistics) -> str:
    """Return the page."""
    number = counted(found.micro_batches)
    return document(f"feature exchange of {number} on {found.mesh}", found.name, "", _sections(found))


def render_meshes(found: Meshes) -> str:
    """Return a page with meshes side by side."""
    over = counted(found.first.micro_batches)
    title = f"feature exchange of {over} on {len(found.statistics)} meshes"
    return document(title, found.first.name, "", _of_meshes(found))


def _of_meshes(found: Meshes) -> Iterator[str]:
    yield section("best", "The least", facts_list(best_meshes(found)))
    yield section("setting", "What was routed", facts_list(setting_of_meshes(found)))
    heads, rows = measures_of_meshes(found)
    cells = ([escape(name), *numbers] for name, *numbers in rows)
    many = found.first.micro_batches
    said = f"<p>Amounts are added up over {counted(many)}.</p>\n" if many > 1 else ""
    yield section("meshes", "Meshes side by side", said + table("Meshes", heads, cells, kind="ways"))
    yield section("load", "Load, on one scale", _figures(charts_of_meshes(found)))
    yield from _warnings(found.warnings)


def _warnings(warnings: Sequence[Diagnostic]) -> Iterator[str]:
    if warnings:
        yield section("warnings", "Warnings", warnings_list(warnings))


def _sections(found: Statistics) -> Iterator[str]:
    one = found.running
    yield section("verdict", "In three lines", facts_list(verdict_of(found)))
    yield section("setting", "What was routed", facts_list(setting_of(found)))
    yield section("load", f"Load over micro-batches: {_policy(found)}", _figures(charts(found)))
    yield section("worst", "The worst", _worst(found))
    yield section("policies", "Policies side by side", _policies(found))
    yield from _warnings(found.warnings)
    for at in one.worst(WORST):
        view = RouteView(
            found.table(one.way, at),
            one.way.policy or "",
            found.link,
            found.ranks_per_node,
            cost=found.cost,
            load_factor=found.load_factor,
        )
        parts = "".join(sections(view, f"micro-batch-{at}-", level=3))
        back = '<p><a href="#worst">Back to all micro-batches</a></p>\n'
        yield section(f"micro-batch-{at}", f"Micro-batch {at}", back + parts)


def _policy(found: Statistics) -> str:
    policy = found.running.way.policy
    return "buckets as given" if policy is None else f"assigned by {found.running.way.name}"


def _figures(drawn: list[Chart]) -> str:
    return "".join(
        f"<figure><figcaption><b>{escape(chart.name)}</b> {escape(chart.caption)}</figcaption>\n"
        f"{chart.drawn()}</figure>\n"
        for chart in drawn
    )


def _policies(found: Statistics) -> str:
    parts = []
    for measure in found.measures:
        title, rows = side_by_side(found, measure)
        label = escape(title)
        parts.append(f"<figure><figcaption>{label}</figcaption>\n{table(label, _HEADERS, rows)}</figure>\n")
    said = "<p>Over the micro-batches; at: the first micro-batch with the worst.</p>\n"
    return f'{said}<div class="beside">\n{"".join(parts)}</div>'


def _worst(found: Statistics) -> str:
    one = found.running
    rows = []
    for at in one.worst(WORST):
        load = one.loads[at]
        rows.append(
            [
                f'<a href="#micro-batch-{at}">{at}</a>',
                f"{load.rank}",
                f"{load.largest:,}",
                f"{load.mean:,.1f}",
                f"{load.bound:,}",
                f"{one.values['encode_imbalance'][at]:.2f}",
                f"{one.values['idle_producers'][at]:,}",
            ]
        )
    said = (
        "<p>Those in which the busiest producer is furthest above the mean, as all wait for it. "
        "Each has its own part below; any other is shown by --micro-batch.</p>\n"
    )
    return said + table("The worst micro-batches", _WORST_HEADERS, rows, kind="ways")
