"""What one rank of `hpplan exec` does between meeting and reporting: verify, measure, verify again."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from hpplan.exchange.feature_exchange import FeatureExchange
from hpplan.exchange.group import ExchangeGroup, new_group, on_device
from hpplan.job.measure import Timings, measure
from hpplan.job.verify import Mismatch, Verification, verify, verify_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    import torch.distributed as dist

    from hpplan.job.session import Session
    from hpplan.job.settings import Settings
    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RoutingTable
    from hpplan.watch.ledger import Ledger


def execute(
    session: Session,
    routes: RoutingTable,
    settings: Settings,
    device: torch.device,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Run this rank's routes; return what rank 0 needs for the report, as plain data.

    Ranks of later pipeline stages have nothing to run.
    """
    result: dict[str, Any] = {"rank": session.rank, "host": socket.gethostname()}
    route = routes.rank_route(session.rank)
    if route is None:
        return result
    group = ExchangeGroup.from_mesh(routes.mesh, settings.timeout, session.ledger)
    together = _first_stage(routes.mesh, session.ledger)
    # The first collective makes an accelerator's connections, for which torch waits without end.
    group.transport.watches_devices = True
    session.ledger.in_time(on_device(partial(group.transport.connect, device)), "connecting devices")
    exchange = FeatureExchange.from_routes(routes, group)
    checks: list[Verification] = []
    timings = Timings()
    if settings.verify:
        checks.append(verify_inputs(exchange, routes, device))
        checks.append(verify(exchange, routes, device, backward=settings.backward))
    if settings.iterations:
        timings = measure(
            exchange,
            routes.workload,
            device,
            iterations=settings.iterations,
            warmup=settings.warmup,
            backward=settings.backward,
            progress=progress,
            together=together,
        )
        if settings.verify:
            # Once more, with other fingerprints: buffers in use for a while must not leak old rows.
            checks.append(verify(exchange, routes, device, backward=settings.backward, salt=1))
    return {
        **result,
        "rows_produced": route.rows_produced,
        "rows_sent": route.rows_sent,
        "rows_received": route.rows_received,
        "rows_kept": route.rows_kept,
        "forward": timings.forward,
        "backward": timings.backward,
        "plain_forward": timings.plain_forward,
        "plain_backward": timings.plain_backward,
        "rows_verified": sum(check.rows for check in checks),
        "mismatch_count": max((check.total for check in checks), default=0),
        "mismatches": [mismatch._asdict() for mismatch in _once(checks)],
    }


def _once(checks: list[Verification]) -> list[Mismatch]:
    """Return what was found, each once: found again, a wrong row may hold something else."""
    found: dict[tuple[str, str], Mismatch] = {}
    for mismatch in (one for check in checks for one in check.mismatches):
        found.setdefault((mismatch.code, mismatch.message.partition(": ")[0]), mismatch)
    return list(found.values())


def _first_stage(mesh: Mesh, ledger: Ledger) -> dist.ProcessGroup | None:
    """Return the group of all ranks that exchange; None where that is the whole job."""
    if mesh.pp == 1:
        return None
    ranks = sorted(rank for parent in mesh.parents() for rank in parent)
    return new_group(ranks, ledger)
