"""Statistics over micro-batches for people: the answer first, then policies side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.micro_batches.facts import (
    HEADERS,
    best_meshes,
    counted,
    measures_of_meshes,
    setting_of,
    setting_of_meshes,
    side_by_side,
    verdict_of,
)
from hpplan.reports.terminal.screen import stacked

if TYPE_CHECKING:
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.meshes import Meshes
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


def render_meshes(found: Meshes, screen: Screen) -> str:
    """Return meshes side by side for people; amounts are added up over the micro-batches."""
    headers, rows = measures_of_meshes(found)
    many = found.first.micro_batches
    title = f"Meshes side by side, {counted(many)} added up" if many > 1 else "Meshes side by side"
    return stacked(
        [
            screen.facts(best_meshes(found)),
            screen.facts(setting_of_meshes(found)),
            screen.table(title, headers, rows, range(1, len(headers))),
        ]
    )
