"""Replicas that share the encoder work, run by real processes: inputs, features, gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ranks import run_ranks

from hpplan.exchange import ExchangeGroup, FeatureExchange
from hpplan.job.verify import Verification, verify, verify_inputs
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

WIDTH, INPUT_WIDTH = 6, 4


def _items(*rows: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "item_id": first + at,
            "batch_index": at,
            "decoder_token_start": 2 + at,
            "output_rows": count,
            "input_rows": 3 * count,
        }
        for at, count in enumerate(rows)
    ]


def _workload(pool: object, *replicas: list[dict[str, Any]], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {
        "feature_width": WIDTH,
        "dtype": "float32",
        "payloads": 2,
        "input_width": INPUT_WIDTH,
        "input_dtype": "float32",
        "encoder_pool": pool,
        "sequence": {"length": 48, "cp_layout": "zigzag"},
        "replicas": [{"items": items} for items in replicas],
        **more,
    }


MIXED = (_items(20, 3), _items(first=10), _items(40, first=20), _items(5, 9, 30, first=30))

SETTINGS = [
    ("dp=4", _workload("all", *MIXED)),
    ("dp=4", _workload(2, *MIXED)),
    ("dp=4", _workload("all", [], [], [], [])),
    ("dp=4", _workload("all", _items(4, 5, 6, 7), [], [], [])),
    ("dp=2,cp=2", _workload("all", *MIXED[2:])),
    ("cp=2,dp=2", _workload("all", *MIXED[2:])),
    ("dp=2,cp=2", _workload("all", *MIXED[2:], encoder_cp_size=2)),
    ("dp=2,cp=2", _workload("all", *MIXED[2:], encoder_cp_size=2, encoder_output="sharded")),
    ("dp=4", _workload("all", *MIXED, encoder_cp_size=4, encoder_output="sharded")),
    ("dp=2,tp=2,sp", _workload("all", *MIXED[2:])),
    ("dp=2,tp=2", _workload("all", *MIXED[2:])),
]


def _verify_all(rank: int, fault: str = "") -> list[tuple[Verification, Verification]]:
    found = []
    for mesh, data in SETTINGS:
        for granularity in ("record", "row", "once"):
            table = plan_routes(parse_mesh(mesh), load_workload(data), granularity)  # type: ignore[arg-type]
            exchange = FeatureExchange.from_routes(table)
            device = torch.device("cpu")
            if fault and rank == 1:
                bring = exchange.bring
                exchange.bring = lambda inputs, bring=bring: (bring(inputs)[0].flip(0),)  # type: ignore[method-assign]
            inputs = verify_inputs(exchange, table, device)
            found.append((inputs, verify(exchange, table, device)))
            if fault:
                return found
    return found


@pytest.mark.slow
def test_inputs_and_features_arrive_in_every_layout() -> None:
    """A row of pixels, of features or of gradients gets lost, or lands on another rank or row."""
    for by_setting in zip(*run_ranks(4, _verify_all), strict=True):
        assert [check.mismatches for checks in by_setting for check in checks] == [()] * 8


@pytest.mark.slow
def test_wrong_inputs_are_seen() -> None:
    """The verification of inputs finds nothing, whatever there is."""
    checks = run_ranks(4, _verify_all, "flipped")
    assert [checks[rank][0][0].total > 0 for rank in range(4)] == [False, True, False, False]
    first = checks[1][0][0].mismatches[0]
    assert (first.code, first.rank) == ("HP515", 1)
    assert "has input row 0 wrong: item " in first.message


def _train(rank: int, mesh: str, data: dict[str, Any]) -> tuple[list[float], float]:
    """Run one step of a linear encoder; return its gradient on this rank and what this rank's loss is."""
    table = plan_routes(parse_mesh(mesh), load_workload(data))
    exchange = FeatureExchange.from_routes(table, replica_grad="mean")
    weight = torch.linspace(-1, 1, INPUT_WIDTH * WIDTH, dtype=torch.float64).reshape(INPUT_WIDTH, WIDTH)
    weight.requires_grad_()
    replica = table.mesh.coordinates(rank)["dp"]
    items = data["replicas"][replica]["items"]
    read = torch.cat([_pixels(item) for item in items]) if items else torch.empty(0, INPUT_WIDTH).double()
    sizes = [[item["item_id"], item["input_rows"]] for item in items]
    grids = torch.tensor(sizes, dtype=torch.int64).reshape(-1, 2)
    pixels, grid = exchange.bring(read, grids)
    assert grid[:, 0].tolist() == [item for item, _ in exchange.bucket]
    assert grid[:, 1].sum() == len(pixels)
    features = pixels.reshape(-1, 3, INPUT_WIDTH).sum(1) @ weight
    received = exchange(features)
    rows = max(exchange.route.batch_rows, 1)
    embeds = torch.zeros(rows, exchange.route.local_length, WIDTH, dtype=torch.float64)
    loss = received.merge_into(embeds).pow(2).sum()
    loss.backward()
    assert weight.grad is not None
    return weight.grad.flatten().tolist(), float(loss)


def _pixels(item: dict[str, Any]) -> torch.Tensor:
    rows = item["input_rows"]
    count = torch.arange(rows * INPUT_WIDTH, dtype=torch.float64).reshape(rows, INPUT_WIDTH)
    return torch.sin(count + 100 * item["item_id"])


@pytest.mark.parametrize(
    ("mesh", "pool"),
    [
        pytest.param("dp=4", "all", marks=pytest.mark.slow),
        pytest.param("dp=4", 2, marks=pytest.mark.slow),
        pytest.param("dp=4", 1, marks=pytest.mark.slow),
        ("dp=2,cp=2", "all"),
        pytest.param("dp=2,tp=2", "all", marks=pytest.mark.slow),
    ],
)
def test_gradients_equal_one_process_whoever_encoded(mesh: str, pool: object) -> None:
    """The encoder learns from other images than it saw, or from some twice."""
    replicas = MIXED if mesh == "dp=4" else MIXED[2:]
    found = run_ranks(4, _train, mesh, _workload(pool, *replicas))
    weight = torch.linspace(-1, 1, INPUT_WIDTH * WIDTH, dtype=torch.float64).reshape(INPUT_WIDTH, WIDTH)
    weight.requires_grad_()
    loss = torch.zeros((), dtype=torch.float64)
    for items in replicas:
        for item in items:
            loss = loss + (_pixels(item).reshape(-1, 3, INPUT_WIDTH).sum(1) @ weight).pow(2).sum()
    loss.backward()
    assert weight.grad is not None
    summed = torch.tensor([gradient for gradient, _ in found]).double().sum(0)
    assert torch.allclose(summed, weight.grad.flatten(), rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_a_group_of_a_pool() -> None:
    """A trainer makes its group once, for pools of another size than the table has."""
    meshes = run_ranks(2, _group_of_pool)
    assert meshes == [(0, 1), (0, 1)]


def _group_of_pool(_rank: int) -> tuple[int, ...]:
    return ExchangeGroup.from_mesh("dp=2", pool="all").global_ranks
