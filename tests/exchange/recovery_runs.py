"""What ranks of a trainer do after a fault, and while they make their group."""

from __future__ import annotations

import threading
import time
from typing import Any

from hpplan.exchange import ExchangeGroup, FeatureExchange, PeersFailed

MESH = "cp=3"
ITEMS = [{"item_id": 0, "batch_index": 0, "decoder_token_start": 3, "output_rows": 9}]
BREAKS = 2
"""Of which rank something breaks."""


def exchange_once(group: Any, width: int = 3) -> str:  # noqa: ANN401 - torch stays out of the tests' own process
    """Exchange forward and back; return what was raised, else nothing."""
    import torch

    try:
        exchange = FeatureExchange.plan(ITEMS, MESH, {"length": 24}, group)
        rows = sum(count for _, count in exchange.bucket)
        received = exchange(torch.ones(rows, width, requires_grad=True))
        received.tie(received.rows.sum()).backward()
    except (PeersFailed, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def fail_and_recover(rank: int) -> dict[str, Any]:
    """Fail in several ways, one after the other, and make a new group each time."""
    import torch.distributed as dist

    heard: dict[str, Any] = {}
    group = ExchangeGroup.from_mesh(MESH, timeout=30)
    heard["minority"] = [exchange_once(group, 4 if rank == 0 else 3), exchange_once(group)]
    group = ExchangeGroup.from_process_group(group.process_group, timeout=30)
    heard["same process group"] = exchange_once(group)
    if rank == BREAKS:
        _run_out_of_memory(group)
    heard["allocation"] = [exchange_once(group), exchange_once(group)]
    dist.destroy_process_group()
    store = dist.PrefixStore("again", dist.HashStore()) if dist.get_default_backend_for_device is None else None
    del store
    return heard


def _run_out_of_memory(group: Any) -> None:  # noqa: ANN401 - as above
    import torch

    def empty(*_: object) -> Any:  # noqa: ANN401 - never
        return torch.empty(1 << 60)

    group.memory.empty = empty


def one_never_joins(rank: int, timeout: float) -> tuple[str, float]:
    """Have one rank not come to the group; return what the others hear, and after how many seconds."""
    begun = time.monotonic()
    if rank == BREAKS:
        time.sleep(timeout + 1)
    try:
        ExchangeGroup.from_mesh(MESH, timeout)
    except PeersFailed as failure:
        return str(failure), time.monotonic() - begun
    return "nothing", 0.0


def threads_of_a_group(rank: int) -> list[list[str]]:
    """Return the names of hpplan's threads with a group, and without it again."""
    del rank

    def ours() -> list[str]:
        return [one.name for one in threading.enumerate() if one.name.startswith("hpplan")]

    group = ExchangeGroup.from_mesh(MESH)
    exchange_once(group)
    first = ours()
    del group
    return [first, ours()]
