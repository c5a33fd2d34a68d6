"""Ranks that start exchanges and wait for them later."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hpplan.exchange import ExchangeGroup, FeatureExchange, PeersFailed

if TYPE_CHECKING:
    from collections.abc import Callable

NARROW, WIDE = 3, 40_000
"""Columns with which rows travel in letters, and with which they do not."""
LENGTH = 16


class Done(NamedTuple):
    """What a rank got and learned, in any order of starting and waiting."""

    rows: list[torch.Tensor]
    gradients: list[torch.Tensor]


def _exchange(group: ExchangeGroup, shift: int) -> FeatureExchange:
    items = [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 1 + shift, "output_rows": 6},
        {"item_id": 1, "batch_index": 1, "decoder_token_start": 2, "output_rows": 4 + shift},
    ]
    return FeatureExchange.plan(items, "cp=2", {"length": LENGTH}, group, buckets=[[1], [0]])


def _features(exchange: FeatureExchange, rank: int, number: int, width: int) -> torch.Tensor:
    rows = sum(count for _, count in exchange.bucket)
    weights = torch.arange(rows, dtype=torch.float64)[:, None] + 100 * rank + 10_000 * number
    return (weights + torch.arange(width) / width).requires_grad_()


def _run(rank: int, group: ExchangeGroup, widths: list[int], *, started: bool) -> Done:
    """Exchange once for each width, one after the other or with all in flight, with one backward for all."""
    made = [_exchange(group, number % 2) for number in range(len(widths))]
    features = [
        _features(exchange, rank, number, width)
        for number, (exchange, width) in enumerate(zip(made, widths, strict=True))
    ]
    if started:
        pending = [exchange.start(one) for exchange, one in zip(made, features, strict=True)]
        received = [one.wait() for one in pending]
        assert all(one.wait() is got for one, got in zip(pending, received, strict=True))
    else:
        received = [exchange(one) for exchange, one in zip(made, features, strict=True)]
    weight = torch.linspace(1, 2, LENGTH // 2, dtype=torch.float64)[None, :, None]
    losses = [
        (one.merge_into(torch.zeros(2, LENGTH // 2, width, dtype=torch.float64)) * weight).square().sum()
        for one, width in zip(received, widths, strict=True)
    ]
    torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
    gradients = [one.grad for one in features]
    assert all(one is not None for one in gradients)
    return Done([one.rows.detach() for one in received], gradients)  # type: ignore[arg-type]


def in_flight(rank: int) -> list[bool]:
    """Return whether several in flight end as one after the other does, with few rows, many, and both."""
    group = ExchangeGroup.from_mesh("cp=2", timeout=30)
    same = []
    for widths in ([NARROW, NARROW], [WIDE, WIDE], [NARROW, WIDE, NARROW], [WIDE, NARROW]):
        later, now = (_run(rank, group, widths, started=started) for started in (True, False))
        pairs = zip([*later.rows, *later.gradients], [*now.rows, *now.gradients], strict=True)
        same.append(all(torch.equal(*pair) for pair in pairs))
    return same


def waited_backwards(rank: int) -> list[bool]:
    """Wait for the second before the first, on one rank with a call of another exchange between."""
    group = ExchangeGroup.from_mesh("cp=2", timeout=30)
    same = []
    for width in (NARROW, WIDE):
        made = [_exchange(group, number) for number in range(2)]
        features = [_features(exchange, rank, number, width) for number, exchange in enumerate(made)]
        pending = [exchange.start(one) for exchange, one in zip(made, features, strict=True)]
        between = made[0](features[0]).rows
        second, first = pending[1].wait().rows, pending[0].wait().rows
        same += [torch.equal(first, between), torch.equal(second, made[1](features[1]).rows)]
    return same


def returns_at_once(rank: int) -> float:
    """Return how long rank 0 takes to start what rank 1 starts a second later."""
    group = ExchangeGroup.from_mesh("cp=2", timeout=30)
    exchange = _exchange(group, 0)
    features = _features(exchange, rank, 0, WIDE)
    exchange(features)
    if rank == 1:
        time.sleep(1)
    begun = time.monotonic()
    pending = exchange.start(features)
    took = time.monotonic() - begun
    pending.wait()
    return took


def grad_modes(rank: int) -> tuple[bool, bool]:
    """Start with and without grad mode, and wait in the other one."""
    group = ExchangeGroup.from_mesh("cp=2", timeout=30)
    exchange = _exchange(group, 0)
    features = _features(exchange, rank, 0, NARROW)
    with_grad = exchange.start(features)
    with torch.no_grad():
        rows = with_grad.wait().rows
        without = exchange.start(features)
    rows.sum().backward()
    return rows.requires_grad, without.wait().rows.requires_grad


def one_fails(rank: int, deed: str) -> list[str]:
    """Have rank 1 break off while two are in flight; return what rank 0 hears in waits and in a start."""
    group = ExchangeGroup.from_mesh("cp=2", timeout=3)
    made = [_exchange(group, number) for number in range(2)]
    features = [_features(exchange, rank, number, WIDE) for number, exchange in enumerate(made)]
    pending = [made[0].start(features[0])]
    said = []
    try:
        if rank == 1 and deed == "raises":
            features[1] = features[1][:-1]
        if rank == 0 or deed == "raises":
            pending.append(made[1].start(features[1]))
        elif deed == "skips":
            made[0](features[0])
        else:
            time.sleep(20)
    except PeersFailed as failure:
        said.append(str(failure))
    for call in [*(one.wait for one in pending), partial(made[0].start, features[0])]:
        said += _heard(call)
    return said


def _heard(call: Callable[[], object]) -> list[str]:
    try:
        call()
    except PeersFailed as failure:
        return [str(failure)]
    return []


def _pool_items(rank: int, step: int, heavy: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "item_id": number,
            "batch_index": number % 2,
            "decoder_token_start": 5 * (number // 2),
            "output_rows": 1 + (rank + step + number) % 4,
            "sample": "s" * heavy,
        }
        for number in range((rank + step) % 3)
    ]


def planned_ahead(rank: int) -> list[bool]:
    """Return whether steps planned during the one before are as if planned at once, with many words too."""
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    same = []
    for heavy in (0, 1_500_000):
        ahead = FeatureExchange.plan_ahead(_pool_items(rank, 0, heavy), None, {"length": LENGTH}, group)
        for step in range(3):
            exchange = ahead.wait()
            ahead = FeatureExchange.plan_ahead(
                _pool_items(rank, step + 1, heavy), None, {"length": LENGTH}, group
            )
            features = _features(exchange, rank, step, NARROW)
            received = exchange(features)
            received.merge_into(torch.zeros(2, LENGTH, NARROW, dtype=torch.float64)).sum().backward()
            at_once = FeatureExchange.plan(_pool_items(rank, step, heavy), None, {"length": LENGTH}, group)
            same += [at_once.digest == exchange.digest, at_once.route == exchange.route]
    return same


def ahead_at_once(rank: int) -> float:
    """Return how long rank 0 takes to plan ahead what rank 1 plans a second later."""
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    if rank == 1:
        time.sleep(1)
    begun = time.monotonic()
    pending = FeatureExchange.plan_ahead(_pool_items(rank, 1), None, {"length": LENGTH}, group)
    took = time.monotonic() - begun
    pending.wait()
    return took


def plans_while_others_exchange(rank: int) -> list[str]:
    """Have rank 1 plan a micro-batch where rank 0 sends features."""
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    exchange = FeatureExchange.plan(_pool_items(rank, 1), None, {"length": LENGTH}, group)
    if rank == 0:
        return _heard(partial(exchange, _features(exchange, rank, 0, NARROW)))
    return _heard(partial(FeatureExchange.plan, _pool_items(rank, 2), None, {"length": LENGTH}, group))
