"""Statistics over many micro-batches: every policy side by side, one table a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.quantities import duration, size
from hpplan.reports.terminal.screen import stacked
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.terminal.screen import Screen
    from hpplan.routing.statistics import Measure, Statistics

_HEADERS = ("policy", "median", "p95", "worst", "in micro-batch")


def render(found: Statistics, screen: Screen) -> str:
    """Return the statistics for people; micro-batches are counted from 0."""
    parts = [
        screen.facts(
            [
                ("mesh", str(found.mesh)),
                ("granularity", found.granularity),
                ("over", plural(found.micro_batches, "micro-batch", "micro-batches")),
                ("cost", found.cost),
            ]
        )
    ]
    for measure in found.measures:
        rows = []
        for policy, values in found.policies.items():
            one = values[measure.name]
            rows.append([policy, *(_spelled(measure, value) for value in one[:3]), str(one.worst_at)])
        title = f"{measure.name.replace('_', ' ').capitalize()}: {measure.summary}"
        parts.append(screen.table(title, _HEADERS, rows, range(1, len(_HEADERS))))
    best = [(measure.name.replace("_", " "), ", ".join(found.best(measure))) for measure in found.measures]
    parts.append("Least p95\n" + screen.facts(best))
    return stacked(parts)


def _spelled(measure: Measure, value: float) -> str:
    if measure.name == "seconds":
        return duration(value)
    if measure.name.endswith("bytes_leaving"):
        return size(value)
    return f"{value:,.{measure.decimals}f}"
