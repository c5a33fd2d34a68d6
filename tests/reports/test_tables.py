"""Tables on terminals of any width."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from route_views import crowded

from hpplan.reports.route.text import render
from hpplan.reports.terminal.folding import fold
from hpplan.reports.terminal.screen import Screen
from hpplan.reports.terminal.tables import terminal_table

if TYPE_CHECKING:
    from pathlib import Path

HEADERS = ("rank", "splits", "sent", "buffer")
ROWS = [("0", "10 0 7 12 8 1 1 1 1 1", "1,234", "7.6 MB"), ("11", "3", "5", "0 B")]


def table(width: int) -> list[str]:
    """Return the lines of the small table."""
    return terminal_table(HEADERS, ROWS, width=width, right=(0, 2, 3)).splitlines()


def test_columns_side_by_side() -> None:
    """A table that fits is spread out, folded or split."""
    assert table(80) == [
        "rank  splits                  sent  buffer",
        "─" * 42,
        "   0  10 0 7 12 8 1 1 1 1 1  1,234  7.6 MB",
        "  11  3                          5     0 B",
    ]


def test_lists_fold_at_blanks() -> None:
    """A list of numbers is broken inside a number, or a table is split that could fold."""
    assert table(38) == [
        "rank  splits              sent  buffer",
        "─" * 38,
        "   0  10 0 7 12 8 1 1 1  1,234  7.6 MB",
        "      1 1",
        "  11  3                      5     0 B",
    ]


def test_columns_that_do_not_fit_come_below() -> None:
    """A figure is broken, or a table does not say whose line it is."""
    assert table(24) == [
        "rank  splits",
        "─" * 24,
        "   0  10 0 7 12 8 1 1 1",
        "      1 1",
        "  11  3",
        "",
        "rank   sent  buffer",
        "─" * 19,
        "   0  1,234  7.6 MB",
        "  11      5     0 B",
    ]


@pytest.mark.parametrize("width", [1, 7, 12, 20, 40, 60, 79, 80, 81, 200])
def test_every_figure_stays_whole(width: int) -> None:
    """A figure of the routing table is missing or cut on a terminal of some width."""
    view = crowded("dp=2,cp=4,tp=8,sp")
    lines = render(view, Screen(width)).splitlines()
    figures = re.compile(r"[0-9][0-9,.]*(?: [kMGT]?B)?")
    facts = render(view, Screen())
    wanted = {figure for line in facts.splitlines() for figure in figures.findall(line) if "B" in figure}
    found = {figure for line in lines for figure in figures.findall(line)}
    assert wanted <= found
    if width >= 40:
        assert [line for line in lines if len(line) > width] == []


def test_fold() -> None:
    """A word is cut, or a line is longer than it has to be."""
    assert fold("aa bb ccccccc d", 5) == "aa bb\nccccccc\nd"


def test_wide_characters_take_two_columns() -> None:
    """A table with names in Chinese is out of line, or wider than the terminal."""
    text = terminal_table(
        ("what", "rows"), [("\u65e5\u672c \u65e5\u672c\u65e5\u672c", "1")], width=19, right=(1,)
    )
    assert text.splitlines()[2:] == ["\u65e5\u672c \u65e5\u672c\u65e5\u672c     1"]


@pytest.mark.parametrize(
    "arguments", [("route", "--mesh", "cp=2"), ("explain", "HP101"), ("explain", "--all")]
)
def test_a_pipe_needs_no_rich(root: Path, arguments: tuple[str, ...]) -> None:
    """A command in a script takes longer to start, for what only a terminal shows."""
    program = (
        "import sys\nfrom hpplan.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    assert 'rich' not in sys.modules\n"
    )
    given = (str(root / "sample_plans/workloads/qwen3_vl_30b_a3b.mixed.yaml"),) * (arguments[0] == "route")
    command = [sys.executable, "-c", program, *arguments, *given]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
