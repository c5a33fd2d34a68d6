"""The matrix of who sends to whom, shaded, so that the busy cells stand out without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpplan.reports.route_view import Folded
    from hpplan.reports.screen import Screen

NUMBERED = 8
"""Blocks up to which cells carry their number as well as a shade."""


def shaded_matrix(folded: Folded, screen: Screen) -> str:
    """Return the matrix with its title, labels and legend; 32 blocks fit 80 columns."""
    largest, shades = folded.largest, screen.shades
    top = len(shades) - 1

    def shade(rows: int) -> str:
        return shades[-(-rows * top // largest)] if rows else shades[0]

    label = max(map(len, folded.labels))
    count = len(folded.labels)
    wide = max(label, 2 + len(f"{largest}"))
    lines = [screen.folded("", folded.title).rstrip("\n")]
    if count <= NUMBERED and screen.fits(label + count * (2 + wide)):
        lines.append(" " * label + "".join("  " + name.rjust(wide) for name in folded.labels))
        for name, row in zip(folded.labels, folded.rows, strict=True):
            cells = "".join("  " + f"{shade(rows)} {rows}".rjust(wide) for rows in row)
            lines.append(name.rjust(label) + cells)
    else:
        # Column labels stand upright: one or two columns a block have no room for more.
        each = 2 if screen.fits(label + 2 + 2 * count) else 1
        for depth in range(label):
            head = "".join(name.rjust(label)[depth].ljust(each) for name in folded.labels)
            lines.append((" " * label + "  " + head).rstrip())
        for name, row in zip(folded.labels, folded.rows, strict=True):
            lines.append((name.rjust(label) + "  " + "".join(shade(rows) * each for rows in row)).rstrip())
    steps = (
        [f"{shades[level]} up to {largest * level // top:,}" for level in range(1, top + 1)]
        if largest
        else []
    )
    return "\n".join(lines) + "\n" + screen.folded("", ", ".join(["blank: none", *steps]))
