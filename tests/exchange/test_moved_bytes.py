"""The bytes that a preview counts are those that the exchange hands to its transport, in every mode."""

from __future__ import annotations

from typing import Any

import byte_runs
from ranks import run_ranks

from hpplan.diagnostics import Place
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.modes import MODES
from hpplan.routing.routes import plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.routing.transfers import GRANULARITIES
from hpplan.workload.workload import load_workload

WORKLOAD: dict[str, Any] = {
    "feature_width": 3,
    "dtype": "float32",
    "sequence": {"length": 32},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 1, "output_rows": 13},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 6},
    ],
}
POOL: dict[str, Any] = {
    **{field: value for field, value in WORKLOAD.items() if field != "items"},
    "encoder_pool": "all",
    "replicas": [{"items": [item]} for item in WORKLOAD["items"]],
}
BY_MESH = {
    "tp=4": WORKLOAD,
    "tp=4,sp": WORKLOAD,
    "cp=4": WORKLOAD,
    "cp=2,tp=2": WORKLOAD,
    "cp=2,tp=2,sp": WORKLOAD,
    "dp=4": WORKLOAD,
    "dp=2,tp=2": POOL,
}


def test_previews_count_what_is_moved() -> None:
    """Rows of a copy, of a record or of a gradient that the table leaves out, or counts twice, show here.

    A broadcast is sent once, and its gradients come back from each rank that it reached.
    """
    runs = [(mesh, workload, one) for mesh, workload in BY_MESH.items() for one in GRANULARITIES]
    by_rank = run_ranks(4, byte_runs.count, runs)
    seen = set()
    for number, (mesh, data, granularity) in enumerate(runs):
        workload = load_workload(data, Place("w"))
        table = plan_routes(parse_mesh(mesh), workload, granularity)
        seen.add(table.mode.name)
        # All-gathers reach every other rank of the group; an all-to-all has rows for each.
        receivers = table.mesh.parent_size - 1 if table.mode.reaches_all else 1
        for one in Traffic(table).per_rank():
            rows = (one.received, one.sent, one.sent * receivers, one.received)
            counted = [amount * workload.row_bytes for amount in rows]
            assert by_rank[one.rank][number] == counted, (mesh, granularity, one)
    assert seen == {mode.name for mode in MODES}
