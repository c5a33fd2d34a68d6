"""Measuring: medians of ratios over pairs, so that a machine that drifts does not matter."""

from __future__ import annotations

import gc
import subprocess
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Measurement(NamedTuple):
    """One line of the report: what was measured, the bound of DESIGN section 8, and what was found."""

    what: str
    bound: float
    found: float
    unit: str = "x"

    def __str__(self) -> str:
        """Spell the line."""
        verdict = "ok" if self.found <= self.bound else "MISSED"
        return f"{self.what:<76} {self.found:7.3f} {self.unit} (at most {self.bound:g} {self.unit}) {verdict}"


def seconds(action: Callable[[], object]) -> float:
    """Return how long one call takes, without a collection of what came before."""
    gc.collect()
    start = perf_counter()
    action()
    return perf_counter() - start


def ratio(ours: Callable[[], object], peer: Callable[[], object], pairs: int) -> float:
    """Return the median of ours to peer over pairs, after one call of each to warm up."""
    ours()
    peer()
    return median(seconds(ours) / seconds(peer) for _ in range(pairs))


def process(*command: str) -> Callable[[], object]:
    """Return an action that runs a command to its end, without its output."""

    def run() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    return run
