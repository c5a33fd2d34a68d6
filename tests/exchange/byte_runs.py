"""What each rank of the tests of moved bytes runs."""

from __future__ import annotations

from typing import Any


def count(rank: int, runs: list[tuple[str, dict[str, Any], str]]) -> list[list[int]]:
    """Run (mesh, workload, granularity) forward and backward; return what this rank hands to its transport.

    Of each run: bytes that arrive forward, bytes sent forward, that arrive backward, and sent backward. What
    a broadcast hands over counts once, and the two steps of `once` add up.
    """
    del rank
    return [_counted(*run) for run in runs]


def _counted(mesh: str, data: dict[str, Any], granularity: str) -> list[int]:
    import torch

    from hpplan.diagnostics import Place
    from hpplan.exchange import FeatureExchange
    from hpplan.routing.mesh import parse_mesh
    from hpplan.routing.routes import plan_routes
    from hpplan.workload.workload import load_workload

    workload = load_workload(data, Place("workload"))
    routes = plan_routes(parse_mesh(mesh), workload, granularity)  # type: ignore[arg-type]
    exchange = FeatureExchange.from_routes(routes, timeout=60)
    transport: Any = exchange.group.transport
    all_to_all, broadcast_each = transport.all_to_all, transport.broadcast_each
    rank = exchange.route.group_rank
    moved: list[int] = []

    def counted_all_to_all(
        received: torch.Tensor,
        sent: torch.Tensor,
        output_splits: list[int],
        input_splits: list[int],
        *rest: Any,  # noqa: ANN401 - a transport's
    ) -> Any:  # noqa: ANN401 - a transport's
        # Where rows are few, a rank's own go through the collective with the others.
        kept = input_splits[rank] * workload.row_bytes
        assert input_splits[rank] == output_splits[rank]
        moved.extend((received.nbytes - kept, sent.nbytes - kept))
        return all_to_all(received, sent, output_splits, input_splits, *rest)

    def counted_broadcasts(slots: list[torch.Tensor], *rest: Any) -> Any:  # noqa: ANN401 - a transport's
        mine = slots[rank].nbytes
        moved.extend((sum(slot.nbytes for slot in slots) - mine, mine))
        return broadcast_each(slots, *rest)

    transport.all_to_all, transport.broadcast_each = counted_all_to_all, counted_broadcasts
    features = torch.ones(exchange.route.rows_produced, workload.feature_width, requires_grad=True)
    received = exchange(features)
    torch.autograd.backward(received.payloads, [torch.ones_like(rows) for rows in received.payloads])
    half = len(moved) // 2  # as many collectives back as there
    return [
        sum(moved[start:stop:2]) for start, stop in ((0, half), (1, half), (half, None), (half + 1, None))
    ]
