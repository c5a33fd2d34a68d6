"""What ranks do wrong in the tests of failure manners."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from autograd_runs import CROSSING
from naive_model import Setting
from rank_runs import make_exchange, make_features

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOUR = Setting(
    {
        "sequence": {"length": 32},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 12},
            {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 9},
        ],
        "buckets": [[0], [], [1], []],
    },
    cp=4,
    tp=1,
    sp=False,
)


def one_brings(rank: int, cases: Sequence[tuple[str, int]]) -> list[str]:
    """Have rank 2 of 4 bring other features in one call, counted from 1, and go on in a new group."""
    return [_heard(lambda what=what, call=call: _bring(rank, what, call)) for what, call in cases]


def _bring(rank: int, what: str, call: int) -> None:
    import torch

    exchange = make_exchange(FOUR)
    for number in range(1, 4):
        features: Any = make_features(exchange, "float32", 3)
        wrong: dict[str, Any] = {
            "rows": features[:-1],
            "width": torch.zeros(len(features), 4),
            "dtype": features.bfloat16(),
            "device": features.to("meta"),
            "shape": features.flatten(),
            "nothing": [],
            "payloads": [features, features],
            "none": None,
            "list": [1, 2],
            "sparse": features.to_sparse(),
        }
        exchange(wrong[what] if rank == 2 and number == call else features)


def one_merges_wrongly(rank: int, cases: Sequence[str]) -> list[str]:
    """Have rank 2 of 4 merge into something that does not fit, and go on in a new group."""
    return [_heard(lambda what=what: _merge(rank, what)) for what in cases]


def _merge(rank: int, what: str) -> None:
    import torch

    exchange = make_exchange(FOUR)
    received = exchange(make_features(exchange, "float32", 3).requires_grad_())
    embeds = torch.zeros(1, exchange.route.local_length, 3)
    wrong: dict[str, Any] = {
        "length": (torch.zeros(1, exchange.route.local_length + 1, 3), 0),
        "dtype": (embeds.long(), 0),
        "list": (embeds.tolist(), 0),
        "sparse": (embeds.to_sparse(), 0),
        "payload": (embeds, 1),
    }
    received.merge_into(*(wrong[what] if rank == 2 else (embeds, 0))).sum().backward()


def _heard(run: Callable[[], None]) -> str:
    """Return what was raised, else nothing."""
    from hpplan.exchange import PeersFailed

    try:
        run()
    except PeersFailed as failure:
        return str(failure)
    return "nothing"


def one_goes_on(rank: int) -> list[str]:
    """Have rank 1 of 2 bring another width; return what both hear then, and in a good call after it."""
    from hpplan.exchange import PeersFailed

    exchange = make_exchange(CROSSING)
    features = make_features(exchange, "float32", 3)

    def heard(width: int) -> str:
        try:
            exchange(features[:, :width])
        except PeersFailed as failure:
            return str(failure)
        return "nothing"

    return [heard(2 + rank), heard(3)]


def one_has_other_routes(rank: int) -> None:
    """Have rank 1 of 2 run other routes."""
    workload = {**CROSSING.workload, "buckets": [[], [0]] if rank == 1 else [[0], []]}
    exchange = make_exchange(CROSSING._replace(workload=workload))
    exchange(make_features(exchange, "float32", 3))


def one_has_another_version(rank: int) -> None:
    """Have rank 1 of 2 run another hpplan."""
    from hpplan.exchange import group

    if rank == 1:
        group.__version__ = "0.9.0"
    exchange = make_exchange(CROSSING)
    exchange(make_features(exchange, "float32", 3))


def one_plans_otherwise(rank: int, start: int) -> None:
    """Have rank 1 of 2 plan a micro-batch from other items; -1 is none of a token."""
    from hpplan.exchange import FeatureExchange
    from hpplan.routing.mesh import parse_mesh

    items = [
        {
            "item_id": 0,
            "batch_index": 0,
            "decoder_token_start": start if rank == 1 else 3,
            "output_rows": 4,
        }
    ]
    exchange = FeatureExchange.plan(items, parse_mesh("cp=2"), {"length": 16}, timeout=60)
    exchange(make_features(exchange, "float32", 3))


def one_hands_in_nonsense(rank: int, part: str) -> None:
    """Have rank 1 of 2 plan a micro-batch from a part that is no sequence or mapping at all."""
    from hpplan.exchange import FeatureExchange

    parts: dict[str, Any] = {"items": [], "sequence": {"length": 16}, "buckets": [[], []]}
    if rank == 1:
        parts[part] = 3
    exchange = FeatureExchange.plan(parts["items"], "cp=2", parts["sequence"], buckets=parts["buckets"])
    exchange(make_features(exchange, "float32", 3))


def one_makes_no_group(rank: int) -> list[str]:
    """Make groups from what cannot be one; return what is said."""
    import torch.distributed as dist

    from hpplan.exchange import ExchangeGroup, UnusableRequest

    other = [dist.new_group([one]) for one in (0, 1)][1 - rank]

    def said(group: Any, timeout: Any) -> str:  # noqa: ANN401 - nonsense
        try:
            ExchangeGroup.from_process_group(group, timeout)
        except UnusableRequest as error:
            return str(error)
        return "nothing"

    world = dist.group.WORLD
    return [said(other, 60), said(None, 60), said(world, -1), said(world, "3")]


def one_is_lost(rank: int, how: str, timeout: float) -> str:
    """Have rank 1 of 4 exit, or hang, before its second call; return what the others hear."""
    from hpplan.exchange import PeersFailed

    exchange = make_exchange(FOUR, timeout=timeout)
    features = make_features(exchange, "float32", 3)
    exchange(features)
    if rank == 1:
        if how == "exit":
            os._exit(0)
        while exchange.group.ledger.fault() is None:
            time.sleep(0.1)
    try:
        exchange(features)
    except PeersFailed as failure:
        return str(failure)
    return "nothing"


def wrong_setup(rank: int, how: str) -> str:
    """Return what is said about groups and options that do not fit."""
    from hpplan.errors import HpplanError
    from hpplan.routing.mesh import parse_mesh

    del rank
    try:
        if how == "world":
            make_exchange(FOUR)
        elif how == "group":
            import torch.distributed as dist

            from hpplan.exchange import FeatureExchange

            one = dist.new_group([dist.get_rank()], use_local_synchronization=True)
            FeatureExchange.plan([], parse_mesh("cp=2"), {"length": 16}, one)
        elif how == "stage":
            from hpplan.exchange import ExchangeGroup

            ExchangeGroup.from_mesh(parse_mesh("pp=2"))
        else:
            make_exchange(CROSSING, replica_grad="median")
    except HpplanError as error:
        return f"{error.exit_status} {error}"
    return "nothing"
