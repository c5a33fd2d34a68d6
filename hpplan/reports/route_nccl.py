"""The byte matrix that nccl-tests' `alltoallv_perf` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from hpplan.routing.routes import RoutingTable

MOST_RANKS = 8192
"""Above this the square would have gigabytes."""


def render(table: RoutingTable) -> str:
    """Return a line for each global rank with the bytes that it sends to each, its own included.

    Raises UnusableRequest for more than `MOST_RANKS` ranks.
    """
    world = table.mesh.world_size
    if world > MOST_RANKS:
        raise UnusableRequest(
            f"the matrix of {world:,} ranks is too large to write; the largest is that of {MOST_RANKS:,}"
        )
    size = table.workload.row_bytes
    place = {
        rank: (number, at) for number, (ranks, _) in enumerate(table.parents) for at, rank in enumerate(ranks)
    }
    by_source: list[dict[int, list[tuple[int, int, int]]]] = []
    for _, routes in table.parents:
        lines: dict[int, list[tuple[int, int, int]]] = {}
        for (source, first, count), rows in routes.totals.cells.items():
            lines.setdefault(source, []).append((first, count, rows))
        by_source.append(lines)
    text: list[str] = []
    for rank in range(world):
        line = [0] * world
        if rank in place:
            number, at = place[rank]
            ranks = table.parents[number].ranks
            for first, count, rows in by_source[number].get(at, ()):
                for peer in ranks[first : first + count]:
                    line[peer] += rows * size
        text.append(" ".join(map(str, line)))
    return "\n".join(text) + "\n"
