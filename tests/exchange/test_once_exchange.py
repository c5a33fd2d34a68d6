"""`once` with real ranks: the rows and gradients of `row`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ranks import run_ranks

from hpplan.exchange import FeatureExchange
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

ITEMS = [
    {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
    {"item_id": 1, "batch_index": 1, "decoder_token_start": 20, "output_rows": 9},
    {"item_id": 2, "batch_index": 1, "decoder_token_start": 0, "output_rows": 3},
]
DATA = {"sequence": {"length": 32, "cp_layout": "zigzag"}, "items": ITEMS, "feature_width": 3}

Found = tuple[list[float], list[list[float]], list[float]]


def _train(rank: int, granularity: Any, replica_grad: Any, frozen: bool) -> Found:  # noqa: ANN401 - as plain data
    """Return what two payloads of this rank become, and what comes back for them."""
    workload = load_workload({**DATA, "buckets": [[0], [2, 1], [], []]})
    routes = plan_routes(parse_mesh("cp=2,tp=2"), workload, granularity)
    exchange = FeatureExchange.from_routes(routes, replica_grad=replica_grad)
    rows = sum(count for _, count in exchange.bucket)
    drawn = torch.Generator().manual_seed(rank)
    payloads = [
        torch.rand(rows, width, generator=drawn, dtype=torch.float64).requires_grad_(not frozen)
        for width in (3, 2)
    ]
    received = exchange.check(payloads)
    merged = [
        received.merge_into(torch.zeros(2, 16, width, dtype=torch.float64, requires_grad=True), number)
        for number, width in enumerate((3, 2))
    ]
    weights = torch.arange(32, dtype=torch.float64).reshape(2, 16, 1) + 100 * rank
    sum((one * weights).sum() for one in merged).backward()  # type: ignore[union-attr]
    grads = [[] if one.grad is None else one.grad.flatten().tolist() for one in payloads]
    handed = [float(record.item_id) for record in received.records() for _ in range(len(record.rows))]
    return torch.cat([one.detach().flatten() for one in merged]).tolist(), grads, handed


@pytest.mark.parametrize(("replica_grad", "frozen"), [("mean", False), ("sum", False), ("mean", True)])
def test_rows_and_gradients_are_those_of_row(replica_grad: str, frozen: bool) -> None:
    """A copy that is counted twice, or a gradient that stays with one TP rank, trains something else."""
    once, row = (run_ranks(4, _train, kind, replica_grad, frozen) for kind in ("once", "row"))
    for own, due in zip(once, row, strict=True):
        assert own[0] == due[0]
        assert [pytest.approx(one, rel=1e-12) for one in due[1]] == own[1]
        assert own[2] == due[2]
