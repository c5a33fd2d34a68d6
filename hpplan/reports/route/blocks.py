"""Ranks folded into blocks, so that thousands of them fit a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpplan.routing.traffic import fold_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.reports.route.view import RouteView
    from hpplan.routing.routes import ParentRoutes


@dataclass(frozen=True)
class Blocks:
    """A partition of ranks. `kind` says what one block is: a rank, a node, a CP group, a block of those."""

    kind: str
    labels: tuple[str, ...]
    """Short name of each block."""
    block_of: tuple[int, ...]
    """Block of each global rank; 0 for ranks that are not shown, which exchange nothing."""
    ranks: tuple[tuple[int, ...], ...]
    """Global ranks of each block."""
    numbered: str = ""
    """How blocks of several replicas are numbered, with a comma before it; else empty."""

    def name(self, block: int) -> str:
        """Name a block in a sentence: `rank 3`, `CP groups 0-7`."""
        return f"{self.kind.removeprefix('block of ')} {self.labels[block]}"

    def matrix(self, parents: Sequence[ParentRoutes]) -> list[list[int]]:
        """Return the rows from each block to each, kept ones included."""
        return fold_matrix(parents, self.block_of, len(self.labels))


def shown_parents(view: RouteView) -> tuple[ParentRoutes, ...]:
    """Return the first parent where all run the same batch, else every parent."""
    parents = view.table.parents
    return parents[:1] if view.alike else parents


def fold_ranks(view: RouteView, most: int) -> Blocks:
    """Return the finest partition of the ranks that are shown with at most `most` blocks.

    Ranks themselves, nodes where their size is given, CP groups (the TP ranks
    of one CP coordinate), several CP groups together, or, where there is only
    one, neighbouring ranks together.
    """
    mesh = view.table.mesh
    parents = shown_parents(view)
    several_replicas = len(parents) > 1
    ranks = sorted(rank for parent in parents for rank in parent.ranks)

    def group(rank: int) -> int:
        at = mesh.coordinates(rank)
        return at["dp"] * mesh.cp + at["cp"]

    def of_group(rank: int) -> str:
        dp, cp = divmod(group(rank), mesh.cp)
        return f"{dp}.{cp}" if several_replicas else f"{cp}"

    if len(ranks) <= most:
        return _partition("rank", mesh.world_size, ranks, str)
    per_node = view.ranks_per_node
    if per_node is not None and len({rank // per_node for rank in ranks}) <= most:
        return _partition("node", mesh.world_size, ranks, lambda rank: str(rank // per_node))
    groups = len(parents) * mesh.cp
    if 1 < groups <= most:
        numbered = ", numbered replica.cp" if several_replicas else ""
        return _partition("CP group", mesh.world_size, ranks, of_group, numbered)
    numbered = ""
    if groups > 1:
        kind, many, number = "block of CP groups", groups, {rank: group(rank) for rank in ranks}
        numbered = ", counted through the replicas" if several_replicas else ""
    else:
        kind, many, number = "block of ranks", len(ranks), {rank: at for at, rank in enumerate(ranks)}
    together = -(-many // most)

    def several(rank: int) -> str:
        first = number[rank] // together * together
        last = min(first + together, many) - 1
        return f"{first}-{last}" if last > first else f"{first}"

    return _partition(kind, mesh.world_size, ranks, several, numbered)


def _partition(
    kind: str, world_size: int, ranks: list[int], label: Callable[[int], str], numbered: str = ""
) -> Blocks:
    block_of = [0] * world_size
    numbers: dict[str, int] = {}
    members: list[list[int]] = []
    for rank in ranks:
        block = numbers.setdefault(label(rank), len(numbers))
        if block == len(members):
            members.append([])
        members[block].append(rank)
        block_of[rank] = block
    return Blocks(kind, tuple(numbers), tuple(block_of), tuple(map(tuple, members)), numbered)


def cells_of(parents: Sequence[ParentRoutes]) -> int:
    """Return how many pairs of ranks exchange something, at the most."""
    known: dict[int, int] = {}
    for _, routes in parents:
        if id(routes) not in known:
            pairs = sum(width * blocks for _, _, width, blocks in routes.totals.cells)
            known[id(routes)] = min(pairs, routes.size**2)
    return sum(known[id(routes)] for _, routes in parents)
