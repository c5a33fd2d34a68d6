"""Statistics over micro-batches for people: the answer first, then policies side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.micro_batches.facts import HEADERS, setting_of, side_by_side, verdict_of
from hpplan.reports.terminal.screen import stacked

if TYPE_CHECKING:
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.statistics import Statistics


def render(found: Statistics, screen: Screen) -> str:
    """Return the statistics for people; micro-batches are counted from 0."""
    parts = [screen.facts(verdict_of(found)), screen.facts(setting_of(found))]
    for measure in found.measures:
        title, rows = side_by_side(found, measure)
        parts.append(screen.table(title, HEADERS, rows, range(1, len(HEADERS))))
    best = [(measure.name.replace("_", " "), ", ".join(found.best(measure))) for measure in found.measures]
    parts.append("Least p95\n" + screen.facts(best))
    return stacked(parts)
