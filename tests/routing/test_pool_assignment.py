"""Assignment over a pool: balanced by `lpt`, and with few bytes on the way by `local`."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import RoutingTable, plan_routes
from hpplan.routing.traffic import Traffic
from hpplan.workload.workload import load_workload


def _workload(replicas: list[list[tuple[int, int]]], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a workload of items of (rows, input rows), one batch row each."""
    ids = iter(range(10_000))
    return {
        "feature_width": 8,
        "dtype": "bfloat16",
        "input_width": 3,
        "input_dtype": "float32",
        "encoder_pool": "all",
        "sequence": {"length": 1 << 16},
        "replicas": [
            {
                "items": [
                    {
                        "item_id": next(ids),
                        "batch_index": at,
                        "decoder_token_start": 0,
                        "output_rows": rows,
                        "input_rows": inputs,
                    }
                    for at, (rows, inputs) in enumerate(items)
                ]
            }
            for items in replicas
        ],
        **more,
    }


def _bytes(table: RoutingTable) -> int:
    traffic = Traffic(table)
    inputs = traffic.inputs
    moved = 0 if inputs is None else inputs.rows_leaving * inputs.row_bytes
    return traffic.rows_leaving * traffic.row_bytes + moved


def _load(table: RoutingTable) -> tuple[int, int]:
    load = Traffic(table).producer_load
    return load.largest, load.bound


def _mixed(seed: int, samples: int = 32, replicas: int = 8) -> list[list[tuple[int, int]]]:
    """Draw samples as a mixed batch has them: text alone, photos, pages, clips."""
    draw = random.Random(seed)  # noqa: S311 - test data
    drawn: list[list[tuple[int, int]]] = []
    for _ in range(samples):
        kind = draw.random()
        rows = (
            []
            if kind < 0.25
            else [draw.randint(60, 1200) for _ in range(draw.randint(1, 3))]
            if kind < 0.7
            else [draw.randint(1500, 2500) for _ in range(draw.randint(1, 8))]
            if kind < 0.9
            else [draw.randint(200, 500)] * draw.randint(8, 24)
        )
        drawn.append([(count, 4 * count) for count in rows])
    each = samples // replicas
    return [
        [item for sample in drawn[at * each : (at + 1) * each] for item in sample] for at in range(replicas)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_mixed_batches_are_balanced_and_local_moves_half(seed: int) -> None:
    """Ranks wait for the busiest, or nearly everything travels although most could stay."""
    workload, mesh = load_workload(_workload(_mixed(seed))), parse_mesh("dp=8")
    lpt = plan_routes(mesh, workload, assign="lpt")
    local = plan_routes(mesh, workload, assign="local", load_factor=1.1)
    largest, bound = _load(lpt)
    assert largest <= 1.02 * bound
    assert _load(local)[0] <= max(1.1 * bound, largest)
    assert _bytes(local) <= 0.5 * _bytes(lpt)


@pytest.mark.parametrize("mesh", ["dp=3", "dp=2,cp=2", "dp=2,tp=2"])
@pytest.mark.parametrize("seed", range(15))
def test_local_is_near_the_optimum_of_small_cases(mesh: str, seed: int) -> None:
    """Another assignment within the same loads moves far fewer bytes."""
    draw = random.Random(seed)  # noqa: S311 - test data
    axes = parse_mesh(mesh)
    replicas = [
        [(rows := draw.randint(1, 40), 4 * rows) for _ in range(draw.randint(0, 6 // axes.dp + 1))]
        for _ in range(axes.dp)
    ]
    data = _workload(replicas, sequence={"length": 48})
    workload = load_workload(data)
    local = plan_routes(axes, workload, assign="local", load_factor=1.25)
    limit = max(1.25 * _load(local)[1], _load(plan_routes(axes, workload, assign="lpt"))[0])
    ids = [item["item_id"] for replica in data["replicas"] for item in replica["items"]]
    rows = {item["item_id"]: item["output_rows"] for replica in data["replicas"] for item in replica["items"]}
    producers = axes.world_size
    best = None
    for choice in product(range(producers), repeat=len(ids)):
        loads = [0] * producers
        for item, bucket in zip(ids, choice, strict=True):
            loads[bucket] += rows[item]
        if max(loads, default=0) > limit:
            continue
        buckets = [
            [item for item, at in zip(ids, choice, strict=True) if at == bucket]
            for bucket in range(producers)
        ]
        given = [{**replica, "buckets": []} for replica in data["replicas"]]
        given[0]["buckets"] = buckets
        moved = _bytes(plan_routes(axes, load_workload({**data, "replicas": given})))
        best = moved if best is None else min(best, moved)
        if best == 0:
            break
    assert best is not None
    assert _bytes(local) <= 1.1 * best


def test_tiers() -> None:
    """Rank 0 is full: its smaller item goes to its node, though a rank elsewhere is as empty."""
    data = _workload([[(10, 40), (8, 32)], [], [], [(9, 36)]])
    table = plan_routes(parse_mesh("dp=4"), load_workload(data), assign="local", ranks_per_node=2)
    assert [routes.item_ids for _, routes in table.parents] == [((0,), (1,), (), (2,))]
    # The nodes are ranks 0 and 2, and 1 and 3, where dp is innermost beside cp.
    swapped = plan_routes(parse_mesh("dp=4"), load_workload(data), assign="local", ranks_per_node=1)
    assert swapped.parents[0].routes.item_ids[0] == (0,)


def test_a_replica_is_nearer_than_the_pool() -> None:
    """On dp=2,cp=2 the two ranks of an item's replica have its pixels; one owns its tokens."""
    data = _workload([[(10, 40), (10, 40)], []], sequence={"length": 64})
    table = plan_routes(parse_mesh("dp=2,cp=2"), load_workload(data), assign="local", load_factor=1.0)
    # Both lie on rank 0; the second goes to rank 1, which has read it, and not to rank 2.
    assert table.parents[0].routes.item_ids[2:] == ((), ())
    assert Traffic(table).inputs is not None
    assert Traffic(table).inputs.rows_leaving == 0  # type: ignore[union-attr]
