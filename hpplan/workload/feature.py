"""An image or a video of a sample, and the tokens of its rows."""

from __future__ import annotations

from typing import NamedTuple

from hpplan.workload.families.base import Kind, Runs

Span = tuple[int, int]
"""First token and rows of a run of tokens."""


class Feature(NamedTuple):
    """One image or video of a sample, number `number` of its kind from 0.

    `what` says where its rows come from: `grid (1, 52, 94)`. `path` leads to
    that from the top of the sample.
    """

    kind: Kind
    number: int
    runs: Runs
    what: str
    path: tuple[str | int, ...]
    grid: tuple[int, ...] | None = None
    """As the processor gives it; None where only a size is known."""

    @property
    def rows(self) -> int:
        """Feature rows of all runs."""
        return sum(self.runs)
