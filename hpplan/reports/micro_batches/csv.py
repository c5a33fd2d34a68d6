"""Statistics over micro-batches as CSV: a line for each policy and micro-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route.csv import to_csv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.routing.meshes import Meshes
    from hpplan.routing.statistics import Statistics

HEADER = (
    "mesh",
    "policy",
    "micro_batch",
    "items",
    "rows",
    "busiest_rank",
    "largest_load",
    "mean_load",
    "bound",
)
"""Before the measures; micro-batches count from 0, items and rows are those of the input."""


def render(found: Statistics) -> str:
    """Return what was found of each micro-batch under each policy; loads are in the cost."""
    return _table([found])


def render_meshes(found: Meshes) -> str:
    """Return the same of each mesh."""
    return _table(found.statistics)


def _table(statistics: Sequence[Statistics]) -> str:
    heads = (*HEADER, *(measure.name for measure in statistics[0].measures))
    return to_csv([heads, *(line for found in statistics for line in _lines(found))])


def _lines(found: Statistics) -> Iterator[Sequence[object]]:
    sums = [
        (len(items), sum(item.rows for item in items))
        for items in ([item for batch in one.batches for item in batch.items] for one in found.workloads)
    ]
    for name, one in found.found.items():
        for number, (load, batch) in enumerate(zip(one.loads, sums, strict=True)):
            measured = (one.values[measure.name][number] for measure in found.measures)
            yield (str(found.mesh), name, number, *batch, *load, *measured)
