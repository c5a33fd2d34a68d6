"""The exchange as a "basic" trace of PARAM, one for each rank, which its replay tool runs.

PARAM counts elements. Its all-gather cannot be ragged, so every mode is an
`all_to_allv` with the same splits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
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
    route = table.rank_route(rank)
    if route is not None and table.mode.collective != "none":
        elements = table.workload.row_elements
        at = table.mesh.parent_of(rank)
        assert at is not None
        entries.append(
            {
                "comms": "all_to_allv",
                "pg_id": at[0],
                "global_ranks": list(route.group_ranks),
                "world_size": len(route.group_ranks),
                "dtype": _DTYPES[table.workload.dtype],
                "in_msg_size": route.send_buffer_rows * elements,
                "out_msg_size": route.receive_buffer_rows * elements,
                "in_split": [rows * elements for rows in route.input_splits],
                "out_split": [rows * elements for rows in route.output_splits],
                "markers": ["feature exchange"],
            }
        )
    entries.append({"comms": "barrier", "world_size": world, "markers": ["end"]})
    return entries


def render(table: RoutingTable, rank: int) -> str:
    """Return the trace of one global rank as the text of its file, `<rank>.json`."""
    return json.dumps(trace(table, rank), indent=1) + "\n"
