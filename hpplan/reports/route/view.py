"""What every format of `hpplan route` shows: a table, its traffic and what to warn of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hpplan.routing.assignment.base import LOAD_FACTOR
from hpplan.routing.routes_writer import routes_to_data
from hpplan.routing.traffic import Traffic, rows_leaving_blocks
from hpplan.routing.traffic_warnings import check_traffic, folded
from hpplan.routing.verdict import VERDICT, verdict

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic
    from hpplan.routing.assignment.base import Cost
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable
    from hpplan.routing.traffic import Link, RankTraffic
    from hpplan.routing.verdict import Verdict


@dataclass(frozen=True)
class RouteView:
    """A routing table as it is shown."""

    table: RoutingTable
    assigned_by: str
    """The policy that filled the buckets; empty where they were given."""
    link: Link | Cluster | None = None
    ranks_per_node: int | None = None
    name: str = ""
    """What was routed, where that is a file."""
    cost: Cost = "rows"
    """What encoding an item costs, to the verdict."""
    load_factor: float = LOAD_FACTOR

    @cached_property
    def warnings(self) -> list[Diagnostic]:
        """What the workload and its traffic give cause to warn of, once of a kind."""
        return folded([*self.table.warnings, *check_traffic(self.traffic, notes=True)])

    @cached_property
    def traffic(self) -> Traffic:
        """The sums of the table."""
        return Traffic(self.table, self.link)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether it is balanced, what it costs, and what would help."""
        return verdict(
            self.table,
            Traffic(self.table, self.link, cost=self.cost) if self.cost != "rows" else self.traffic,
            self.assigned_by,
            load_factor=self.load_factor,
            ranks_per_node=self.ranks_per_node,
        )

    def to_data(self) -> dict[str, Any]:
        """Return the table as a document, with the verdict."""
        return {**routes_to_data(self.table, self.link), "verdict": VERDICT.of(self.verdict)}

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


def busiest(ranks: list[RankTraffic], most: int) -> list[RankTraffic]:
    """Return the ranks that send or receive the most rows to or from others, the busiest first."""
    return sorted(ranks, key=lambda one: (-max(one.sent, one.received), one.rank))[:most]
