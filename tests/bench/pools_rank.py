"""One rank of the pools benchmark: hpplan and the way of other trainers take turns on the same data."""

from __future__ import annotations

import json
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from hpplan.exchange import FeatureExchange
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.routes import RoutingTable

PIXELS, FEATURES, PAYLOADS, MERGE = 1536, 1024, 3, 4
"""Columns of a patch and of a feature row, tensors of features, patches of a row."""


def table_of(world: int) -> RoutingTable:
    """Return a pool of mixed batches: text alone, photos and clips."""
    draw = random.Random(1)  # noqa: S311 - benchmark data
    replicas: list[dict[str, Any]] = []
    number = 0
    for replica in range(world):
        items: list[dict[str, Any]] = []
        for _ in range((0, 3, 6, 10)[replica % 4]):
            rows = draw.choice((64, 150, 400, 900))
            items.append(
                {
                    "item_id": number,
                    "batch_index": len(items),
                    "decoder_token_start": draw.randint(0, 40),
                    "output_rows": rows,
                    "input_rows": MERGE * rows,
                }
            )
            number += 1
        replicas.append({"items": items})
    data = {
        "feature_width": FEATURES,
        "dtype": "float32",
        "payloads": PAYLOADS,
        "encoder_pool": "all",
        "input_width": PIXELS,
        "input_dtype": "float32",
        "sequence": {"length": 1024},
        "replicas": replicas,
    }
    return plan_routes(parse_mesh(f"dp={world}"), load_workload(data))


class Others:
    """Two blocking all-gathers of lengths, greedy on their squares, and an all-to-all for each tensor."""

    def __init__(self, mine: list[tuple[int, int]]) -> None:
        """Take (item, rows) of this rank."""
        self.mine = mine
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def step(
        self, pixels: torch.Tensor, grids: torch.Tensor, encode: Callable[..., Any]
    ) -> list[torch.Tensor]:
        """Send pixels and grids away, encode, and take features of every payload back."""
        lengths = torch.zeros(64, dtype=torch.int64)
        lengths[: len(self.mine)] = torch.tensor([rows for _, rows in self.mine], dtype=torch.int64)
        counts = [torch.empty(1, dtype=torch.int64) for _ in range(self.world)]
        dist.all_gather(counts, torch.tensor([len(self.mine)]))
        gathered = [torch.empty(64, dtype=torch.int64) for _ in range(self.world)]
        dist.all_gather(gathered, lengths)
        rows_of = [gathered[rank][: int(counts[rank])].tolist() for rank in range(self.world)]
        where = self._greedy(rows_of)
        mine = [index for index, (home, _) in enumerate(where) if home == self.rank]
        order = sorted(mine, key=lambda index: where[index][1])
        starts = torch.cumsum(torch.tensor([0, *rows_of[self.rank]]), 0).tolist()
        first = mine[0] if mine else 0
        sizes = [rows_of[self.rank][index - first] for index in order]
        flat = [rows for rows in rows_of for rows in rows]
        to = [sum(flat[i] for i in mine if where[i][1] == peer) for peer in range(self.world)]
        came = [
            sum(flat[i] for i, (home, at) in enumerate(where) if home == peer and at == self.rank)
            for peer in range(self.world)
        ]
        pieces = [pixels[MERGE * starts[i - first] : MERGE * starts[i - first + 1]] for i in order]
        sent = torch.cat(pieces) if pieces else pixels[:0]
        held = torch.empty(MERGE * sum(came), PIXELS)
        dist.all_to_all_single(held, sent, [MERGE * n for n in came], [MERGE * n for n in to])
        items_to = [sum(where[i][1] == peer for i in mine) for peer in range(self.world)]
        items_came = [
            sum(home == peer and at == self.rank for home, at in where) for peer in range(self.world)
        ]
        grid = torch.empty(sum(items_came), 3, dtype=torch.int64)
        ordered = grids[[i - first for i in order]] if order else grids[:0]
        dist.all_to_all_single(grid, ordered, items_came, items_to)
        back: list[torch.Tensor] = []
        for features in encode(held):
            home = torch.empty(sum(to), FEATURES)
            dist.all_to_all_single(home, features, to, came)
            restored = torch.empty_like(home)
            at = 0
            for index, rows in zip(order, sizes, strict=True):
                restored[starts[index - first] : starts[index - first + 1]] = home[at : at + rows]
                at += rows
            back.append(restored)
        return back

    def _greedy(self, rows_of: list[list[int]]) -> list[tuple[int, int]]:
        flat = [(home, rows) for home, own in enumerate(rows_of) for rows in own]
        loads = [0] * self.world
        placed = [0] * len(flat)
        for index in sorted(range(len(flat)), key=lambda one: -flat[one][1]):
            placed[index] = min(range(self.world), key=loads.__getitem__)
            loads[placed[index]] += flat[index][1] ** 2
        return [(home, at) for (home, _), at in zip(flat, placed, strict=True)]


def encode(pixels: torch.Tensor) -> list[torch.Tensor]:
    """Stand for an encoder: rows of every payload, at next to no cost."""
    rows = pixels.view(-1, MERGE, PIXELS)[:, 0, :FEATURES]
    return [rows.contiguous() for _ in range(PAYLOADS)]


def main(store: str, rank: int, world: int, pairs: int) -> None:
    """Time both, in turns; rank 0 writes what took longest on any rank."""
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    table = table_of(world)
    items = table.workload.batches[rank].items
    mine = [(item.item_id, item.rows) for item in items]
    pixels = torch.randn(MERGE * sum(rows for _, rows in mine), PIXELS)
    grids = torch.ones(len(mine), 3, dtype=torch.int64)
    exchange, others = FeatureExchange.from_routes(table), Others(mine)

    def ours() -> object:
        held, _ = exchange.bring(pixels, grids)
        return exchange(encode(held)).payloads

    times: dict[str, list[float]] = {"hpplan": [], "others": []}
    with torch.no_grad():
        for turn in range(pairs + 2):
            for name, step in (("hpplan", ours), ("others", lambda: others.step(pixels, grids, encode))):
                dist.barrier()
                start = time.perf_counter()
                step()
                took = torch.tensor(time.perf_counter() - start)
                dist.all_reduce(took, dist.ReduceOp.MAX)
                if turn > 1:
                    times[name].append(float(took))
    if rank == 0:
        sys.stdout.write(json.dumps(times))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
