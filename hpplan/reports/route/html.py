"""The routing table as one self-contained page: no network, no script, light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route import bars as route_bars
from hpplan.reports.route import ribbon as route_ribbon
from hpplan.reports.route import svg as route_svg
from hpplan.reports.route.balance import balance
from hpplan.reports.route.compare import measures_of
from hpplan.reports.route.facts import producer_of, setting_of, totals_of, verdict_of
from hpplan.reports.route.items import items_table
from hpplan.reports.route.markup import details, escape, facts_list, scroll, section, table
from hpplan.reports.route.style import STYLE
from hpplan.reports.route.timeline import timeline
from hpplan.reports.terminal.quantities import duration, share, short_count, size
from hpplan.routing.comparison import Links, compare_ways, leaves_out, records_needed
from hpplan.version import __version__
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hpplan.diagnostics import Diagnostic
    from hpplan.reports.route.svg import HeatMap
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.comparison import Comparison

MOST_TABLE_BLOCKS = 32
"""Blocks up to which the heat map is repeated in numbers, as a square."""

MOST_PAIRS = 500
"""Pairs that are listed of a larger one."""


def render(view: RouteView) -> str:
    """Return the page."""
    mesh = view.table.mesh
    head = f'<p class="quiet">{escape(_headline(view))}</p>\n'
    foot = f"table {view.table.digest}"
    return document(f"feature exchange on {mesh}", view.name, head, sections(view), foot)


def document(title: str, name: str, head: str, body: Iterable[str], foot: str = "") -> str:
    """Return a page about what was read from a file of a `name`, with a title that ends in a mesh."""
    text = escape(title)
    broken = (text[:1].upper() + text[1:]).replace(",", ",<wbr>")
    source = f'<p class="quiet">{escape(name)}</p>\n' if name else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)}{': ' * bool(name)}{text}</title>\n<style>\n{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{broken}</h1>\n{source}{head}{''.join(body)}"
        f"<footer>hpplan {__version__}{', ' * bool(foot)}{foot}</footer>\n</main>\n</body>\n</html>\n"
    )


def sections(view: RouteView, prefix: str = "", level: int = 2) -> Iterator[str]:
    """Yield the parts of a page about one table; `prefix` tells their names from those of other tables."""

    def part(name: str, title: str, body: str) -> str:
        return section(f"{prefix}{name}", title, body, level)

    yield part("verdict", "In three lines", facts_list(verdict_of(view)))
    yield _cards(view)
    yield part("balance", "Balance", _whose(view) + balance(view))
    yield part("time", "Encode, then exchange", _whose(view) + timeline(view))
    yield part("setting", "What was routed", facts_list(setting_of(view)))
    yield part("totals", "In all", facts_list(totals_of(view)))
    if view.warnings:
        yield part("warnings", "Warnings", warnings_list(view.warnings))
    if view.table.mesh.parent_size > 1:
        links = Links(view.link, view.ranks_per_node)
        yield part("ways", "Ways to move them", comparison_table(compare_ways(view.table, links)))
    heat = route_svg.heat_map(view)
    yield part("matrix", "Who sends to whom", _heat(view, heat))
    yield part("ranks", "Rows per rank", _whose(view) + route_bars.bars(view))
    yield part("sequence", "The sequence, and the images on it", _whose(view) + route_ribbon.ribbons(view))
    yield part("items", "Items", items_table(view))


def _headline(view: RouteView) -> str:
    mode = view.table.mode
    return f"{mode.name}: {mode.why}. {view.table.granularity} granularity."


def _cards(view: RouteView) -> str:
    traffic = view.traffic
    load = traffic.producer_load
    saved = traffic.rows_leaving - traffic.least_rows_leaving
    largest = plural(load.largest, "row")
    incomplete = records_needed(view.table)
    peak = traffic.largest_receiver
    cards = [
        (
            "rows that leave their rank",
            short_count(traffic.rows_leaving),
            size(traffic.bytes_leaving),
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
            _times(load.largest, load.mean),
            f"the mean, {_times(load.largest, load.bound)} its bound: {largest} on {producer_of(view)}",
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


def warnings_list(warnings: Iterable[Diagnostic]) -> str:
    """Return warnings as HTML."""
    found = "".join(
        f"<li><b>{item.code.id} {item.level}</b> {escape(item.message)}"
        + (f" ({escape(item.hint)})" if item.hint else "")
        + "</li>\n"
        for item in warnings
    )
    return f'<ul class="warnings">\n{found}</ul>'


def _whose(view: RouteView) -> str:
    if view.alike and view.table.mesh.dp > 1:
        return f"<p>Of the first of {plural(view.table.mesh.dp, 'replica')}, which are all alike.</p>\n"
    return ""


def _heat(view: RouteView, heat: HeatMap) -> str:
    kind = heat.blocks.kind
    each = max(map(len, heat.blocks.ranks))
    cell = f" A square adds up {each} x {each} pairs of ranks." if each > 1 else ""
    if kind.endswith("parent rank"):
        cell = " A square adds up one pair of ranks of every parent, as parents exchange nothing."
    caption = (
        f"Rows from each {kind} (line) to each (column){heat.blocks.numbered}.{cell} "
        "Hold the pointer over a square for its rows."
    )
    labels = [escape(label) for label in heat.blocks.labels]
    if len(labels) > MOST_TABLE_BLOCKS:
        numbers = _pairs(heat, labels)
    else:
        rows = (
            [label, *(f"{rows:,}" for rows in line)] for label, line in zip(labels, heat.matrix, strict=True)
        )
        said = f"Rows from {kind} (line) to {kind} (column)"
        numbers = table("Transfer matrix in numbers", ["", *labels], rows, caption=said)
    return (
        f"{_whose(view)}<figure>\n<figcaption>{caption}</figcaption>\n"
        + scroll("Transfer matrix", f"\n{heat.svg}\n")
        + f"\n</figure>\n{details('The same in numbers', numbers)}"
    )


def _pairs(heat: HeatMap, labels: list[str]) -> str:
    """Return the busiest pairs of blocks in numbers, where the square would be too large to read."""
    kind = heat.blocks.kind
    pairs = sorted(
        (-rows, line, column)
        for line, row in enumerate(heat.matrix)
        for column, rows in enumerate(row)
        if rows
    )
    rows = ((labels[line], labels[column], f"{-rows:,}") for rows, line, column in pairs[:MOST_PAIRS])
    which = f"The {MOST_PAIRS} busiest of {len(pairs):,} pairs" if len(pairs) > MOST_PAIRS else "All pairs"
    heads = (f"from {kind}", f"to {kind}", "rows")
    return table("Transfer matrix in numbers", heads, rows, caption=f"{which} of {kind}s, by rows")


def comparison_table(comparison: Comparison) -> str:
    """Return the ways side by side, the one to take marked in words and with an outline, as HTML."""
    best = comparison.best
    heads, rows = measures_of(comparison)
    cells = []
    for way, (name, *numbers) in zip(comparison.ways, rows, strict=True):
        take = " <b>(take this)</b>" if way is best else ""
        cells.append([name, f"{escape(way.summary)}{take}", *numbers])
    heads = ["way", "what it does", *heads[1:]]
    ways = table("Ways to move the features", heads, cells, words=1, kind="ways", taken=best.name)
    return f"<p>Take <b>{best.name}</b>: {comparison.reason}.</p>\n{ways}"
