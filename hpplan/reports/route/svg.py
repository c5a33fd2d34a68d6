"""The transfer matrix as a heat map in SVG: a square for each pair, larger and darker with more rows."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route.blocks import cells_of, fold_pairs, shown_parents
from hpplan.reports.route.markup import escape
from hpplan.reports.route.palette import SCHEMES
from hpplan.reports.terminal.quantities import short_count, size
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.reports.route.blocks import Blocks
    from hpplan.reports.route.view import RouteView

MOST_RANKS = 128
"""Ranks that a heat map shows as they are, as long as no more than `MOST_CELLS` pairs exchange."""
MOST_CELLS = 10_000
MOST_BLOCKS = 64
"""Blocks of ranks that a folded heat map shows."""

SHADES = 5
"""Shades and sizes of a square; the legend lists each with its rows."""

_NUMBERED_CELL = 34
"""Cells of this many pixels carry their number."""
_NUMBERED = 16
_CELLS = ((_NUMBERED, _NUMBERED_CELL), (32, 20), (64, 13), (MOST_RANKS, 7))
"""Up to so many blocks, a cell has so many pixels: the whole fits the page."""
_SMALLEST_BOLD = 13
"""Pixels of a square from which its dashes are two wide."""
_LABEL_GAP = 15
_LETTER = 7.3
_TOP = 46
_LEGEND_HEIGHT = 96

STYLE = """\
.heat { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
.heat text { fill: var(--ink); }
.heat .axis { font-weight: 600; }
.heat .frame { fill: none; stroke: var(--line); }
.heat .s1 { fill: var(--heat-1); }
.heat .s2 { fill: var(--heat-2); }
.heat .s3 { fill: var(--heat-3); }
.heat .s4 { fill: var(--heat-4); }
.heat .s5 { fill: var(--heat-5); }
.heat .kept { fill: none; stroke: var(--ink); stroke-dasharray: 4 2; stroke-width: 2; }
.heat .kept.small { stroke-dasharray: 2 1; stroke-width: 1; }
.heat .number { font-size: 11px; text-anchor: middle; dominant-baseline: central; pointer-events: none; }
.heat .number.strong { fill: var(--on-heat); }
"""

_FIRST_STRONG = 4
"""The shade from which numbers on it change their colour."""


class HeatMap(NamedTuple):
    """A heat map: `<svg>…</svg>` without a style of its own, and what its matrix shows."""

    svg: str
    blocks: Blocks
    matrix: list[list[int]]


def render(view: RouteView) -> str:
    """Return the heat map alone, as an SVG document that follows light and dark."""
    head, body = heat_map(view).svg.split(">", 1)
    style = f"<style>\n{SCHEMES}{STYLE}</style>\n"
    paper = '<rect width="100%" height="100%" fill="var(--page)"/>\n'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>\n{style}{paper}{body}\n'


def heat_map(view: RouteView) -> HeatMap:
    """Draw the transfer matrix, folded where there are too many ranks for one square each."""
    parents = shown_parents(view)
    exchanging = sum(len(parent.ranks) for parent in parents)
    few = exchanging <= MOST_RANKS and cells_of(parents) <= MOST_CELLS
    blocks = fold_pairs(view, MOST_RANKS if few else MOST_BLOCKS)
    matrix = blocks.matrix(parents)
    return HeatMap("".join(_svg(view, blocks, matrix)), blocks, matrix)


def limits_of(largest: int, blocks: int) -> list[int]:
    """Return up to how many rows each shade goes.

    Shades of few blocks, which have their numbers, are even steps. Of many each goes twice as far as the
    one before: few pairs are as busy as the busiest, and the others are to be told apart as well.

    >>> limits_of(100, 4), limits_of(100, 64)
    ([20, 40, 60, 80, 100], [6, 12, 25, 50, 100])
    """
    if blocks <= _NUMBERED:
        return [largest * shade // SHADES for shade in range(1, SHADES + 1)]
    return [largest >> (SHADES - shade) for shade in range(1, SHADES + 1)]


def shade_of(rows: int, limits: list[int]) -> int:
    """Return the shade of a number of rows: 0 for none, `SHADES` for the largest."""
    return 1 + bisect_left(limits, rows) if rows else 0


def _svg(view: RouteView, blocks: Blocks, matrix: list[list[int]]) -> Iterator[str]:
    count = len(blocks.labels)
    cell = next((pixels for most, pixels in _CELLS if count <= most), _CELLS[-1][1])
    limits = limits_of(max(map(max, matrix), default=0), count)
    left = round(26 + _LETTER * max(map(len, blocks.labels)))
    side = cell * count
    width = max(left + side + 12, 330)
    height = _TOP + side + 12 + _LEGEND_HEIGHT
    title = f"Rows from each {blocks.kind} to each"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="heat" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" aria-label="{escape(_summary(view, blocks, matrix))}">\n'
        f"<title>{title}</title>\n"
        f'<text class="axis" x="{left}" y="14">to {blocks.kind}</text>\n'
        f'<text class="axis" transform="translate(14 {_TOP}) rotate(-90)" text-anchor="end">'
        f"from {blocks.kind}</text>\n"
        f'<rect class="frame" x="{left}" y="{_TOP}" width="{side}" height="{side}"/>\n'
    )
    yield from _labels(blocks, cell, left)
    for line, row in enumerate(matrix):
        for column, rows in enumerate(row):
            if rows:
                yield _square(view, blocks, line, column, rows, limits, cell, left)
    yield from _legend(blocks, limits, left, _TOP + side + 30)
    yield "</svg>"


def _labels(blocks: Blocks, cell: int, left: int) -> Iterator[str]:
    widest = _LETTER * max(map(len, blocks.labels)) + 6
    for axis, gap in (("line", _LABEL_GAP), ("column", widest)):
        every = max(1, -(-int(gap) // cell))
        for number in range(0, len(blocks.labels), every):
            middle = number * cell + cell / 2
            where = (
                f'x="{left - 6}" y="{_TOP + middle:g}" text-anchor="end" dominant-baseline="central"'
                if axis == "line"
                else f'x="{left + middle:g}" y="{_TOP - 8}" text-anchor="middle"'
            )
            yield f"<text {where}>{escape(blocks.labels[number])}</text>\n"


def _square(
    view: RouteView,
    blocks: Blocks,
    line: int,
    column: int,
    rows: int,
    limits: list[int],
    cell: int,
    left: int,
) -> str:
    shade = shade_of(rows, limits)
    inner = _side(cell, shade)
    gap = (cell - inner) / 2
    x, y = left + column * cell, _TOP + line * cell
    kept = line == column
    amount = f"{plural(rows, 'row')}, {size(rows * view.traffic.row_bytes)}"
    what = "to itself" if kept and blocks.kind == "rank" else f"to {blocks.name(column)}"
    text = (
        f'<rect class="s{shade}" x="{x + gap:.4g}" y="{y + gap:.4g}" '
        f'width="{inner:.3g}" height="{inner:.3g}">'
        f"<title>{escape(f'{blocks.name(line)} {what}: {amount}')}</title></rect>\n"
    )
    if kept:
        small = cell < _SMALLEST_BOLD
        edge = 0.5 if small else 1
        text += (
            f'<rect class="kept{" small" * small}" x="{x + edge:g}" y="{y + edge:g}" '
            f'width="{cell - 2 * edge:g}" height="{cell - 2 * edge:g}"/>\n'
        )
    if cell >= _NUMBERED_CELL:
        strong = " strong" if shade >= _FIRST_STRONG else ""
        middle = f'x="{x + cell / 2:g}" y="{y + cell / 2:g}"'
        text += f'<text class="number{strong}" {middle}>{short_count(rows)}</text>\n'
    return text


def _side(cell: float, shade: int) -> float:
    """Return the side of a square: it says the same as the shade, to those who cannot tell shades apart."""
    return cell * (0.45 + 0.4 * shade / SHADES)


def _legend(blocks: Blocks, limits: list[int], left: int, top: int) -> Iterator[str]:
    yield f'<text class="axis" x="{left}" y="{top}">Rows of a pair</text>\n'
    x, before = float(left), 1
    for shade, upto in enumerate(limits, start=1):
        if upto < before:
            continue
        inner = _side(20, shade)
        gap = (20 - inner) / 2
        yield (
            f'<rect class="s{shade}" x="{x + gap:.4g}" y="{top + 10 + gap:.4g}" '
            f'width="{inner:.3g}" height="{inner:.3g}"/>\n'
            f'<text x="{x + 10:g}" y="{top + 46}" text-anchor="middle">≤ {short_count(upto)}</text>\n'
        )
        x += 58
        before = upto + 1
    if not limits[-1]:
        yield f'<text x="{left}" y="{top + 24}">no rows at all</text>\n'
        return
    y = top + 58
    alone = blocks.kind in {"rank", "parent rank"}
    kept = "rows that stay where they are" if alone else f"rows inside one {blocks.kind}"
    yield (
        f'<rect class="kept" x="{left + 2}" y="{y}" width="12" height="12"/>\n'
        f'<text x="{left + 20}" y="{y + 9}">dashed: {kept}</text>\n'
    )


def _summary(view: RouteView, blocks: Blocks, matrix: list[list[int]]) -> str:
    traffic = view.traffic
    most, line, column = max(
        ((rows, -line, -column) for line, row in enumerate(matrix) for column, rows in enumerate(row)),
        default=(0, 0, 0),
    )
    largest = (
        f"; the most, {plural(most, 'row')}, from {blocks.name(-line)} to {blocks.name(-column)}"
        if most
        else ""
    )
    return (
        f"Heat map with a line and a column for each {blocks.kind}, {len(blocks.labels)} in all: "
        f"rows that leave their rank: {traffic.rows_leaving:,}{largest}"
    )
