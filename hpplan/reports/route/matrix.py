"""The matrix of who sends to whom, shaded, so that the busy cells stand out without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route.blocks import fold_pairs, shown_parents
from hpplan.reports.terminal.screen import SHADES

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView
    from hpplan.reports.terminal.screen import Screen

MOST_BLOCKS = 32
"""Blocks of ranks that are shown."""

NUMBERED = 8
"""Blocks up to which cells carry their number as well as a shade."""


def shaded_matrix(view: RouteView, screen: Screen) -> str:
    """Return the matrix with its title, labels and legend; `MOST_BLOCKS` fit 80 columns."""
    blocks = fold_pairs(view, MOST_BLOCKS)
    matrix = blocks.matrix(shown_parents(view))
    labels, kind, dp = blocks.labels, blocks.kind, view.table.mesh.dp
    whose = f" of one of {dp} replicas, all alike" if view.alike and dp > 1 else ""
    title = f"Rows from {kind} (line) to {kind} (column){blocks.numbered}{whose}"
    largest, top = max(map(max, matrix)), len(SHADES) - 1

    def shade(rows: int) -> str:
        return SHADES[-(-rows * top // largest)] if rows else SHADES[0]

    label = max(map(len, labels))
    count = len(labels)
    wide = max(label, 2 + len(f"{largest}"))
    lines = [screen.folded("", title).rstrip("\n")]
    if count <= NUMBERED and screen.fits(label + count * (2 + wide)):
        lines.append(" " * label + "".join("  " + name.rjust(wide) for name in labels))
        for name, row in zip(labels, matrix, strict=True):
            cells = "".join("  " + f"{shade(rows)} {rows}".rjust(wide) for rows in row)
            lines.append(name.rjust(label) + cells)
    else:
        # Column labels stand upright: one or two columns a block have no room for more.
        each = 2 if screen.fits(label + 2 + 2 * count) else 1
        for depth in range(label):
            head = "".join(name.rjust(label)[depth].ljust(each) for name in labels)
            lines.append((" " * label + "  " + head).rstrip())
        for name, row in zip(labels, matrix, strict=True):
            lines.append((name.rjust(label) + "  " + "".join(shade(rows) * each for rows in row)).rstrip())
    steps = (
        [f"{SHADES[level]} up to {largest * level // top:,}" for level in range(1, top + 1)]
        if largest
        else []
    )
    return "\n".join(lines) + "\n" + screen.folded("", ", ".join(["blank: none", *steps]))
