"""The routing table as data for a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest
from hpplan.routing.once import OnceRoutes
from hpplan.routing.traffic import Traffic
from hpplan.routing.transfers import ROUTES_VERSION

if TYPE_CHECKING:
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import ParentRoutes, RoutingTable
    from hpplan.routing.traffic import Link

LARGEST_MATRIX = 512
"""Ranks of a parent up to which its matrix is written out; the transfers say the same."""

MOST_TRANSFERS = 20_000_000
"""Transfers that a document may list."""


def routes_to_data(table: RoutingTable, link: Link | Cluster | None = None) -> dict[str, Any]:
    """Return the table as a document.

    Raises UnusableRequest when it would list more than `MOST_TRANSFERS`.
    """
    listed = sum(routes.totals.transfers for _, routes in table.parents)
    if listed > MOST_TRANSFERS:
        raise UnusableRequest(
            f"this table would list {listed:,} transfers, more than {MOST_TRANSFERS:,}; "
            "look at its summary (--format table or csv), or at one rank (--rank)"
        )
    written: dict[int, dict[str, Any]] = {}
    parents: list[dict[str, Any]] = []
    for parent in table.parents:
        shared = written.get(id(parent.routes))
        if shared is None:
            shared = written[id(parent.routes)] = parent_data(parent)
        parents.append({"ranks": list(parent.ranks), **shared})
    return {
        "hpplan_routes": ROUTES_VERSION,
        "digest": table.digest,
        "mesh": table.mesh.to_data(),
        "mode": table.mode.name,
        "granularity": table.granularity,
        "workload": table.workload.to_data(),
        "parents": parents,
        "traffic": Traffic(table, link).to_data(),
    }


def parent_data(parent: ParentRoutes) -> dict[str, Any]:
    """Return what a parent has beside its ranks."""
    routes = parent.routes
    data: dict[str, Any] = {
        "buckets": [list(bucket) for bucket in routes.item_ids],
        "destinations": {str(item.item_id): routes.destinations(item) for _, item in routes.produced()},
        "transfers": [list(transfer) for transfer in routes.transfers()],
    }
    if isinstance(routes, OnceRoutes):
        data["gathers"] = [list(transfer) for transfer in routes.gathers()]
    inputs = parent.inputs
    if inputs is not None:
        data["input_transfers"] = [list(transfer) for transfer in inputs.transfers()]
    if routes.size <= LARGEST_MATRIX:
        data["matrix"] = routes.matrix()
    return data
