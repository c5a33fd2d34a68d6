"""Routing tables for the tests of pictures."""

from __future__ import annotations

from typing import Any

from hpplan.diagnostics import Place
from hpplan.reports.route.view import RouteView
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Link
from hpplan.workload.workload import load_workload

PAIR = [(0, 5, 10), (0, 20, 8)]
"""The items of the worked case: 10 rows from token 5, 8 from token 20."""


def view_of(
    mesh: str,
    items: list[tuple[int, int, int]],
    length: int,
    *,
    link: Link | None = None,
    ranks_per_node: int | None = None,
    **fields: Any,  # noqa: ANN401 - of a workload
) -> RouteView:
    """Return the view of items (batch row, first token, rows) on a mesh, in zigzag, or of `replicas`."""
    listed = [
        {"item_id": number, "batch_index": row, "decoder_token_start": start, "output_rows": rows}
        for number, (row, start, rows) in enumerate(items)
    ]
    own = {} if "replicas" in fields else {"items": listed}
    data = {"sequence": {"length": length, "cp_layout": "zigzag", "pad": True}, **own, **fields}
    table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")))
    return RouteView(table, "lpt", link, ranks_per_node)


def worked_case() -> RouteView:
    """Return the worked case of cp 2, tp 2 with sp: bucket 0 on rank 0, bucket 1 on rank 1."""
    return view_of("cp=2,tp=2,sp", PAIR, 32, buckets=[[0], [1], [], []])


def crowded(mesh: str, rows: int = 4, length: int = 8192) -> RouteView:
    """Return a view with an item of 300 rows at every 500 tokens of some batch rows."""
    items = [(row, start, 300 + 7 * row) for row in range(rows) for start in range(20, length - 400, 500)]
    return view_of(
        mesh, items, length, link=Link(50.0, 10.0), ranks_per_node=8, feature_width=2048, payloads=4
    )
