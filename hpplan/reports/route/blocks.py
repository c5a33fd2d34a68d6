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
    """A partition of ranks.

    `kind` says what one block is: a rank, a node, a CP group, a replica, a block of those, or the ranks of
    one number in all parents.
    """

    kind: str
    labels: tuple[str, ...]
    """Short name of each block."""
    block_of: tuple[int, ...]
    """Block of each global rank; 0 for ranks that are not shown, which exchange nothing."""
    ranks: tuple[tuple[int, ...], ...]
    """Global ranks of each block."""
    numbered: str = ""
    """How blocks are numbered or laid on top of each other, with a comma before it; else empty."""

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


MOST_PARENTS = 8
"""Parents up to which a matrix has lines of their own for each."""


def fold_ranks(view: RouteView, most: int) -> Blocks:
    """Return the finest partition of the ranks that are shown with at most `most` blocks.

    Ranks themselves, nodes where their size is given, CP groups (the TP ranks
    of one CP coordinate), several CP groups of a replica together, replicas, several replicas
    together, or, in a parent of one CP group, neighbouring ranks together.
    """
    return _folded(view, shown_parents(view), most, view.ranks_per_node)


def fold_pairs(view: RouteView, most: int) -> Blocks:
    """Return the partition for a matrix of who sends to whom.

    Ranks of different parents exchange nothing: of many parents all are laid on top of each other, by
    parent rank, as else only a diagonal would be left.
    """
    parents = shown_parents(view)
    if len(parents) <= MOST_PARENTS:
        return fold_ranks(view, most)
    one = _folded(view, parents[:1], most, None)
    first = parents[0].ranks
    block_of = [0] * view.table.mesh.world_size
    members: list[list[int]] = [[] for _ in one.labels]
    for parent in parents:
        for at, rank in enumerate(parent.ranks):
            block_of[rank] = one.block_of[first[at]]
            members[block_of[rank]].append(rank)
    kind, labels = one.kind, one.labels
    if kind == "rank":
        kind, labels = "parent rank", tuple(str(at) for at in range(len(first)))
    laid = f"{one.numbered}, {len(parents):,} parents added up"
    return Blocks(kind, labels, tuple(block_of), tuple(map(tuple, members)), laid)


def _folded(view: RouteView, parents: Sequence[ParentRoutes], most: int, per_node: int | None) -> Blocks:
    mesh = view.table.mesh
    ranks = sorted(rank for parent in parents for rank in parent.ranks)
    if len(ranks) <= most:
        return _partition("rank", mesh.world_size, ranks, str)
    if per_node is not None and len({rank // per_node for rank in ranks}) <= most:
        return _partition("node", mesh.world_size, ranks, lambda rank: str(rank // per_node))
    at = {rank: mesh.coordinates(rank) for rank in ranks}
    replicas = len({one["dp"] for one in at.values()})
    label: Callable[[int], str]
    numbered = ""
    if replicas > most:
        kind, label = "block of replicas", _together(replicas, most, lambda rank: at[rank]["dp"])
    elif replicas > 1:
        each = next(
            one for one in range(1, mesh.cp + 1) if mesh.cp % one == 0 and replicas * mesh.cp // one <= most
        )
        kind, numbered = _CP_GROUPS[each > 1], ", numbered replica.cp"

        def label(rank: int) -> str:
            first = at[rank]["cp"] // each * each
            return f"{at[rank]['dp']}.{_range(first, first + each - 1)}"

        if each == mesh.cp:
            kind, numbered, label = "replica", "", lambda rank: str(at[rank]["dp"])
    elif mesh.cp > 1:
        kind, label = _CP_GROUPS[mesh.cp > most], _together(mesh.cp, most, lambda rank: at[rank]["cp"])
    else:
        numbers = {rank: number for number, rank in enumerate(ranks)}
        kind, label = "block of ranks", _together(len(ranks), most, numbers.__getitem__)
    return _partition(kind, mesh.world_size, ranks, label, numbered)


_CP_GROUPS = ("CP group", "block of CP groups")
"""One of them, and several."""


def _together(many: int, most: int, number: Callable[[int], int]) -> Callable[[int], str]:
    """Return the label of a rank, of whose kind `number` is one of `many`, in at most `most` blocks."""
    each = -(-many // most)

    def label(rank: int) -> str:
        first = number(rank) // each * each
        return _range(first, min(first + each, many) - 1)

    return label


def _range(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else f"{first}"


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
