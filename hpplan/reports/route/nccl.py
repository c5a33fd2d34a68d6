"""The byte matrix that nccl-tests' `alltoallv_perf` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.errors import UnusableRequest
from hpplan.routing.cells import ranges_of
from hpplan.routing.link_time import steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.routing.inputs import InputRoutes
    from hpplan.routing.link_time import Exchange
    from hpplan.routing.routes import RoutingTable

MOST_RANKS = 8192
"""Above this the square would have gigabytes."""


def render(table: RoutingTable) -> str:
    """Return a line for each global rank with the bytes that it sends to each, its own included.

    Where inputs travel before the features, their matrix comes first; the two steps of `once` have one
    each. An empty line is between two.

    Raises UnusableRequest for more than `MOST_RANKS` ranks.
    """
    world = table.mesh.world_size
    if world > MOST_RANKS:
        raise UnusableRequest(
            f"the matrix of {world:,} ranks is too large to write; the largest is that of {MOST_RANKS:,}"
        )
    inputs = [(parent.ranks, moved) for parent in table.parents if (moved := parent.inputs) is not None]
    matrices = [_inputs(table, inputs)] if inputs else []
    return "\n".join([*matrices, *(_features(table, step) for step in steps_of(table))])


def _features(table: RoutingTable, parents: Sequence[Exchange]) -> str:
    world, size = table.mesh.world_size, table.workload.row_bytes
    place: dict[int, tuple[int, int]] = {}
    by_source: list[dict[int, list[tuple[range, int]]]] = []
    for number, exchange in enumerate(parents):
        place.update((rank, (number, at)) for at, rank in enumerate(exchange.ranks))
        lines: dict[int, list[tuple[range, int]]] = {}
        for (source, first, width, blocks), rows in exchange.cells.items():
            into = lines.setdefault(source, [])
            into.extend((peers, rows) for peers in ranges_of(first, width, blocks, exchange.stride))
        by_source.append(lines)
    text: list[str] = []
    for rank in range(world):
        line = [0] * world
        if rank in place:
            number, at = place[rank]
            ranks = parents[number].ranks
            for peers, rows in by_source[number].get(at, ()):
                for peer in ranks[peers.start : peers.stop]:
                    line[peer] += rows * size
        text.append(" ".join(map(str, line)))
    return "\n".join(text) + "\n"


def _inputs(table: RoutingTable, parents: list[tuple[tuple[int, ...], InputRoutes]]) -> str:
    world, size = table.mesh.world_size, table.workload.input_row_bytes
    lines = [[0] * world for _ in range(world)]
    for ranks, inputs in parents:
        for source, destination, _, start, stop in inputs.transfers():
            lines[ranks[source]][ranks[destination]] += (stop - start) * size
        for rank, kept in zip(ranks, inputs.totals.kept, strict=True):
            lines[rank][rank] += kept * size
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
