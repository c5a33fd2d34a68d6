"""What every format of `hpplan route` shows: a table, its traffic, and the blocks its matrix is folded to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hpplan.routing.traffic import Traffic, fold_matrix, rows_leaving_blocks
from hpplan.routing.traffic_warnings import check_traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.routes import ParentRoutes, RoutingTable
    from hpplan.routing.traffic import Link

MOST_BLOCKS = 32
"""Rows and columns up to which a matrix is shown; larger ones are folded."""


@dataclass(frozen=True)
class Folded:
    """The matrix in blocks of ranks: rows from each to each."""

    title: str
    labels: list[str]
    rows: list[list[int]]

    @property
    def largest(self) -> int:
        """The largest number of rows in one cell."""
        return max((max(line) for line in self.rows), default=0)


@dataclass(frozen=True)
class RouteView:
    """A routing table as it is shown."""

    table: RoutingTable
    assigned_by: str
    """The policy that filled the buckets; empty where they were given."""
    link: Link | None = None
    ranks_per_node: int | None = None
    name: str = ""
    """What was routed, where that is a file."""

    @cached_property
    def warnings(self) -> list[Diagnostic]:
        """What the workload and its traffic give cause to warn of."""
        return [*self.table.warnings, *check_traffic(self.traffic)]

    @cached_property
    def traffic(self) -> Traffic:
        """The sums of the table."""
        return Traffic(self.table, self.link)

    @property
    def alike(self) -> bool:
        """Whether all parents run the same batch."""
        return not self.table.workload.per_replica

    @cached_property
    def rows_between_nodes(self) -> int | None:
        """Rows that leave their node, where `ranks_per_node` says what a node is."""
        if self.ranks_per_node is None:
            return None
        block_of = [rank // self.ranks_per_node for rank in range(self.table.mesh.world_size)]
        return rows_leaving_blocks(self.table.parents, block_of)

    @cached_property
    def matrix(self) -> Folded:
        """The matrix: rank by rank up to `MOST_BLOCKS`, else node by node or CP group by CP group."""
        mesh, parents = self.table.mesh, self.table.parents
        world = mesh.world_size
        whose = ""
        if self.alike and mesh.dp > 1 and (self.ranks_per_node is None or world <= MOST_BLOCKS):
            parents = parents[:1]
            whose = f" of one of {mesh.dp} replicas, all alike"
        ranks = [rank for one, _ in parents for rank in one]
        if len(ranks) <= MOST_BLOCKS:
            blocks = {rank: number for number, rank in enumerate(sorted(ranks))}
            title = f"Rows from rank (line) to rank (column){whose}"
            return self._folded(title, blocks, [str(rank) for rank in sorted(ranks)], parents, world)
        if self.ranks_per_node is not None:
            per_node = self.ranks_per_node
            name, blocks = "node", {rank: rank // per_node for rank in ranks}
        else:
            name = "CP group" if len(parents) == 1 else "CP group (counted through the replicas)"
            blocks = {
                rank: number * mesh.cp + at // mesh.tp
                for number, (one, _) in enumerate(parents)
                for at, rank in enumerate(one)
            }
        numbers = sorted(set(blocks.values()))
        merge = -(-len(numbers) // MOST_BLOCKS)
        place = {number: at // merge for at, number in enumerate(numbers)}
        blocks = {rank: place[number] for rank, number in blocks.items()}
        labels = [
            f"{group[0]}" if len(group) == 1 else f"{group[0]}-{group[-1]}"
            for group in (numbers[at : at + merge] for at in range(0, len(numbers), merge))
        ]
        return self._folded(
            f"Rows from {name} (line) to {name} (column){whose}", blocks, labels, parents, world
        )

    @staticmethod
    def _folded(
        title: str,
        blocks: dict[int, int],
        labels: list[str],
        parents: Sequence[ParentRoutes],
        world: int,
    ) -> Folded:
        block_of = [blocks.get(rank, 0) for rank in range(world)]
        return Folded(title, labels, fold_matrix(parents, block_of, len(labels)))
