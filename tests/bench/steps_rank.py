"""One rank of the steps benchmark: each step has another batch, and is planned during the one before."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist

from hpplan.exchange import ExchangeGroup, FeatureExchange

if TYPE_CHECKING:
    from hpplan.exchange.running import Pending

ROWS, LENGTH, PATCH, WIDTH = 4, 256, 48, 32
"""Batch rows and tokens of a replica's batch, columns of its pixels and of feature rows."""


class Held(NamedTuple):
    """What a rank holds between two steps."""

    memory: int
    """Bytes that are resident, without those that the allocator keeps for later."""
    objects: int
    threads: int
    files: int


class Trainer:
    """A rank that knows its replica's batches alone."""

    def __init__(self, rank: int, world: int) -> None:
        """Make the group, and a model; the first batch is planned."""
        self._draw = random.Random(rank)  # noqa: S311 - benchmark data
        self._group = ExchangeGroup.from_mesh(f"dp={world}", pool="all", timeout=60)
        self._encoder = torch.nn.Linear(PATCH, WIDTH)
        self._embeds = torch.zeros(ROWS, LENGTH, WIDTH, requires_grad=True)
        self._items, self._next = self._planned()

    def _planned(self) -> tuple[list[dict[str, Any]], Pending[FeatureExchange]]:
        items = []
        for row in range(self._draw.randint(0, ROWS)):
            rows = self._draw.randint(1, 200)
            item = {"item_id": row, "batch_index": row, "output_rows": rows, "input_rows": rows}
            items.append({**item, "decoder_token_start": self._draw.randint(0, LENGTH - rows)})
        return items, FeatureExchange.plan_ahead(items, None, {"length": LENGTH}, self._group)

    def step(self) -> None:
        """Train on one batch, with the next one's items on their way."""
        exchange, items = self._next.wait(), self._items
        self._items, self._next = self._planned()
        (pixels,) = exchange.bring(torch.ones(sum(item["input_rows"] for item in items), PATCH))
        hidden = exchange(self._encoder(pixels)).merge_into(self._embeds)
        hidden.square().mean().backward()
        self._encoder.zero_grad()
        self._embeds.grad = None

    def held(self) -> Held:
        """Return what this process holds when nothing waits to be collected."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        files = len(list(Path("/proc/self/fd").iterdir()))
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        return Held(memory, len(gc.get_objects()), threading.active_count(), files)


def main(store: str, rank: int, world: int, blocks: int, block: int) -> None:
    """Take steps in blocks; rank 0 writes how long each took, and what it held after each."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    trainer = Trainer(rank, world)
    seconds, held = [], []
    for _ in range(blocks):
        begun = time.perf_counter()
        for _ in range(block):
            trainer.step()
        seconds.append(time.perf_counter() - begun)
        held.append(trainer.held())
    if rank == 0:
        sys.stdout.write(json.dumps({"seconds": seconds, "held": held}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
