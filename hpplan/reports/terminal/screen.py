"""Text on a terminal of some width, or on a pipe, where nothing is folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpplan.reports.terminal.folding import fold
from hpplan.reports.terminal.paint import BOLD, paint
from hpplan.reports.terminal.tables import plain_table, terminal_table
from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

SHADES = " ░▒▓█"
"""From nothing to the most."""

_LEAST_VALUE_COLUMNS = 20


@dataclass(frozen=True)
class Screen:
    """Where text goes: a terminal of `width` columns, or (None) a pipe."""

    width: int | None = None
    color: bool = False

    def table(
        self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
    ) -> str:
        """Return a table under its title, if any; `right` lists columns that are aligned to the right."""
        head = self.folded("", title) if title else ""
        if self.width is not None:
            return head + terminal_table(headers, rows, width=self.width, color=self.color, right=right)
        names, lines = plain_table(headers, rows, right).split("\n", 1)
        return f"{head}{paint(names, BOLD, color=self.color)}\n{lines}"

    def facts(self, facts: Sequence[tuple[str, str]]) -> str:
        """Return names and values in two columns."""
        names = [visible(name) for name, _ in facts]
        wide = max(map(len, names)) + 2
        return "".join(
            self.folded(name.ljust(wide), value) for name, (_, value) in zip(names, facts, strict=True)
        )

    def folded(self, name: str, value: str) -> str:
        """Return a name and its value, broken at blanks where the terminal has not enough columns."""
        name, value = visible(name), visible(value)
        if self.width is None or self.fits(len(name) + len(value)):
            return (name + value).rstrip() + "\n"
        return fold(value, max(self.width, len(name) + _LEAST_VALUE_COLUMNS), name) + "\n"

    def fits(self, columns: int) -> bool:
        """Whether a line of so many columns stays whole."""
        return self.width is None or columns <= self.width


def stacked(parts: Sequence[str]) -> str:
    """Return texts below each other, with an empty line between two."""
    return "\n".join(part.strip("\n") + "\n" for part in parts)
