"""A rank with nothing to encode takes part without knowing the dtype of the others' features."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ranks import end_ranks, run_ranks

from hpplan.exchange import ExchangeGroup, FeatureExchange

WIDTH = 3


def _items(*rows: int) -> list[dict[str, Any]]:
    """Return an image in each batch row, that starts in the last quarter of rank 0's tokens."""
    return [
        {"item_id": at, "batch_index": at, "decoder_token_start": 6, "output_rows": count}
        for at, count in enumerate(rows)
    ]


def _calls(rank: int, length: int, rows: int) -> list[tuple[str, str, tuple[int, ...], int]]:
    """Rank 0 has all rows, in another dtype in each call; rank 1 always brings float32."""
    group = ExchangeGroup.from_mesh("cp=2")
    exchange = FeatureExchange.plan(
        _items(rows), None, {"length": length}, group, buckets=[[0], []], granularity="row"
    )
    heard = []
    for dtype in (torch.bfloat16, torch.float64, torch.bfloat16):
        features = torch.ones(rows if rank == 0 else 0, WIDTH, dtype=dtype if rank == 0 else torch.float32)
        features.requires_grad_()
        received = exchange(features)
        received.rows.sum().backward()
        assert features.grad is not None
        heard.append(
            (
                str(received.rows.dtype),
                str(features.grad.dtype),
                tuple(features.grad.shape),
                int((received.rows == 1).all(1).sum()),
            )
        )
    return heard


@pytest.mark.parametrize(("length", "rows"), [(16, 8), (1 << 18, 1 << 17)])
def test_the_dtype_is_that_of_the_others(length: int, rows: int) -> None:
    """Under autocast the rank would have to know what an encoder gives that it did not run.

    Many rows travel apart from the notes. Rank 0 holds tokens 6 to half of the length.
    """
    first, second = run_ranks(2, _calls, length, rows)
    names = ["torch.bfloat16", "torch.float64", "torch.bfloat16"]
    own = length // 2 - 6
    assert first == [(name, name, (rows, WIDTH), own) for name in names]
    assert second == [(name, "torch.float32", (0, WIDTH), rows - own) for name in names]


def _nobody(rank: int) -> str:
    group = ExchangeGroup.from_mesh("cp=2")
    exchange = FeatureExchange.plan([], None, {"length": 16}, group)
    features = torch.zeros(0, WIDTH, dtype=torch.float32 if rank else torch.bfloat16, requires_grad=True)
    received = exchange(features)
    received.tie(torch.zeros((), requires_grad=True)).backward()
    return str(received.rows.dtype)


def test_nobody_has_rows() -> None:
    """A batch of text alone has no dtype that would be right."""
    assert run_ranks(2, _nobody) == ["torch.bfloat16", "torch.float32"]


def _disagree(rank: int) -> None:
    group = ExchangeGroup.from_mesh("cp=4")
    exchange = FeatureExchange.plan(_items(1, 1), None, {"length": 32}, group, buckets=[[0], [], [], [1]])
    exchange(torch.zeros(int(rank in {0, 3}), WIDTH, dtype=torch.bfloat16 if rank == 0 else torch.float32))


def test_ranks_with_rows_still_agree() -> None:
    """Rows of two dtypes in one buffer would be read as something else."""
    for ended in end_ranks(4, _disagree):
        assert ended.error.startswith(
            "PeersFailed: rank 3 brings float32 on cpu, width 3, and rank 0 bfloat16 on cpu, width 3"
        )
