"""Tables: plain aligned columns for pipes, ruled ones for terminals."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 2
"""Blanks between columns."""

_LEAST_FOLDED = 16
"""Columns that a cell that folds has at least."""


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
    title: str,
    width: int,
    color: bool = False,
    right: Sequence[int] = (),
) -> str:
    """Return a ruled table for a terminal of `width` columns; nothing is cut, and no figure is broken.

    Cells that are aligned to the left fold at blanks. Where the columns have no
    room beside each other they come in several tables, each with the first one.
    """
    lines = [[visible(cell) for cell in line] for line in (headers, *rows)]
    natural = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    least = [
        wide
        if column in right
        else max(min(wide, _LEAST_FOLDED), *(len(word) for line in lines for word in line[column].split(" ")))
        for column, wide in enumerate(natural)
    ]
    text = [fold(visible(title), width)]
    for columns in _groups(least, width):
        widths = _widths([(least[column], natural[column]) for column in columns], width)
        places = list(zip(columns, widths, strict=True))
        head, *body = ([(line[column], wide, column in right) for column, wide in places] for line in lines)
        text += [f"\x1b[1m{line}\x1b[0m" if color else line for line in _spelled(head)]
        text.append("─" * (sum(widths) + _GAP * (len(widths) - 1)))
        for cells in body:
            text += _spelled(cells)
        text.append("")
    return "\n".join(text)


def fold(text: str, width: int) -> str:
    """Return text in lines of at most `width` columns, broken at blanks alone."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


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
    """Return widths: what is left of the width is shared out among columns that would fold."""
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


def _spelled(cells: Sequence[tuple[str, int, bool]]) -> list[str]:
    """Return the lines of one row of (text, width, to the right)."""
    folded = [[text] if to_right else fold(text, wide).split("\n") for text, wide, to_right in cells]
    lines: list[str] = []
    for number in range(max(map(len, folded))):
        parts = (
            (own[number] if number < len(own) else "").rjust(wide)
            if to_right
            else (own[number] if number < len(own) else "").ljust(wide)
            for own, (_, wide, to_right) in zip(folded, cells, strict=True)
        )
        lines.append((" " * _GAP).join(parts).rstrip())
    return lines
