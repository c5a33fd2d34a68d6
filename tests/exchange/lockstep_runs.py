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


MANY = 100
"""Rows that fit into no letter, at WIDE columns of float32: more than a mebibyte."""
WIDE = 4096


def _many(group: Any) -> Any:  # noqa: ANN401 - as above
    """Return an exchange of two ranks of which rank 0 sends rank 1 many rows, and gets two."""
    from hpplan.exchange import FeatureExchange

    items = [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": MANY, "output_rows": MANY},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2},
    ]
    return FeatureExchange.plan(items, "cp=2", {"length": 2 * MANY}, group, buckets=[[0], [1]])


def _wide(exchange: Any) -> Any:  # noqa: ANN401 - as above
    import torch

    features = make_features(exchange, "float32", 1)
    return features.expand(len(features), WIDE).contiguous().to(torch.float32).requires_grad_()


def many_beside_few(rank: int) -> None:
    """Send many rows on rank 0, and a few on rank 1."""
    few, _ = exchanges()
    many = _many(few.group)
    if rank == 0:
        many(_wide(many))
    else:
        _loss(few)


def few_beside_many_gradients(rank: int) -> None:
    """Send many gradients from rank 1, when rank 0 goes on to its next call."""
    few, _ = exchanges()
    many = _many(few.group)
    rows = many(_wide(many)).rows
    if rank == 0:
        _loss(few)
    else:
        rows.sum().backward()


def one_brings_another_ninth(rank: int) -> None:
    """Bring nine payloads, of which the last is wider on rank 1; messages list eight widths."""
    exchange, _ = exchanges()
    exchange([make_features(exchange, "float32", 1 + (rank and number == 8)) for number in range(9)])


def many_rows(rank: int) -> Any:  # noqa: ANN401
    """Exchange more than fits into letters, twice; return columns of what arrived, and of gradients."""
    import torch

    few, _ = exchanges()
    exchange = _many(few.group)
    seen = []
    for factor in (1, 2):
        features = _wide(exchange)
        rows = exchange(features).rows
        weights = torch.arange(1.0, 1 + len(rows))[:, None] * factor
        (rows * weights).sum().backward()
        same = bool((rows == rows[:, :1]).all()) and bool((features.grad == features.grad[:, :1]).all())
        seen.append((same, rows[:, -1].tolist(), features.grad[:, -1].tolist()))
    return rank, seen


def backward_twice(rank: int) -> Any:  # noqa: ANN401
    """Run the backward of the first of two calls after the second, and twice."""
    exchange, _ = exchanges()
    features = make_features(exchange, "float32", 3).requires_grad_()
    first, second = (exchange(features * factor).rows.sum() for factor in (1, 10))
    second.backward()
    first.backward(retain_graph=True)
    first.backward()
    return rank, features.grad.flatten().unique().tolist()
