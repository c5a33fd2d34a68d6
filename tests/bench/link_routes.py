"""Routes of four ranks for the benchmark of links: modes, granularities, layouts, dtypes, payloads, pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.routing.routes import RoutingTable

LENGTH = 8192
WIDTH = 2048

Items = tuple[tuple[int, int, int], ...]
"""Batch row, first token and rows of each."""

ONE: Items = ((0, 100, 6000),)
MIXED: Items = (
    (0, 22, 1638),
    (0, 1700, 1222),
    (0, 3000, 768),
    (0, 4000, 196),
    (0, 4300, 3600),
    (1, 22, 768),
    (1, 1091, 400),
    (1, 1792, 3072),
    (1, 5165, 256),
    (1, 5722, 2304),
)
EVEN: Items = tuple((row, 1024 * at, 1000) for row in range(2) for at in range(8))

Route = tuple[str, str, Items, str, Literal["record", "row"], dict[str, Any]]

ROUTES: tuple[Route, ...] = (
    ("one image", "cp=4", ONE, "zigzag", "record", {}),
    ("one image", "cp=4", ONE, "zigzag", "row", {}),
    ("mixed", "cp=4", MIXED, "zigzag", "row", {}),
    ("mixed", "cp=4", MIXED, "contiguous", "record", {}),
    ("mixed", "cp=2,tp=2,sp", MIXED, "zigzag", "record", {}),
    ("mixed", "cp=2,tp=2,sp", MIXED, "zigzag", "row", {}),
    ("mixed", "cp=2,tp=2", MIXED, "zigzag", "record", {}),
    ("mixed", "cp=2,tp=2", MIXED, "zigzag", "row", {}),
    ("mixed", "tp=4,sp", MIXED, "contiguous", "row", {}),
    ("five images", "tp=4", MIXED[:5], "contiguous", "record", {}),
    ("even", "tp=2,dp=2,sp", EVEN, "contiguous", "row", {}),
    ("mixed", "cp=2,dp=2", MIXED, "contiguous", "row", {}),
    ("mixed", "cp=4", MIXED, "zigzag", "row", {"payloads": 4, "feature_width": WIDTH // 2}),
    ("mixed", "cp=4", MIXED, "zigzag", "row", {"dtype": "float32"}),
    ("pool", "dp=4", (), "contiguous", "row", {"images": (24, 6, 0, 12)}),
    ("pool", "dp=2,cp=2", (), "contiguous", "row", {"images": (24, 6)}),
)
"""What it is, mesh, items, CP layout, granularity, and more fields of the workload.

With `images` each replica of a pool has items of its own, so many.
"""


def tables(part: int) -> Iterator[tuple[str, RoutingTable]]:
    """Yield each route with a name, in features of 1/`part` of the width."""
    for what, mesh, items, layout, granularity, more in ROUTES:
        data = _workload(items, layout, more)
        data["feature_width"] //= part
        table = plan_routes(
            parse_mesh(mesh), load_workload(data), "row" if granularity == "row" else "record"
        )
        yield (
            " ".join([what, mesh, layout, granularity, *(f"{name}={one}" for name, one in more.items())]),
            table,
        )


def _workload(items: Items, layout: str, more: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "feature_width": WIDTH,
        "dtype": "bfloat16",
        "sequence": {"length": LENGTH, "cp_layout": layout},
        **{name: one for name, one in more.items() if name != "images"},
    }
    if "images" in more:
        replicas = [_images(replica, count) for replica, count in enumerate(more["images"])]
        return {**data, "encoder_pool": "all", "replicas": replicas}
    found = [
        {"item_id": at, "batch_index": row, "decoder_token_start": start, "output_rows": rows}
        for at, (row, start, rows) in enumerate(items)
    ]
    return {**data, "items": found}


def _images(replica: int, count: int) -> dict[str, Any]:
    items = [
        {"item_id": 100 * replica + at, "batch_index": at // 8, "decoder_token_start": 1000 * (at % 8)}
        for at in range(count)
    ]
    return {"items": [{**item, "output_rows": 900, "input_rows": 3600} for item in items]}
