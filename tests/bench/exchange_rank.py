"""One rank of the exchange benchmark: the exchange and the ways it is compared with take turns."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import AsyncCollectiveTensor, all_to_all_single_autograd

from hpplan.diagnostics import Place
from hpplan.exchange import FeatureExchange
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.routing.rank_route import RankRoute
    from hpplan.routing.routes import RoutingTable

LARGE = 16 << 20
"""Bytes sent a rank from which both orders of rows are timed, but no backward: some take seconds."""


def routes_of(world: int, sent: int, *, in_order: bool) -> RoutingTable:
    """Return routes in which every rank sends the same to every rank, so many bytes in all, itself included.

    In order: a bucket's records lie destination by destination, as they are
    sent. Not in order: they alternate.
    """
    width = 256 if sent < 1 << 20 else 2048
    records = 16 if sent >= LARGE else 8 // world
    rows = sent // (2 * width) // world // records
    length = world * world * records * rows
    items: list[dict[str, Any]] = []
    buckets: list[list[int]] = []
    for producer in range(world):
        bucket = []
        for destination in range(world):
            for record in range(records):
                start = destination * length // world + (producer * records + record) * rows
                item = {"item_id": len(items), "batch_index": 0, "decoder_token_start": start}
                bucket.append(len(items))
                items.append({**item, "output_rows": rows})
        buckets.append(
            bucket if in_order else [one for start in range(records) for one in bucket[start::records]]
        )
    data = {
        "feature_width": width,
        "dtype": "bfloat16",
        "sequence": {"length": length},
        "items": items,
        "buckets": buckets,
    }
    return plan_routes(parse_mesh(f"cp={world}"), load_workload(data, Place("benchmark")))


def concatenated(features: torch.Tensor, route: RankRoute) -> torch.Tensor:
    """Return what a rank sends: a concatenation for each destination, and then of those."""
    starts, filled = {}, 0
    for item, rows in route.bucket:
        starts[item] = filled
        filled += rows
    parts: list[list[torch.Tensor]] = [[] for _ in route.input_splits]
    for destination, item, start, stop in route.sends:
        parts[destination].append(features[starts[item] + start : starts[item] + stop])
    return torch.cat([torch.cat(one) for one in parts])


def ways(routes: RoutingTable) -> dict[str, Callable[[], object]]:
    """Return what is compared, on this rank."""
    exchange = FeatureExchange.from_routes(routes)
    route, width = exchange.route, routes.workload.feature_width
    features = torch.randn(route.rows_produced, width).bfloat16().requires_grad_()
    packed = torch.randn(route.send_buffer_rows, width).bfloat16()
    kept = torch.empty(route.receive_buffer_rows, width, dtype=torch.bfloat16)
    gradient = torch.ones(route.receive_buffer_rows, width, dtype=torch.bfloat16)
    sent, received = list(route.input_splits), list(route.output_splits)

    def plain() -> torch.Tensor:
        arrived = torch.empty(route.receive_buffer_rows, width, dtype=torch.bfloat16)
        dist.all_to_all_single(arrived, packed, received, sent)
        return arrived

    def plain_into_kept() -> torch.Tensor:
        dist.all_to_all_single(kept, packed, received, sent)
        return kept

    @torch.no_grad()
    def naive() -> torch.Tensor:
        arrived = torch.empty(route.receive_buffer_rows, width, dtype=torch.bfloat16)
        dist.all_to_all_single(arrived, concatenated(features, route), received, sent)
        return arrived

    def hyper_parallel() -> tuple[torch.Tensor, list[torch.Tensor]]:
        arrived = all_to_all_single_autograd(
            concatenated(features, route), received, sent, exchange.group.process_group
        )
        # In recent versions of torch what comes back waits when it is looked at.
        arrived = arrived.wait() if isinstance(arrived, AsyncCollectiveTensor) else arrived
        return arrived, [arrived[at : at + stop - start] for _, start, stop, at in route.hand_over]

    def ours() -> tuple[torch.Tensor, object]:
        found = exchange(features)
        return found.rows, found.records()

    def and_back(way: Callable[[], tuple[torch.Tensor, object]]) -> Callable[[], None]:
        def run() -> None:
            way()[0].backward(gradient)
            features.grad = None

        return run

    found: dict[str, Callable[[], object]] = {
        "exchange": ours,
        "plain": plain,
        "plain, output kept": plain_into_kept,
        "naive": naive,
        "HyperParallel": hyper_parallel,
    }
    if packed.nbytes < LARGE:
        found["exchange, backward too"] = and_back(ours)
        found["HyperParallel, backward too"] = and_back(hyper_parallel)
    return found


def main(store: str, rank: int, world: int, sent: int, pairs: int, calls: int) -> None:
    """Time every way `pairs` times, so many calls each, in turns; rank 0 prints the seconds as JSON."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    times: dict[str, dict[str, list[float]]] = {}
    for order in ("in order", "not in order") if sent >= LARGE else ("not in order",):
        found = ways(routes_of(world, sent, in_order=order == "in order"))
        times[order] = {name: [] for name in found}
        for turn in range(pairs + 2):
            for name, run in found.items():
                dist.barrier()
                start = time.perf_counter()
                for _ in range(calls):
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
    main(sys.argv[1], *map(int, sys.argv[2:]))
