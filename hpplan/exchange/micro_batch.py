"""Planning one micro-batch on one rank, and a digest by which ranks know that they planned the same."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Place
from hpplan.routing.routes import plan_rank
from hpplan.routing.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.routing.mesh import Mesh
    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.transfers import Granularity


def plan_micro_batch(
    data: Mapping[str, Any], mesh: Mesh, rank: int, granularity: Granularity, assign: str
) -> tuple[RankRoute | None, str]:
    """Return what a rank does in one micro-batch, and the digest of what that was planned from.

    `data` is a workload document; raises InvalidInput when it is none, or does
    not fit the mesh.
    """
    workload = load_workload(data, Place("items"))
    route = plan_rank(mesh, workload, rank, granularity, assign)
    planned_from = [mesh.to_data(), granularity, assign, workload.to_data()]
    digest = hashlib.sha256(json.dumps(planned_from, sort_keys=True).encode()).hexdigest()
    return route, f"sha256:{digest}"
