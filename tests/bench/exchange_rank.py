"""One rank of the exchange benchmark: the exchange, the plain collective and the naive way take turns."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from hpplan.diagnostics import Place
from hpplan.exchange import FeatureExchange
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.routes import RoutingTable

WIDTH = 2048
SENT = 64 << 20
"""Bytes that each rank sends, to itself as well."""

RECORDS = 16
"""Records for each destination in a bucket."""


def routes_of(world: int, *, in_order: bool) -> RoutingTable:
    """Return routes in which every rank sends the same to every rank.

    In order: a bucket's records lie destination by destination, as they are
    sent. Not in order: they alternate.
    """
    rows = SENT // (2 * WIDTH) // world // RECORDS
    length = world * world * RECORDS * rows
    items: list[dict[str, Any]] = []
    buckets: list[list[int]] = []
    for producer in range(world):
        bucket = []
        for destination in range(world):
            for record in range(RECORDS):
                start = destination * length // world + (producer * RECORDS + record) * rows
                item = {"item_id": len(items), "batch_index": 0, "decoder_token_start": start}
                bucket.append(len(items))
                items.append({**item, "output_rows": rows})
        buckets.append(
            bucket if in_order else [one for start in range(RECORDS) for one in bucket[start::RECORDS]]
        )
    data = {
        "feature_width": WIDTH,
        "dtype": "bfloat16",
        "sequence": {"length": length},
        "items": items,
        "buckets": buckets,
    }
    return plan_routes(parse_mesh(f"cp={world}"), load_workload(data, Place("benchmark")))


def ways(routes: RoutingTable) -> dict[str, Callable[[], object]]:
    """Return what is compared, on this rank."""
    exchange = FeatureExchange.from_routes(routes)
    route = exchange.route
    features = torch.randn(route.rows_produced, WIDTH).bfloat16()
    packed = torch.randn(route.send_buffer_rows, WIDTH).bfloat16()
    kept = torch.empty(route.receive_buffer_rows, WIDTH, dtype=torch.bfloat16)
    sent, received = list(route.input_splits), list(route.output_splits)
    starts, filled = {}, 0
    for item, rows in route.bucket:
        starts[item] = filled
        filled += rows

    def plain() -> torch.Tensor:
        arrived = torch.empty(route.receive_buffer_rows, WIDTH, dtype=torch.bfloat16)
        dist.all_to_all_single(arrived, packed, received, sent)
        return arrived

    def plain_into_kept() -> torch.Tensor:
        dist.all_to_all_single(kept, packed, received, sent)
        return kept

    def naive() -> torch.Tensor:
        parts: list[list[torch.Tensor]] = [[] for _ in sent]
        for destination, item, start, stop in route.sends:
            parts[destination].append(features[starts[item] + start : starts[item] + stop])
        arrived = torch.empty(route.receive_buffer_rows, WIDTH, dtype=torch.bfloat16)
        dist.all_to_all_single(arrived, torch.cat([torch.cat(one) for one in parts]), received, sent)
        return arrived

    return {
        "exchange": lambda: exchange(features).rows,
        "plain": plain,
        "plain, output kept": plain_into_kept,
        "naive": naive,
    }


def main(rank: int, world: int, store: str, pairs: int) -> None:
    """Time every way `pairs` times, in turns; rank 0 prints the seconds as JSON."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    times: dict[str, dict[str, list[float]]] = {}
    for order in ("in order", "not in order"):
        found = ways(routes_of(world, in_order=order == "in order"))
        times[order] = {name: [] for name in found}
        for turn in range(pairs + 2):
            for name, run in found.items():
                dist.barrier()
                start = time.perf_counter()
                result = run()
                # The slowest rank counts.
                dist.barrier()
                seconds = time.perf_counter() - start
                del result
                if turn > 1:
                    times[order][name].append(seconds)
    if rank == 0:
        sys.stdout.write(json.dumps(times) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
