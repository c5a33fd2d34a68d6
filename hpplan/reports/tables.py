"""Tables: plain aligned columns for pipes, ruled ones for terminals."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hpplan.reports.concise import visible

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    color: bool,
    right: Sequence[int] = (),
    width: int | None = None,
) -> str:
    """Return a ruled table for a terminal; long cells fold onto further lines, and nothing is cut.

    `width` is that of the terminal in columns, which is asked when it is None.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Cells come from documents, so they are Text: never markup.
    table = Table(title=Text(visible(title)), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column, header in enumerate(headers):
        table.add_column(
            Text(visible(header)), justify="right" if column in right else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        legacy_windows=False,
    )
    console.print(table)
    return stream.getvalue()
