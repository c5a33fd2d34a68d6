"""Tables: plain aligned columns for pipes, and on terminals what Rich makes of them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 2
"""Blanks between columns."""

_LEAST_FOLDED = 16
"""Columns that a cell that folds has at least, as far as its text has them."""


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return aligned columns, two spaces apart; nothing is cut or wrapped.

    `right` lists the columns that are aligned to the right. Control characters
    are shown escaped, so that one row stays one line.
    """
    lines = [[visible(cell) for cell in line] for line in (headers, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    text = io.StringIO()
    for line in lines:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        text.write("  ".join(cells).rstrip() + "\n")
    return text.getvalue()


def terminal_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    color: bool = False,
    right: Sequence[int] = (),
) -> str:
    """Return a ruled table for a terminal of `width` columns; nothing is cut, and no figure is broken.

    Cells that are aligned to the left fold at blanks. Where the columns have no
    room beside each other they come in several tables, each with the first one.
    """
    from rich.box import Box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [[visible(cell) for cell in line] for line in (headers, *rows)]
    bounds = []
    for number, cells in enumerate(zip(*lines, strict=True)):
        wide = max(map(cell_len, cells))
        word = max(cell_len(word) for cell in cells for word in cell.split(" "))
        bounds.append((wide if number in right else max(min(wide, _LEAST_FOLDED), word), wide))
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard" if color else None)
    ruled = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    parts = []
    for columns in _groups([least for least, _ in bounds], width):
        widths = _widths([bounds[column] for column in columns], width)
        table = Table(box=ruled, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
        for column, wide in zip(columns, widths, strict=True):
            table.add_column(
                Text(lines[0][column]), justify="right" if column in right else "left", width=wide
            )
        for line in lines[1:]:
            table.add_row(*(Text(line[column]) for column in columns))
        with console.capture() as drawn:
            console.print(table, width=max(width, sum(widths) + _GAP * len(widths)), crop=False)
        parts.append("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))
    return "\n".join(parts)


def _groups(least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each table, as many as fit."""
    groups: list[list[int]] = [[0]]
    taken = least[0]
    for column in range(1, len(least)):
        if taken + _GAP + least[column] > width and len(groups[-1]) > 1:
            groups.append([0])
            taken = least[0]
        groups[-1].append(column)
        taken += _GAP + least[column]
    return groups


def _widths(bounds: Sequence[tuple[int, int]], width: int) -> list[int]:
    """Return widths from (least, natural) ones: what is left is shared out among columns that would fold.

    Rich's own choice takes no heed of the least.
    """
    widths = [least for least, _ in bounds]
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    wanting = sorted(
        (natural - least, column) for column, (least, natural) in enumerate(bounds) if natural > least
    )
    for number, (wanted, column) in enumerate(wanting):
        more = min(wanted, max(0, spare) // (len(wanting) - number))
        widths[column] += more
        spare -= more
    return widths
