"""The routing table as one self-contained page: no network, no script, light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route import bars as route_bars
from hpplan.reports.route import ribbon as route_ribbon
from hpplan.reports.route import svg as route_svg
from hpplan.reports.route.facts import producer_of, setting_of, totals_of, verdict_of
from hpplan.reports.route.items import items_table
from hpplan.reports.route.style import STYLE
from hpplan.reports.terminal.markup import escape
from hpplan.reports.terminal.quantities import duration, share, short_count, size
from hpplan.routing.comparison import Links, compare_ways, leaves_out, records_needed
from hpplan.version import __version__
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.reports.route.svg import HeatMap
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.comparison import Comparison

MOST_TABLE_BLOCKS = 32
"""Blocks up to which the heat map is repeated in numbers, as a square."""

MOST_PAIRS = 500
"""Pairs that are listed of a larger one."""


def render(view: RouteView) -> str:
    """Return the page."""
    return "".join(_page(view))


def _page(view: RouteView) -> Iterator[str]:
    mesh = escape(str(view.table.mesh))
    broken = mesh.replace(",", ",<wbr>")
    name = f"{escape(view.name)}: " if view.name else ""
    source = f'<p class="quiet">{escape(view.name)}</p>\n' if view.name else ""
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}feature exchange on {mesh}</title>\n<style>\n{STYLE}</style>\n</head>\n"
        "<body>\n<main>\n"
        f'<h1>Feature exchange on {broken}</h1>\n{source}<p class="quiet">{escape(_headline(view))}</p>\n'
    )
    yield _section("verdict", "In three lines", _facts(verdict_of(view)))
    yield _cards(view)
    yield _section("setting", "What was routed", _facts(setting_of(view)))
    yield _section("totals", "In all", _facts(totals_of(view)))
    if view.warnings:
        yield _section("warnings", "Warnings", _warnings(view))
    if view.table.mesh.parent_size > 1:
        links = Links(view.link, view.ranks_per_node)
        yield _section("ways", "Ways to move them", comparison_table(compare_ways(view.table, links)))
    heat = route_svg.heat_map(view)
    yield _section("matrix", "Who sends to whom", _heat(view, heat))
    yield _section("ranks", "Rows per rank", _whose(view) + route_bars.bars(view))
    yield _section(
        "sequence", "The sequence, and the images on it", _whose(view) + route_ribbon.ribbons(view)
    )
    yield _section("items", "Items", items_table(view))
    yield f"<footer>hpplan {__version__}, table {view.table.digest}</footer>\n</main>\n</body>\n</html>\n"


def _section(name: str, title: str, body: str) -> str:
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n{body.rstrip()}\n</section>\n'


def _headline(view: RouteView) -> str:
    mode = view.table.mode
    return f"{mode.name}: {mode.why}. {view.table.granularity} granularity."


def _cards(view: RouteView) -> str:
    traffic = view.traffic
    load = traffic.producer_load
    saved = traffic.rows_leaving - traffic.least_rows_leaving
    incomplete = records_needed(view.table)
    peak = traffic.largest_receiver
    cards = [
        (
            "rows that leave their rank",
            short_count(traffic.rows_leaving),
            size(traffic.rows_leaving * traffic.row_bytes),
        ),
        (
            "row granularity would save",
            *(
                ("nothing", leaves_out(incomplete).replace("row granularity", "it"))
                if incomplete
                else (share(saved, traffic.rows_leaving), f"{plural(saved, 'row')} of what leaves")
            ),
        ),
        (
            "busiest producer",
            _times(load.largest, load.bound),
            f"its bound: {plural(load.largest, 'row')} on {producer_of(view)}",
        ),
        (
            "busiest receiver",
            _times(peak.rows, peak.mean),
            f"the mean: {plural(peak.rows, 'row')} on rank {peak.rank}",
        ),
    ]
    if traffic.seconds is not None:
        cards.append(("estimated time", duration(traffic.seconds), "for the busiest rank"))
    return (
        '<ul class="cards">\n'
        + "".join(f"<li>{name}<b>{number}</b>{escape(rest)}</li>\n" for name, number, rest in cards)
        + "</ul>\n"
    )


def _times(amount: float, against: float) -> str:
    return f"{amount / against:.2f} x" if against else "0 x"


def _facts(facts: list[tuple[str, str]]) -> str:
    return (
        "<dl>\n"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in facts)
        + "</dl>"
    )


def _warnings(view: RouteView) -> str:
    found = "".join(
        f"<li><b>{item.code.id} {item.level}</b> {escape(item.message)}"
        + (f" ({escape(item.hint)})" if item.hint else "")
        + "</li>\n"
        for item in view.warnings
    )
    return f'<ul class="warnings">\n{found}</ul>'


def _whose(view: RouteView) -> str:
    if view.alike and view.table.mesh.dp > 1:
        return f"<p>Of the first of {plural(view.table.mesh.dp, 'replica')}, which are all alike.</p>\n"
    return ""


def _heat(view: RouteView, heat: HeatMap) -> str:
    blocks = heat.blocks
    caption = (
        f"Rows from each {blocks.kind} (line) to each (column){blocks.numbered}. "
        "Hold the pointer over a square for its rows."
    )
    text = (
        f"{_whose(view)}<figure>\n<figcaption>{caption}</figcaption>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Transfer matrix">\n'
        f"{heat.svg}\n</div>\n</figure>\n"
    )
    if len(blocks.labels) > MOST_TABLE_BLOCKS:
        return text + _pairs(heat)
    head = "".join(f"<th scope=col>{escape(label)}</th>" for label in blocks.labels)
    rows = "".join(
        f"<tr><th scope=row>{escape(label)}</th>" + "".join(f"<td>{rows:,}</td>" for rows in line) + "</tr>\n"
        for label, line in zip(blocks.labels, heat.matrix, strict=True)
    )
    return (
        f"{text}<details><summary>The same in numbers</summary>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Transfer matrix in numbers"><table>'
        f"<caption>Rows from {blocks.kind} (line) to {blocks.kind} (column)</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>\n{rows}</tbody></table></div></details>"
    )


def _pairs(heat: HeatMap) -> str:
    """Return the busiest pairs of blocks in numbers, where the square would be too large to read."""
    blocks = heat.blocks
    pairs = sorted(
        (-rows, line, column)
        for line, row in enumerate(heat.matrix)
        for column, rows in enumerate(row)
        if rows
    )
    rows = "".join(
        f"<tr><th scope=row>{escape(blocks.labels[line])}</th><td>{escape(blocks.labels[column])}</td>"
        f"<td>{-rows:,}</td></tr>\n"
        for rows, line, column in pairs[:MOST_PAIRS]
    )
    which = f"The {MOST_PAIRS} busiest of {len(pairs):,} pairs" if len(pairs) > MOST_PAIRS else "All pairs"
    return (
        "<details><summary>The same in numbers</summary>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Transfer matrix in numbers"><table>'
        f"<caption>{which} of {blocks.kind}s, by rows</caption>"
        f"<thead><tr><th scope=col>from {blocks.kind}</th><th scope=col>to {blocks.kind}</th>"
        f"<th scope=col>rows</th></tr></thead><tbody>\n{rows}</tbody></table></div></details>"
    )


def comparison_table(comparison: Comparison) -> str:
    """Return the ways side by side, the one to take marked in words and with an outline, as HTML."""
    nodes = comparison.links.ranks_per_node is not None
    timed = comparison.links.link is not None
    best = comparison.best
    rows = []
    for way in comparison.ways:
        cells = [
            ("collectives", str(len(way.steps))),
            ("rows moved", f"{way.rows:,}"),
            ("bytes moved", size(way.rows * comparison.row_bytes)),
            ("busiest rank", size(way.busiest_rows * comparison.row_bytes)),
        ]
        if nodes:
            cells.append(("rows between nodes", f"{way.rows_between_nodes:,}"))
        if timed:
            cells.append(("estimated time", duration(way.seconds or 0.0)))
        heads = [name for name, _ in cells]
        take = " <b>(take this)</b>" if way is best else ""
        mark = ' class="taken"' if way is best else ""
        rows.append(
            f'<tr{mark}><th scope="row">{way.name}</th>'
            f'<td class="words">{escape(way.summary)}{take}</td>'
            + "".join(f'<td data-name="{name}">{text}</td>' for name, text in cells)
            + "</tr>\n"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<p>Take <b>{best.name}</b>: {comparison.reason}.</p>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Ways to move the features">'
        '<table class="ways"><thead><tr><th scope="col">way</th>'
        f'<th scope="col" class="words">what it does</th>{head}</tr></thead><tbody>\n'
        f"{''.join(rows)}</tbody></table></div>"
    )
