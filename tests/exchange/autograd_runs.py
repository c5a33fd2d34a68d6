"""What ranks do in the tests of the autograd promises; returns plain numbers."""

from __future__ import annotations

from typing import Any

from naive_model import Setting
from rank_runs import make_exchange, make_features

CROSSING = Setting(
    {
        "sequence": {"length": 16, "cp_layout": "zigzag"},
        "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 4, "output_rows": 8}],
        "buckets": [[0], []],
    },
    cp=2,
    tp=1,
    sp=False,
)
"""Rank 0 encodes an image, all of whose tokens are rank 1's."""


def _embeds(exchange: Any, width: int = 3, **options: Any) -> Any:  # noqa: ANN401 - torch stays out of the tests' own process
    import torch

    return torch.zeros(1, exchange.route.local_length, width, **options)


def whole_image_crosses(rank: int) -> Any:  # noqa: ANN401
    """Send an image to another rank; return its gradient. Rank 1's zero-row features need no grad."""
    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3)
    if rank == 0:
        features.requires_grad_()
    exchange(features).merge_into(_embeds(exchange)).sum().backward()
    return None if features.grad is None else features.grad.tolist()


def receiver_ignores(rank: int) -> Any:  # noqa: ANN401
    """Leave what was received out of the loss, but tie it in; the loss may even be infinite."""
    import torch

    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3).requires_grad_()
    received = exchange(features)
    weight = torch.ones(3, requires_grad=True)
    loss = weight.sum() * (float("inf") if rank == 1 else 1.0)
    received.tie(loss).backward()
    return features.grad.tolist(), weight.grad.tolist(), exchange.group.transport.calls


def empty_receiver(rank: int) -> Any:  # noqa: ANN401
    """Merge on a rank that receives nothing: its zero rows must keep the edge, dtype and device."""
    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "bfloat16", 3).requires_grad_()
    received = exchange(features)
    rows = received.rows
    merged = received.merge_into(_embeds(exchange, dtype=rows.dtype))
    merged.sum().backward()
    described = (
        list(rows.shape),
        str(rows.dtype),
        str(rows.device),
        rows.requires_grad,
        merged.requires_grad,
    )
    return described, exchange.group.transport.calls, rank


def sums_what_it_received(rank: int, width: int) -> Any:  # noqa: ANN401
    """Train on the plain sum of the rows; rank 0 received none, and its gradient is an expanded scalar."""
    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", width).requires_grad_()
    exchange(features).rows.sum().backward()
    return features.grad.tolist(), rank


def frozen_then_thawed(rank: int) -> Any:  # noqa: ANN401
    """Count collectives of a frozen encoder, then thaw it on rank 0, which rank 1 cannot see."""
    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3)
    weight = _embeds(exchange, requires_grad=True)
    exchange(features).merge_into(weight).sum().backward()
    frozen = exchange.group.transport.calls
    if rank == 0:
        exchange.agree_again()
        features.requires_grad_()
    exchange(features).merge_into(weight).sum().backward()
    return (
        frozen,
        exchange.group.transport.calls,
        None if features.grad is None else float(features.grad.sum()),
    )


def inference_first(rank: int) -> Any:  # noqa: ANN401
    """Call it under no_grad, as a validation before training does, and train then."""
    import torch

    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3).requires_grad_(rank == 0)
    with torch.no_grad():
        first = exchange(features).rows
    exchange(features).merge_into(_embeds(exchange)).sum().backward()
    return first.requires_grad, exchange.group.transport.calls, None if features.grad is None else True


def two_calls_before_backward(rank: int) -> Any:  # noqa: ANN401
    """Call twice before any backward: the second call must leave the first's rows alone."""
    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3).requires_grad_()
    first = exchange(features)
    second = exchange(features * 2)
    kept = first.rows.detach().clone()
    loss = first.merge_into(_embeds(exchange)).sum() + 10 * second.merge_into(_embeds(exchange)).sum()
    loss.backward()
    same = bool((kept == first.rows).all()) and bool((second.rows == 2 * kept).all())
    return same, features.grad.tolist(), rank


def deep_stack(rank: int) -> Any:  # noqa: ANN401
    """Merge payload 0, add payload 1 to a later layer, and leave payload 2 unused."""
    import torch

    exchange = make_exchange(CROSSING)
    features = [make_features(exchange, "float32", 3, payload).requires_grad_() for payload in range(3)]
    received = exchange(features)
    hidden = received.merge_into(torch.full((1, 8, 3), 5.0))
    hidden = received.merge_into(hidden * 2, 1, add=True)
    hidden.sum().backward()
    gradients = [None if one.grad is None else sorted(set(one.grad.flatten().tolist())) for one in features]
    return hidden[..., 0].flatten().tolist(), gradients, exchange.group.transport.calls, rank


def strided_features(rank: int) -> Any:  # noqa: ANN401
    """Pass features that are a transposed view: gloo would send wrong data from them."""
    exchange = make_exchange(CROSSING)
    plain = make_features(exchange, "float32", 3)
    strided = plain.t().contiguous().t().requires_grad_()
    received = exchange(strided)
    received.merge_into(_embeds(exchange)).sum().backward()
    return strided.is_contiguous(), received.rows[:, 1].tolist(), strided.grad.sum().item(), rank


def planned(rank: int, items: list[list[dict[str, Any]]]) -> Any:  # noqa: ANN401
    """Plan micro-batch after micro-batch with one group; return what was handed over.

    Rank 1 takes the routes of each from a table of wide rows, which are the same routes.
    """
    from hpplan import load_workload, parse_mesh, plan_routes
    from hpplan.exchange import ExchangeGroup, FeatureExchange

    mesh = parse_mesh("cp=2")
    group = ExchangeGroup.from_mesh(mesh, timeout=60)
    seen = []
    for batch in items:
        if rank == 0:
            exchange = FeatureExchange.plan(batch, mesh, {"length": 16}, group)
        else:
            workload = load_workload({"feature_width": 64, "sequence": {"length": 16}, "items": batch})
            exchange = FeatureExchange.from_routes(plan_routes(mesh, workload), group)
        received = exchange(make_features(exchange, "float32", 3).requires_grad_())
        received.tie(received.rows.sum()).backward()
        seen.append(
            [(item, start, stop, rows[:, 0].tolist()) for item, start, stop, rows in received.records()]
        )
    return seen, group.transport.calls, rank


def copies_made(rank: int, buckets: list[list[int]]) -> Any:  # noqa: ANN401 - plain truths
    """Say whether features went out as they lie, and whether records are views of what came in."""
    # So many rows that own ones do not pass through the collective for convenience.
    sequence = {"length": 800}
    items = [
        {"item_id": item, "batch_index": 0, "decoder_token_start": 200 * item, "output_rows": 150}
        for item in range(4)
    ]
    setting = Setting({"sequence": sequence, "items": items, "buckets": buckets}, cp=2, tp=1, sp=False)
    exchange = make_exchange(setting)
    features = make_features(exchange, "float32", 3)
    seen = []
    own = exchange.group.transport.all_to_all

    def all_to_all(received: Any, sent: Any, *rest: Any) -> Any:  # noqa: ANN401 - as the one it stands for
        seen.append((received, sent))
        return own(received, sent, *rest)

    exchange.group.transport.all_to_all = all_to_all
    received = exchange(features)
    ((arrived, sent),) = seen
    memory = received.rows.untyped_storage().data_ptr()
    views = all(one.rows.untyped_storage().data_ptr() == memory for one in received.records())
    straight = sent.data_ptr() == features.data_ptr() or len(sent) == 0
    return straight, views, arrived.untyped_storage().data_ptr() == memory, rank
