"""Workload and mesh to routes; no torch.

    >>> from hpplan.routing import load_workload, parse_mesh, plan_rank, plan_routes
    >>> item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10}
    >>> workload = load_workload({"sequence": {"length": 32, "cp_layout": "zigzag"}, "items": [item]})
    >>> routes = plan_routes(parse_mesh("cp=2,tp=2,sp"), workload)
    >>> plan_rank(routes.mesh, workload, 2).receives  # (source, item_id, row_start, row_stop)
    ((0, 0, 0, 10),)

`routes_to_data(routes)` is the document of a table; `load_routes` and
`routes_from_data` read it back.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpplan.routing.comparison import Comparison, Links, compare
    from hpplan.routing.mesh import Mesh, mesh_of_plan, parse_mesh
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import ParentRoutes, RoutingTable, plan_rank, plan_routes
    from hpplan.routing.routes_document import load_routes, routes_from_data
    from hpplan.routing.routes_writer import routes_to_data
    from hpplan.routing.traffic import Link, Traffic
    from hpplan.routing.transfers import Transfer
    from hpplan.workload.micro_batches import load_micro_batches
    from hpplan.workload.workload import Batch, Item, Workload, load_workload

__all__ = [
    "Batch",
    "Comparison",
    "Item",
    "Link",
    "Links",
    "Mesh",
    "ParentRoutes",
    "RankRoute",
    "RoutingTable",
    "Traffic",
    "Transfer",
    "Workload",
    "compare",
    "load_micro_batches",
    "load_routes",
    "load_workload",
    "mesh_of_plan",
    "parse_mesh",
    "plan_rank",
    "plan_routes",
    "routes_from_data",
    "routes_to_data",
]

_HOMES = {
    "Batch": "hpplan.workload.workload",
    "Comparison": "hpplan.routing.comparison",
    "Item": "hpplan.workload.workload",
    "Link": "hpplan.routing.traffic",
    "Links": "hpplan.routing.comparison",
    "Mesh": "hpplan.routing.mesh",
    "ParentRoutes": "hpplan.routing.routes",
    "RankRoute": "hpplan.routing.rank_route",
    "RoutingTable": "hpplan.routing.routes",
    "Traffic": "hpplan.routing.traffic",
    "Transfer": "hpplan.routing.transfers",
    "Workload": "hpplan.workload.workload",
    "compare": "hpplan.routing.comparison",
    "load_micro_batches": "hpplan.workload.micro_batches",
    "load_routes": "hpplan.routing.routes_document",
    "load_workload": "hpplan.workload.workload",
    "mesh_of_plan": "hpplan.routing.mesh",
    "parse_mesh": "hpplan.routing.mesh",
    "plan_rank": "hpplan.routing.routes",
    "plan_routes": "hpplan.routing.routes",
    "routes_from_data": "hpplan.routing.routes_document",
    "routes_to_data": "hpplan.routing.routes_writer",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any export
    """Import an export when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
