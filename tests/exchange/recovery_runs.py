"""What ranks of a trainer do after a fault, and while they make their group."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

MESH = "cp=3"
ITEMS = [{"item_id": 0, "batch_index": 0, "decoder_token_start": 3, "output_rows": 9}]
BREAKS = 2
"""Of which rank something breaks."""


def exchange_once(group: Any, width: int = 3) -> str:  # noqa: ANN401 - torch stays out of the tests' own process
    """Exchange forward and back; return what was raised, else nothing."""
    import torch

    from hpplan.exchange import FeatureExchange, PeersFailed

    try:
        exchange = FeatureExchange.plan(ITEMS, MESH, {"length": 24}, group)
        rows = sum(count for _, count in exchange.bucket)
        received = exchange(torch.ones(rows, width, requires_grad=True))
        received.tie(received.rows.sum()).backward()
    except (PeersFailed, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "nothing"


def fail_and_recover(rank: int, folder: str) -> list[str]:
    """Fail in several ways, one after the other, with a new group each time; return what is heard."""
    import torch.distributed as dist

    from hpplan.exchange import ExchangeGroup

    gc.disable()
    group = ExchangeGroup.from_mesh(MESH, timeout=30)
    heard = [exchange_once(group, 4 if rank == 0 else 3), exchange_once(group)]
    group = ExchangeGroup.from_process_group(group.process_group, timeout=30)
    heard.append(exchange_once(group))
    if rank == BREAKS:
        _run_out_of_memory(group)
    heard += [exchange_once(group), exchange_once(group)]
    dist.destroy_process_group()
    for name in ("once", "again"):
        dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/{name}", 3), rank=rank, world_size=3)
        group = ExchangeGroup.from_mesh(MESH, timeout=30)
        if rank != BREAKS:
            # Nobody needs the broken group now, but the rank that broke it has not let go of it.
            gc.collect()
        heard.append(exchange_once(group))
        dist.destroy_process_group()
    heard += [_threads()]
    del group
    return [*heard, _threads()]


def refuse_and_recover(rank: int) -> list[str]:
    """Have one rank bring a row too many after some good calls, and go on twice; return what is heard."""
    import torch.distributed as dist

    from hpplan.exchange import ExchangeGroup, FeatureExchange

    heard: list[str] = []
    for extra in (1, 0, 0):
        group = ExchangeGroup.from_process_group(dist.group.WORLD, timeout=30)
        exchange = FeatureExchange.plan(ITEMS, MESH, {"length": 24}, group)
        heard += [_call(exchange, extra if (rank, number) == (BREAKS, 1) else 0) for number in range(3)]
    return heard


def _call(exchange: Any, extra: int) -> str:  # noqa: ANN401 - as above
    import torch

    from hpplan.exchange import PeersFailed

    rows = sum(count for _, count in exchange.bucket) + extra
    try:
        exchange(torch.ones(rows, 3, requires_grad=True)).rows.sum().backward()
    except PeersFailed as failure:
        return str(failure)
    return "nothing"


def _threads() -> str:
    """Return the names of hpplan's threads."""
    return " ".join(one.name for one in threading.enumerate() if one.name.startswith("hpplan"))


def _run_out_of_memory(group: Any) -> None:  # noqa: ANN401 - as above
    import torch

    def empty(*_: object) -> Any:  # noqa: ANN401 - never
        return torch.empty(1 << 60)

    group.memory.empty = empty


def one_never_joins(rank: int, timeout: float) -> str:
    """Have one rank not come to the group; return what is heard."""
    from hpplan.exchange import ExchangeGroup, PeersFailed

    if rank == BREAKS:
        time.sleep(timeout + 1)
    try:
        ExchangeGroup.from_mesh(MESH, timeout)
    except PeersFailed as failure:
        return str(failure)
    return "nothing"
