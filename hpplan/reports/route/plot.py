"""Charts of upright bars in SVG, as wide as there is room: shares of the width say where things are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route.markup import escape
from hpplan.reports.terminal.quantities import short_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_COLUMNS = 128
"""Columns of a chart: each is two pixels wide on a phone."""

HEIGHT = 190
_TOP = 18
_BOTTOM = 22
_ROOM = HEIGHT - _TOP - _BOTTOM
_STEPS = (1, 2, 5)
_MOST_LINES = 4
_NEARLY_ALL = 0.95

STYLE = """\
.plot { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; display: block; overflow: visible;
  margin-left: 2.6rem; width: calc(100% - 2.7rem); }
.plot text { fill: var(--quiet); }
.plot .grid { stroke: var(--line); stroke-width: 1; }
.plot .bar { fill: var(--encode); stroke: var(--page); stroke-width: .5; }
.plot-send .bar { fill: var(--send); }
.plot-receive .bar { fill: var(--receive); }
.plot .mean { stroke: var(--ink); stroke-width: 2; }
.plot .bound { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 3 2; }
"""


class Column(NamedTuple):
    """A bar; `mean` and `bound` are drawn across it where they are given."""

    value: float
    hover: str
    mean: float | None = None
    bound: float | None = None
    width: int = 1
    """Columns that it takes."""

    @property
    def top(self) -> float:
        """The largest of its values."""
        return max(self.value, self.mean or 0, self.bound or 0)


def plot(
    label: str,
    columns: Sequence[Column],
    ticks: Sequence[tuple[float, str]],
    most: float,
    box: str = 'width="100%"',
    line: float | None = None,
) -> str:
    """Return a chart whose scale goes from 0 to `most`; `box` says where it is drawn.

    `ticks` are labels below it, at shares of its width. A `line` is drawn across all of it.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" {box} height="{HEIGHT}" '
        f'aria-label="{escape(label)}">\n{"".join(_drawn(columns, ticks, most or 1, line))}</svg>\n'
    )


def _drawn(
    columns: Sequence[Column], ticks: Sequence[tuple[float, str]], most: float, line: float | None
) -> Iterator[str]:
    def height(value: float) -> str:
        return f"{_TOP + _ROOM * (1 - value / most):.5g}"

    for value in grid(most):
        at = height(value)
        yield f'<line class="grid" x1="0" x2="100%" y1="{at}" y2="{at}"/>\n'
        yield f'<text x="-6" y="{float(at) + 4:.5g}" text-anchor="end">{_spelled(value)}</text>\n'
    every = sum(one.width for one in columns) or 1
    start = 0
    for one in columns:
        left, wide = f"{100 * start / every:.5g}%", f"{100 * one.width / every:.5g}%"
        right = f"{100 * (start + one.width) / every:.5g}%"
        tall = _ROOM * one.value / most
        yield (
            f'<rect class="bar" x="{left}" width="{wide}" y="{height(one.value)}" height="{tall:.5g}">'
            f"<title>{escape(one.hover)}</title></rect>\n"
        )
        for name, across in (("mean", one.mean), ("bound", one.bound)):
            if across is not None:
                at = height(across)
                yield f'<line class="{name}" x1="{left}" x2="{right}" y1="{at}" y2="{at}"/>\n'
        start += one.width
    if line is not None:
        yield f'<line class="mean" x1="0" x2="100%" y1="{height(line)}" y2="{height(line)}"/>\n'
    for share, text in ticks:
        anchor = "end" if share > _NEARLY_ALL else "middle"
        yield f'<text x="{100 * share:.5g}%" y="{HEIGHT - 6}" text-anchor="{anchor}">{escape(text)}</text>\n'


def numbered(number: int) -> list[tuple[float, str]]:
    """Return labels for `number` columns of one width, counted from 0: the first, and round numbers.

    >>> numbered(2), [label for _, label in numbered(24)]
    ([(0.25, '0'), (0.75, '1')], ['0', '5', '10', '15', '20'])
    """
    at = [0, *(round(value) for value in grid(number - 1) if value == round(value))]
    return [((one + 0.5) / number, f"{one}") for one in at]


def grid(most: float) -> list[float]:
    """Return up to four round numbers above zero, evenly spaced, that do not exceed `most`.

    >>> grid(1222), grid(3.4), grid(0)
    ([500.0, 1000.0], [1.0, 2.0, 3.0], [])
    """
    power = 1e-6
    while most > 0:
        for step in _STEPS:
            count = int(most / (step * power) + 1e-9)
            if count <= _MOST_LINES:
                return [round(step * power * number, 6) for number in range(1, count + 1)]
        power *= 10
    return []


def _spelled(value: float) -> str:
    return short_count(round(value)) if value >= 10 or value == round(value) else f"{value:g}"  # noqa: PLR2004
