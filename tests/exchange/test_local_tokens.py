"""The tokens that a rank holds, and its slices of whole tensors."""

from __future__ import annotations

import pytest
import torch
from ranks import run_ranks

from hpplan.exchange import ExchangeGroup, FeatureExchange, UnusableRequest

ITEMS = [{"item_id": 0, "batch_index": 0, "decoder_token_start": 1, "output_rows": 6}]


def _take(_rank: int) -> tuple[list[int], list[list[float]], float, list[float]]:
    group = ExchangeGroup.from_mesh("cp=2,tp=2,sp")
    sequence = {"length": 14, "cp_layout": "zigzag", "pad": True}
    exchange = FeatureExchange.plan(ITEMS, None, sequence, group)
    whole = torch.arange(28.0).reshape(2, 14).requires_grad_()
    local = exchange.take_local(whole, padding=-100)
    local.sum().backward()
    features = torch.arange(sum(rows for _, rows in exchange.bucket)).float().reshape(-1, 1)
    merged = exchange(features).merge_into(torch.full((1, 4, 1), -1.0))
    assert whole.grad is not None
    placed = [float(row) for row in merged.flatten()]
    return exchange.local_tokens.tolist(), local.tolist(), exchange.gradient_scale, placed


def test_local_tokens_are_those_of_the_layout() -> None:
    """Labels would be cut for other tokens than the features are merged at.

    14 tokens are padded to 16: four chunks of 4, cp 0 has the first and the last, cp 1 the middle ones;
    each TP rank holds 4 of the 8.
    """
    expected = [[0, 1, 2, 3], [12, 13, 14, 15], [4, 5, 6, 7], [8, 9, 10, 11]]
    for tokens, (local, scale_local, scale, merged) in zip(expected, run_ranks(4, _take), strict=True):
        assert local == tokens
        first, second = scale_local
        assert first == [token if token < 14 else -100 for token in tokens]
        assert second == [token + 14 if token < 14 else -100 for token in tokens]
        assert scale == 4
        assert merged == [token - 1.0 if 1 <= token < 7 else -1.0 for token in tokens]


def test_a_bare_route_knows_no_tokens() -> None:
    """It says so, and does not guess."""
    exchange = FeatureExchange.__new__(FeatureExchange)
    exchange._planned = None
    with pytest.raises(UnusableRequest, match="make it with `plan` or `from_routes`"):
        _ = exchange.local_tokens
