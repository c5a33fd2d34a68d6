"""The exchange as a "basic" trace of PARAM, one for each rank, which its replay tool runs.

PARAM counts elements. Its all-gather cannot be ragged, so every mode is an
`all_to_allv` with the same splits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable

_DTYPES = {"bfloat16": "BFloat16", "float16": "Half", "float32": "Float", "float64": "Double"}


MOST_RANKS = 8192
"""Ranks up to which all traces are written: each names every process group."""


def check_size(table: RoutingTable) -> None:
    """Raise UnusableRequest where the traces of all ranks would be too many."""
    world = table.mesh.world_size
    if world > MOST_RANKS:
        raise UnusableRequest(
            f"{world:,} traces are too many to write; the most are {MOST_RANKS:,}, or take one with --rank"
        )


def trace(table: RoutingTable, rank: int) -> list[dict[str, Any]]:
    """Return the trace of one global rank: a process group for each parent, then the exchange of its own.

    Ranks that do not exchange take part in making the groups, as torch wants it.
    """
    world = table.mesh.world_size
    entries: list[dict[str, Any]] = [
        {
            "comms": "init",
            "pg_id": number,
            "global_ranks": list(ranks),
            "world_size": len(ranks),
            "markers": [f"parent {number}"],
        }
        for number, (ranks, _) in enumerate(table.parents)
    ]
    route, at = table.rank_route(rank), table.mesh.parent_of(rank)
    if route is not None and at is not None and table.mode.collective != "none":
        workload = table.workload
        inputs = table.rank_inputs(rank)
        if inputs is not None:
            width, dtype = workload.input_width, workload.input_dtype
            entries.append(_exchange(inputs, at[0], width, dtype, "input exchange"))
        elements = workload.row_elements
        entries.append(_exchange(route, at[0], elements, workload.dtype, "feature exchange"))
        if route.gather is not None:
            entries.append(_exchange(route.gather, at[0], elements, workload.dtype, "feature gather"))
    entries.append({"comms": "barrier", "world_size": world, "markers": ["end"]})
    return entries


def _exchange(route: RankRoute, parent: int, elements: int, dtype: str, marker: str) -> dict[str, Any]:
    """Return the entry of one exchange, of rows of so many elements."""
    return {
        "comms": "all_to_allv",
        "pg_id": parent,
        "global_ranks": list(route.group_ranks),
        "world_size": len(route.group_ranks),
        "dtype": _DTYPES[dtype],
        "in_msg_size": route.send_buffer_rows * elements,
        "out_msg_size": route.receive_buffer_rows * elements,
        "in_split": [rows * elements for rows in route.input_splits],
        "out_split": [rows * elements for rows in route.output_splits],
        "markers": [marker],
    }


def render(table: RoutingTable, rank: int) -> str:
    """Return the trace of one global rank as the text of its file, `<rank>.json`."""
    return json.dumps(trace(table, rank), indent=1) + "\n"
