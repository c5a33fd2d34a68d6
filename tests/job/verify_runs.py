"""Faulty transports for the tests of verification: each breaks one thing on one rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from hpplan.exchange.transport import Transport


class Faulty:
    """Stands between packing and the network, and breaks what goes through."""

    def __init__(self, transport: Transport, fault: str, rank: int) -> None:
        """Break this on this rank; `rank` 0 is the one that sends."""
        self._transport = transport
        self._fault = fault
        self._rank = rank

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        """Be like the transport in all else."""
        return getattr(self._transport, name)

    def all_to_all(
        self,
        received: torch.Tensor,
        sent: torch.Tensor,
        output_splits: Sequence[int],
        input_splits: Sequence[int],
        doing: str,
        *rest: Any,  # noqa: ANN401 - whatever else the transport takes
    ) -> Any:  # noqa: ANN401 - what the transport returns
        """Break what the fault says, in the collective it is about."""
        forward = doing == "exchanging features"
        if forward and self._rank == 0:
            sent, input_splits = self._broken(sent, list(input_splits))
        if not forward and self._rank == 1 and "gradient" in self._fault:
            sent = sent.clone()
            if self._fault == "drop a gradient":
                sent[3] = 0
            elif self._fault == "swap two gradients":
                sent[[3, 4]] = sent[[4, 3]]
            elif self._fault == "one gradient's element off":
                sent[3, 1] += 1
        return self._transport.all_to_all(received, sent, output_splits, input_splits, doing, *rest)

    def broadcast_each(self, slots: Sequence[torch.Tensor], *rest: Any) -> Any:  # noqa: ANN401
        """Break what rank 0 gives to all, itself included."""
        if self._rank == 0:
            slots[0].copy_(self._broken(slots[0], [])[0])
        return self._transport.broadcast_each(slots, *rest)

    def _broken(self, sent: torch.Tensor, splits: list[int]) -> tuple[torch.Tensor, list[int]]:
        if self._fault == "corrupt a row":
            sent = sent.clone()
            sent[5, 2] += 1
        elif self._fault == "swap two records":
            sent = sent[[4, 5, 6, 7, 0, 1, 2, 3, *range(8, len(sent))]]
        elif self._fault == "shorten a split":
            splits[1] -= 1
            sent = sent[:-1].contiguous()
        return sent, splits


WORKLOAD = {
    "feature_width": 6,
    "dtype": "bfloat16",
    "payloads": 2,
    "sequence": {"length": 32},
    "items": [
        {"item_id": 7, "batch_index": 0, "decoder_token_start": 16, "output_rows": 4},
        {"item_id": 3, "batch_index": 0, "decoder_token_start": 22, "output_rows": 4},
        {"item_id": 9, "batch_index": 0, "decoder_token_start": 27, "output_rows": 3},
    ],
    "buckets": [[7, 3, 9], []],
}
"""Rank 0 sends three images to rank 1: in send order, rows 0-3 are item 7's, 4-7 item 3's, 8-10 item 9's."""


def verify_with(rank: int, fault: str, workload: dict[str, Any], mesh: str, backward: bool = True) -> Any:  # noqa: ANN401, FBT002 - passed on by position
    """Verify a workload through a faulty transport; return the mismatches, their number and the rows."""
    import torch

    from hpplan.diagnostics import Place
    from hpplan.exchange import FeatureExchange
    from hpplan.job.verify import verify
    from hpplan.routing.mesh import parse_mesh
    from hpplan.routing.routes import plan_routes
    from hpplan.workload.workload import load_workload

    routes = plan_routes(parse_mesh(mesh), load_workload(workload, Place("workload")))
    exchange = FeatureExchange.from_routes(routes, timeout=60)
    if fault == "merge at the wrong token":
        if rank == 1:
            run = exchange._engine.packing.owned_runs
            run[0] = run[0]._replace(start=run[0].start + 1)
    elif fault == "hand over in another order":
        if rank == 1:
            packing = exchange._engine.packing
            packing.__dict__["records"] = (packing.records[1], packing.records[0], *packing.records[2:])
    elif fault:
        exchange._engine.transport = Faulty(exchange._engine.transport, fault, rank)  # type: ignore[assignment]
    found = verify(exchange, routes, torch.device("cpu"), backward=backward)
    return [tuple(one) for one in found.mismatches], found.total, found.rows


def verify_dtypes(rank: int, dtypes: list[str]) -> list[int]:
    """Verify good exchanges in every dtype and mode, with explicit destinations too; return mismatches."""
    workload = {
        "feature_width": 1,
        "sequence": {"length": 24},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 20},
            {"item_id": 1, "batch_index": 1, "decoder_token_start": 4, "output_rows": 9},
        ],
    }
    everywhere = {"destinations": {"1": [0, 1, 2]}}
    return [
        verify_with(rank, "", {**workload, **more, "dtype": dtype}, mesh)[1]
        for dtype in dtypes
        for mesh, more in (("cp=1,tp=3", {}), ("cp=3,tp=1", everywhere), ("tp=3,sp", everywhere))
    ]


def verify_faults(rank: int, faults: list[str], dtypes: list[str]) -> list[tuple[int, int] | None]:
    """Verify an all-gather with one fault after the other; return (item, row) of each first mismatch."""
    found = []
    for fault in faults:
        for dtype in dtypes:
            workload = {**WORKLOAD, "dtype": dtype, "buckets": [[7, 3, 9], [], [], []]}
            mismatches = verify_with(rank, fault, workload, "tp=4")[0]
            found.append(mismatches[0][2:4] if mismatches else None)
    return found
