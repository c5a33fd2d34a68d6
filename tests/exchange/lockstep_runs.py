"""Ranks that call exchanges, or run backwards, in different orders; all messages have the same size."""

from __future__ import annotations

from typing import Any

from rank_runs import make_features


def exchanges() -> list[Any]:
    """Return two exchanges of one group, on two ranks that send each other as many rows in both."""
    from hpplan.exchange import ExchangeGroup, FeatureExchange

    group = ExchangeGroup.from_mesh("cp=2", timeout=60)
    made = []
    for shift in (0, 1):
        items = [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 2 + shift, "output_rows": 4},
            {"item_id": 1, "batch_index": 0, "decoder_token_start": 9 + shift, "output_rows": 4},
        ]
        made.append(FeatureExchange.plan(items, "cp=2", {"length": 16}, group, buckets=[[1], [0]]))
    return made


def _loss(exchange: Any) -> Any:  # noqa: ANN401 - torch stays out of the tests' own process
    return exchange(make_features(exchange, "float32", 3).requires_grad_()).rows.sum()


def one_ignores(rank: int) -> None:
    """Have rank 1 leave out what it received, without tie, and go on to the next call."""
    exchange, _ = exchanges()
    for _ in range(2):
        loss = _loss(exchange)
        if rank == 0:
            loss.backward()


def backwards_in_other_order(rank: int) -> None:
    """Call one exchange twice, and run the two backwards in opposite orders."""
    exchange, _ = exchanges()
    losses = [_loss(exchange) for _ in range(2)]
    for loss in losses if rank == 0 else losses[::-1]:
        loss.backward()


def calls_in_other_order(rank: int) -> None:
    """Call two exchanges that were agreed on in opposite orders."""
    made = exchanges()
    for order in (made, made, made[:: 1 - 2 * rank]):
        for exchange in order:
            _loss(exchange)


def one_skips(rank: int) -> None:
    """Have rank 1 leave out a call of one of two exchanges."""
    made = exchanges()
    for number in range(3):
        for exchange in made:
            if (rank, number, exchange) != (1, 1, made[0]):
                _loss(exchange).backward()


def one_without_grad_mode(rank: int) -> None:
    """Call in both modes on both ranks, and then in different ones."""
    import torch

    exchange, _ = exchanges()
    for mode in (True, False, rank == 0):
        with torch.set_grad_enabled(mode):
            _loss(exchange)


def backward_twice(rank: int) -> Any:  # noqa: ANN401
    """Run the backward of the first of two calls after the second, and twice."""
    exchange, _ = exchanges()
    features = make_features(exchange, "float32", 3).requires_grad_()
    first, second = (exchange(features * factor).rows.sum() for factor in (1, 10))
    second.backward()
    first.backward(retain_graph=True)
    first.backward()
    return rank, features.grad.flatten().unique().tolist()
