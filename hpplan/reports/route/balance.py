"""Who has how much: what each encodes, sends and receives, the most first, and parent by parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route.blocks import shown_parents
from hpplan.reports.route.markup import escape
from hpplan.reports.route.plot import MOST_COLUMNS, Column, grid, numbered, plot
from hpplan.reports.terminal.quantities import load as spell_load
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.reports.route.view import RouteView
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.routes import ParentRoutes


class Curve(NamedTuple):
    """Bars of amounts with a line at their mean."""

    label: str
    columns: list[Column]
    ticks: list[tuple[float, str]]
    most: float
    mean: float

    def drawn(self, most: float = 0.0) -> str:
        """Return it as SVG, on a scale that goes to `most` at least."""
        return plot(self.label, self.columns, self.ticks, max(self.most, most), line=self.mean)


def loads_of(parents: Sequence[ParentRoutes], cost: Cost) -> list[list[tuple[int, int]]]:
    """Return the load of each producer in the cost, and its global rank, parent by parent."""
    power = 2 if cost == "rows^2" else 1
    return [
        [
            (sum(item.rows**power for item in bucket), ranks[at * routes.encoder_cp_size])
            for at, bucket in enumerate(routes.buckets)
        ]
        for ranks, routes in parents
    ]


def sorted_curve(amounts: list[tuple[int, int]], cost: str, noun: str) -> Curve:
    """Return amounts, each with the rank that has it, the most first; `noun` is what has them."""
    ordered = sorted(amounts, key=lambda one: (-one[0], one[1]))
    number = len(ordered)
    together = -(-number // MOST_COLUMNS)
    columns = []
    for first in range(0, number, together):
        own = ordered[first : first + together]
        (most, rank), (least, _) = own[0], own[-1]
        which = f"{noun}s {first + 1:,} to {first + len(own):,} of {number:,}"
        hover = f"{which}: {most:,} to {spell_load(least, cost)}"
        if len(own) == 1:
            hover = f"rank {rank}, {noun} {first + 1:,} of {number:,}: {spell_load(most, cost)}"
        columns.append(Column(most, hover, width=len(own)))
    mean = sum(amount for amount, _ in ordered) / number
    label = f"{plural(number, noun)}: {spell_load(ordered[0][0], cost)} at the most, mean {mean:,.1f}"
    ticks = [(at / number, f"{at:,.0f}") for at in grid(number) if at == round(at)]
    return Curve(label, columns, ticks, ordered[0][0], mean)


def balance(view: RouteView) -> str:
    """Return the curves as HTML."""
    parents = shown_parents(view)
    loads = loads_of(parents, view.cost)
    shown = {rank for ranks, _ in parents for rank in ranks}
    ranks = [one for one in view.traffic.per_rank() if one.rank in shown]
    producers = [one for own in loads for one in own]
    curves = [
        ("What each producer encodes", sorted_curve(producers, view.cost, "producer"), "encode"),
        (
            "What each rank sends",
            sorted_curve([(one.sent, one.rank) for one in ranks], "rows", "rank"),
            "send",
        ),
        (
            "What each rank receives",
            sorted_curve([(one.received, one.rank) for one in ranks], "rows", "rank"),
            "receive",
        ),
    ]
    parts = [_how_to_read(len(ranks)), '<div class="beside curves">']
    parts += [
        _figure(f"{title}, {curve.label}", curve.drawn(), f"plot-{kind}") for title, curve, kind in curves
    ]
    parts.append("</div>")
    if len(parents) > 1:
        parts.append(_by_parent(loads, view.cost))
    return "\n".join(parts)


def _how_to_read(ranks: int) -> str:
    folded = ""
    if ranks > MOST_COLUMNS:
        folded = " Each bar is several of them side by side, as high as the first."
    return f"<p>The most first; the line is the mean.{folded}</p>"


def _figure(caption: str, drawing: str, kind: str = "") -> str:
    return f'<figure class="{kind}"><figcaption>{escape(caption)}</figcaption>\n{drawing}</figure>'


def _by_parent(loads: list[list[tuple[int, int]]], cost: str) -> str:
    """Return the busiest producer of each parent beside the mean of the mesh."""

    def column(at: int) -> Column:
        (most, rank), mean = max(loads[at]), sum(load for load, _ in loads[at]) / len(loads[at])
        return Column(
            most, f"parent {at}: rank {rank} encodes {spell_load(most, cost)}, mean {mean:,.1f}", mean
        )

    number = len(loads)
    together = -(-number // MOST_COLUMNS)
    columns = []
    for first in range(0, number, together):
        own = [column(at) for at in range(first, min(first + together, number))]
        columns.append(max(own, key=lambda one: one.value)._replace(width=len(own)))
    mean = sum(load for own in loads for load, _ in own) / sum(map(len, loads))
    caption = (
        f"The busiest producer of each of {number:,} parents, with the mean of its parent across it; "
        f"the line is the mean of the mesh, {spell_load(mean, cost)}."
    )
    if together > 1:
        caption += f" Each bar is the worst of {together} parents."
    most = max(one.value for one in columns)
    curve = Curve(f"{caption} At the most {most:,}", columns, numbered(number), most, mean)
    return _figure(caption, curve.drawn())
