"""Groups from a trainer's DeviceMesh: its coordinates are the ones that count."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks

from hpplan.errors import UnusableRequest
from hpplan.exchange import ExchangeGroup, FeatureExchange
from hpplan.exchange.device_mesh import mesh_of


def _device_mesh(ranks: object, *names: str) -> Any:  # noqa: ANN401 - what a DeviceMesh shows of itself
    return SimpleNamespace(mesh=torch.tensor(ranks), mesh_dim_names=names or None)


@pytest.mark.parametrize(
    ("ranks", "names", "mesh"),
    [
        ([[0, 1], [2, 3]], ("dp", "cp"), "dp=2,cp=2"),
        ([[0, 1], [2, 3]], ("fsdp", "tp"), "dp=2,tp=2"),
        ([[0, 1], [2, 3]], ("ulysses", "model"), "cp=2,tp=2"),
        ([0, 1, 2, 3], ("ddp",), "dp=4"),
        ([[0], [1], [2], [3]], ("dp_shard", "cp"), "dp=4"),
        ([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], ("dp_replicate", "dp_shard", "cp"), "dp=4,cp=2"),
        # cp coordinate 0 has ranks 0 and 1: tp is innermost, though it is named first.
        ([[0, 2], [1, 3]], ("tp", "cp"), "cp=2,tp=2"),
        ([[[0, 1, 2]], [[3, 4, 5]]], ("pp", "dp", "context"), "pp=2,cp=3"),
    ],
)
def test_every_order_and_name_is_read(ranks: object, names: tuple[str, ...], mesh: str) -> None:
    """The mesh has each rank where the DeviceMesh has it."""
    assert str(mesh_of(_device_mesh(ranks, *names), sp=False)) == mesh


def test_sp_and_other_names_are_told() -> None:
    """Neither stands in a DeviceMesh."""
    device_mesh = _device_mesh([[0, 1], [2, 3]], "data", "tp")
    assert str(mesh_of(device_mesh, sp=True, axes={"data": "dp"})) == "dp=2,tp=2,sp"


@pytest.mark.parametrize(
    ("ranks", "names", "said"),
    [
        ([1, 0], ("dp",), "rank 1 is at pp=0, dp=0, cp=0, tp=0 of the DeviceMesh"),
        ([0, 1, 3, 2], ("cp",), "rank 3 is at pp=0, dp=0, cp=2, tp=0 of the DeviceMesh"),
        # dp_replicate, cp, dp_shard: replicas of one axis with another axis between them.
        (
            [[[0, 1], [2, 3]], [[4, 5], [6, 7]]],
            ("dp_replicate", "cp", "dp_shard"),
            "must lie beside each other",
        ),
        # The shards outermost: replica 1 of the trainer would be replica 2 of hpplan.
        ([[0, 2], [1, 3]], ("dp_replicate", "dp_shard"), "must lie beside each other, outermost first"),
        ([2, 3], ("cp",), "has ranks 2, 3, not all of a job from rank 0 on; hand in the whole mesh"),
        (
            [[0, 1]],
            ("data", "cp"),
            "`data` of the DeviceMesh is no name that hpplan knows; say which of pp, dp, cp",
        ),
        ([0, 1], (), "have no names; make it with init_device_mesh(..., mesh_dim_names=...)"),
    ],
)
def test_what_would_be_misread_is_refused(ranks: object, names: tuple[str, ...], said: str) -> None:
    """Other coordinates than the trainer's would send rows to the wrong ranks in silence."""
    with pytest.raises(UnusableRequest) as raised:
        mesh_of(_device_mesh(ranks, *names), sp=False)
    assert said in str(raised.value)


def test_an_axis_that_is_none_is_refused() -> None:
    """A wrong `axes` is the caller's slip."""
    with pytest.raises(UnusableRequest, match="`batch` is no axis; say which of pp, dp, cp, tp it is"):
        mesh_of(_device_mesh([0, 1], "data"), sp=False, axes={"data": "batch"})


ITEMS = [{"item_id": 0, "batch_index": 0, "decoder_token_start": 4, "output_rows": 8}]


def _use_real_mesh(_rank: int) -> tuple[list[int], list[list[float]], list[str]]:
    from torch.distributed.device_mesh import DeviceMesh

    # tp is outermost: cp neighbours are 0 and 1, tp neighbours 0 and 2.
    device_mesh = DeviceMesh("cpu", torch.tensor([[0, 1], [2, 3]]), mesh_dim_names=("tp", "cp"))
    group = ExchangeGroup.from_device_mesh(device_mesh, sp=True)
    sequence = {"length": 16}
    exchange = FeatureExchange.plan(ITEMS, group.mesh or "", sequence, group)
    rows = [[float(row)] for _, count in exchange.bucket for row in range(count)]
    merged = exchange(torch.tensor(rows).reshape(-1, 1)).merge_into(torch.full((1, 4, 1), -1.0))
    refused = []
    for mesh in ("cp=4,sp", "dp=2,cp=2", device_mesh):
        with pytest.raises(UnusableRequest) as raised:
            FeatureExchange.plan(ITEMS, mesh, sequence, group)
        refused.append(str(raised.value))
    dist.barrier()
    return [device_mesh.get_coordinate()[1], device_mesh.get_coordinate()[0]], merged[0].tolist(), refused


@pytest.mark.slow
def test_a_group_from_a_device_mesh_runs_and_knows_its_mesh() -> None:
    """Tokens 4 to 11 have the rows; rank (cp, tp) holds tokens 8 cp + 4 tp and the three after."""
    for (cp, tp), merged, refused in run_ranks(4, _use_real_mesh):
        first = 8 * cp + 4 * tp
        assert merged == [[token - 4.0] if 4 <= token < 12 else [-1.0] for token in range(first, first + 4)]
        assert refused[0] == "the routes are for the mesh cp=4,sp, and the exchange group is for tp=2,cp=2,sp"
        assert refused[1].startswith("the routes are for the mesh dp=2,cp=2")
        assert refused[2] == "a DeviceMesh makes a group with ExchangeGroup.from_device_mesh(device_mesh)"
