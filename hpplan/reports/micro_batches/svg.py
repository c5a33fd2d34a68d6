"""Load over micro-batches as charts in SVG: the busiest producer, how far above the mean, and who idles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route import plot as route_plot
from hpplan.reports.route.balance import loads_of, sorted_curve
from hpplan.reports.route.markup import escape
from hpplan.reports.route.palette import SCHEMES
from hpplan.reports.route.plot import HEIGHT, MOST_COLUMNS, Column, numbered, plot
from hpplan.reports.terminal.quantities import duration, size
from hpplan.reports.terminal.quantities import load as spell_load

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Found, Statistics

_WIDTH = 900
_TITLE_HEIGHT = 24
_GUTTER = 42
"""Pixels for the labels beside a chart."""


_STYLE = ".title { font: 600 13px system-ui, sans-serif; fill: var(--ink); }\n"


class Chart(NamedTuple):
    """A chart, and what stands above it."""

    name: str
    caption: str
    label: str
    columns: list[Column]
    ticks: list[tuple[float, str]]
    most: float
    """What its scale goes to."""
    line: float | None = None
    """Drawn across all of it."""

    def drawn(self, box: str = 'width="100%"') -> str:
        """Return it as SVG."""
        return plot(self.label, self.columns, self.ticks, self.most, box, self.line)


def render(found: Statistics) -> str:
    """Return the charts below each other, as an SVG document that follows light and dark."""
    return _stacked(charts(found), f"Load over micro-batches on {found.mesh}")


def render_meshes(found: Meshes) -> str:
    """Return the loads on each mesh below each other, on one scale."""
    return _stacked(charts_of_meshes(found), "Load over micro-batches on several meshes")


def _stacked(drawn: list[Chart], title: str) -> str:
    parts = []
    for number, chart in enumerate(drawn):
        top = number * (HEIGHT + _TITLE_HEIGHT + 12)
        box = f'x="{_GUTTER}" y="{top + _TITLE_HEIGHT}" width="{_WIDTH - 2 * _GUTTER}"'
        body = chart.drawn(box)
        parts.append(f'<text class="title" x="2" y="{top + 16}">{escape(chart.name)}</text>\n{body}')
    tall = len(parts) * (HEIGHT + _TITLE_HEIGHT + 12)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{tall}">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>\n{SCHEMES}{route_plot.STYLE}{_STYLE}"
        f'</style>\n<rect width="100%" height="100%" fill="var(--page)"/>\n{"".join(parts)}</svg>\n'
    )


def charts(found: Statistics) -> list[Chart]:
    """Draw the way that runs, micro-batch by micro-batch."""
    one = found.running
    idle = one.values["idle_producers"]

    def imbalance(at: int) -> Column:
        times = one.values["encode_imbalance"][at]
        return Column(times, f"micro-batch {at}: {times:.2f} times the mean")

    def idling(at: int) -> Column:
        return Column(idle[at], f"micro-batch {at}: {idle[at]:,} producers encode nothing")

    def moving(at: int) -> Column:
        moved = one.values["busiest_rank_bytes"][at]
        time = f", {duration(one.values['seconds'][at])}" if "seconds" in one.values else ""
        return Column(moved, f"micro-batch {at}: {size(moved)}{time}")

    return [
        load_chart(found),
        _chart("Busiest producer over the mean", "1 is balanced.", one, imbalance),
        _chart("Producers that encode nothing", "", one, idling),
        _chart("Bytes that the busiest rank sends or receives", "", one, moving),
    ]


def charts_of_meshes(found: Meshes) -> list[Chart]:
    """Draw the load on each mesh, all on one scale: over micro-batches, or over the producers of one."""
    draw = load_chart if found.first.micro_batches > 1 else _one_load_chart
    drawn = [draw(one, f" on {one.mesh}") for one in found.statistics]
    return [chart._replace(most=max(one.most for one in drawn)) for chart in drawn]


def load_chart(found: Statistics, where: str = "") -> Chart:
    """Draw the load of the busiest producer of each micro-batch, with the mean and the bound."""
    one = found.running

    def load(at: int) -> Column:
        own = one.loads[at]
        hover = (
            f"micro-batch {at}: rank {own.rank} encodes {spell_load(own.largest, found.cost)}, "
            f"mean {own.mean:,.1f}, bound {own.bound:,}"
        )
        return Column(own.largest, hover, own.mean, own.bound)

    caption = "Across a bar a line is the mean of all producers, a dashed one the least the busiest can have."
    return _chart(f"Load of the busiest producer{where}, in {found.cost}", caption, one, load)


def _one_load_chart(found: Statistics, where: str) -> Chart:
    """Draw the load of each producer of the first micro-batch, the most first."""
    parents = found.table(found.running.way, 0).parents
    producers = [load for own in loads_of(parents, found.cost) for load in own]
    curve = sorted_curve(producers, found.cost, "producer")
    name = f"Load of each producer{where}, in {found.cost}"
    return Chart(name, f"The most first; the line is the mean, {curve.mean:,.1f}.", *curve)


def _chart(name: str, caption: str, one: Found, column: Callable[[int], Column]) -> Chart:
    number = len(one.loads)
    together = -(-number // MOST_COLUMNS)
    columns = []
    for first in range(0, number, together):
        own = range(first, min(first + together, number))
        worst = max((column(at) for at in own), key=lambda found: found.value)
        columns.append(worst._replace(width=len(own)))
    if together > 1:
        caption += f" Each bar is the worst of {together} micro-batches."
    label = f"{name}, by micro-batch: at the most {max(one.value for one in columns):,.4g}"
    return Chart(name, caption.strip(), label, columns, numbered(number), max(one.top for one in columns))
