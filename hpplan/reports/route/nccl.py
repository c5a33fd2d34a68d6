"""The byte matrix that nccl-tests' `alltoallv_perf` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.errors import UnusableRequest
from hpplan.routing.cells import ranges_of

if TYPE_CHECKING:
    from hpplan.routing.inputs import InputRoutes
    from hpplan.routing.routes import RoutingTable

MOST_RANKS = 8192
"""Above this the square would have gigabytes."""


def render(table: RoutingTable) -> str:
    """Return a line for each global rank with the bytes that it sends to each, its own included.

    Where inputs travel before the features, their matrix comes first, and an
    empty line between the two.

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
    by_source: list[dict[int, list[tuple[range, int]]]] = []
    for _, routes in table.parents:
        lines: dict[int, list[tuple[range, int]]] = {}
        for (source, first, width, blocks), rows in routes.totals.cells.items():
            into = lines.setdefault(source, [])
            into.extend((peers, rows) for peers in ranges_of(first, width, blocks, routes.stride))
        by_source.append(lines)
    text: list[str] = []
    for rank in range(world):
        line = [0] * world
        if rank in place:
            number, at = place[rank]
            ranks = table.parents[number].ranks
            for peers, rows in by_source[number].get(at, ()):
                for peer in ranks[peers.start : peers.stop]:
                    line[peer] += rows * size
        text.append(" ".join(map(str, line)))
    features = "\n".join(text) + "\n"
    inputs = [(parent.ranks, moved) for parent in table.parents if (moved := parent.inputs) is not None]
    return f"{_inputs(table, inputs)}\n{features}" if inputs else features


def _inputs(table: RoutingTable, parents: list[tuple[tuple[int, ...], InputRoutes]]) -> str:
    world, size = table.mesh.world_size, table.workload.input_row_bytes
    lines = [[0] * world for _ in range(world)]
    for ranks, inputs in parents:
        for source, destination, _, start, stop in inputs.transfers():
            lines[ranks[source]][ranks[destination]] += (stop - start) * size
        for rank, kept in zip(ranks, inputs.totals.kept, strict=True):
            lines[rank][rank] += kept * size
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
