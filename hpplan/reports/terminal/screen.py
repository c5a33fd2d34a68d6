"""Text on a terminal of some width, or on a pipe, where nothing is folded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpplan.reports.terminal.tables import plain_table, terminal_table
from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

SHADES = " ░▒▓█"
"""From nothing to the most."""

_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=(?:[kMGTP]?B|[um]?s|GB/s)\b)")
"""A blank that belongs to a figure."""

_LEAST_VALUE_COLUMNS = 20


@dataclass(frozen=True)
class Screen:
    """Where text goes: a terminal of `width` columns, or (None) a pipe."""

    width: int | None = None
    color: bool = False

    def table(
        self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
    ) -> str:
        """Return a table under its title; `right` lists columns that are aligned to the right."""
        if self.width is None:
            return f"{visible(title)}\n" + plain_table(headers, rows, right)
        return terminal_table(
            headers,
            rows,
            title=title,
            width=self.width,
            color=self.color,
            right=right,
        )

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
        room = max(self.width, len(name) + _LEAST_VALUE_COLUMNS)
        lines: list[str] = []
        line, blank = name, True
        for word in _BEFORE_UNIT.sub("\xa0", value).split(" "):
            word = word.replace("\xa0", " ")  # noqa: PLW2901 - as it was
            if len(line) + len(word) > room and not blank:
                lines.append(line.rstrip())
                line = " " * len(name)
            line += word + " "
            blank = False
        return "\n".join([*lines, line.rstrip()]) + "\n"

    def fits(self, columns: int) -> bool:
        """Whether a line of so many columns stays whole."""
        return self.width is None or columns <= self.width
