"""Every code of routing: HP4xx about mesh and workload, HP5xx about routes and their execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.routing import batch_codes, exec_codes, mesh_codes, route_codes, workload_codes

if TYPE_CHECKING:
    from hpplan.diagnostics import Code

CODES: tuple[Code, ...] = (
    *mesh_codes.CODES,
    *workload_codes.CODES,
    *batch_codes.CODES,
    *route_codes.CODES,
    *exec_codes.CODES,
)
