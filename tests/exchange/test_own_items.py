"""A trainer whose ranks know the batch of their replica alone: its items, gathered over a pool."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from pool_loop import train
from ranks import run_ranks
from torch.distributed.device_mesh import init_device_mesh

from hpplan.exchange import (
    ExchangeGroup,
    FeatureExchange,
    PeersFailed,
    UnusableRequest,
    items_from_batch,
)

PLACEHOLDER, TEXT, WIDTH, PATCH = 151655, 7, 6, 5


def _batch(replica: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return token ids `[2, 16]`, grids and pixels of a replica; replica 1 has no images."""
    rows = [[(1, 4, 4), (1, 2, 4)], []] if replica != 1 else [[], []]
    if replica == 3:
        rows = [[(1, 4, 8)], [(1, 2, 2), (1, 4, 4)]]
    ids = torch.full((2, 16), TEXT)
    for at, grids in enumerate(rows):
        token = 2
        for _, height, width in grids:
            ids[at, token : token + height * width // 4] = PLACEHOLDER
            token += height * width // 4 + 1
    flat = [grid for grids in rows for grid in grids]
    patches = sum(height * width for _, height, width in flat)
    pixels = torch.sin(torch.arange(patches * PATCH, dtype=torch.float64) + 50 * replica).reshape(-1, PATCH)
    return ids, torch.tensor(flat, dtype=torch.int64).reshape(-1, 3), pixels


def _weight() -> torch.Tensor:
    return torch.linspace(-1, 1, PATCH * WIDTH, dtype=torch.float64).reshape(PATCH, WIDTH).requires_grad_()


def _step(rank: int, shape: dict[str, int], pool: Any, assign: str) -> list[float]:  # noqa: ANN401 - a number or all
    device_mesh = init_device_mesh("cpu", tuple(shape.values()), mesh_dim_names=tuple(shape))
    group = ExchangeGroup.from_device_mesh(device_mesh, pool=pool)
    assert group.mesh is not None
    replica = group.mesh.coordinates(rank)["dp"]
    ids, grids, pixels = _batch(replica)
    weight = _weight()
    batch = items_from_batch("qwen3_vl", ids, image_grid_thw=grids)
    sequence = {"length": ids.shape[1]}
    exchange = FeatureExchange.plan(batch.items, None, sequence, group, assign=assign, load_factor=1.5)
    held, its_grids = exchange.bring(pixels, grids)
    assert int(its_grids.prod(1).sum()) == len(held)
    features = held.reshape(-1, 4, PATCH).sum(1) @ weight
    length = exchange.route.local_length
    merged = exchange(features).merge_into(torch.zeros(2, length, WIDTH, dtype=torch.float64))
    merged.pow(2).sum().backward()
    assert weight.grad is not None
    return weight.grad.flatten().tolist()


@pytest.mark.parametrize(
    ("shape", "pool", "assign"),
    [
        ({"dp": 4}, "all", "lpt"),
        ({"dp_replicate": 2, "dp_shard": 2}, 2, "local"),
        ({"dp": 2, "cp": 2}, "all", "lpt"),
        ({"fsdp": 2, "tp": 2}, "all", "local"),
        ({"dp": 4}, 1, "lpt"),
    ],
)
@pytest.mark.slow
def test_gradients_equal_one_process(shape: dict[str, int], pool: Any, assign: str) -> None:  # noqa: ANN401 - the same
    """A trainer that only knows its own images learns something else than one process with all of them."""
    found = run_ranks(4, _step, shape, pool, assign)
    replicas = 4 if set(shape) <= {"dp", "dp_replicate", "dp_shard"} else 2
    weight = _weight()
    loss = torch.zeros((), dtype=torch.float64)
    for replica in range(replicas):
        _, _, pixels = _batch(replica)
        loss = loss + (pixels.reshape(-1, 4, PATCH).sum(1) @ weight).pow(2).sum()
    loss.backward()
    assert weight.grad is not None
    summed = torch.tensor(found, dtype=torch.float64).sum(0)
    assert torch.allclose(summed, weight.grad.flatten(), rtol=1e-12, atol=1e-12)


class _Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.merge = torch.nn.Linear(4 * PATCH, WIDTH, dtype=torch.float64)

    def forward(self, pixels: torch.Tensor, grids: torch.Tensor) -> torch.Tensor:
        assert int(grids.prod(1).sum()) == len(pixels)
        features: torch.Tensor = self.merge(pixels.reshape(-1, 4 * PATCH))
        return features


def _models() -> tuple[_Encoder, torch.nn.Module, torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(3)
    encoder = _Encoder()
    embed = torch.nn.Embedding(PLACEHOLDER + 1, WIDTH, dtype=torch.float64)
    decoder = torch.nn.Linear(WIDTH, 2, dtype=torch.float64)
    parts = (encoder, embed, decoder)
    return (*parts, torch.optim.SGD([one for part in parts for one in part.parameters()], lr=0.1))


def _train(rank: int, world: int) -> tuple[list[float], list[float]]:
    """Run the README's loop on every rank; gradients are averaged, as data parallelism does."""
    encoder, embed, decoder, optimizer = _models()

    def average(*_: object) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
                dist.all_reduce(gradient)
                parameter.grad = gradient / world

    optimizer.register_step_pre_hook(average)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    loader = [_Batch(*_batch((rank + shift) % 4)) for shift in range(3)]
    losses = train(mesh, encoder, embed, decoder, optimizer, loader)
    return losses, encoder.merge.weight.flatten().tolist()


class _Batch(NamedTuple):
    input_ids: torch.Tensor
    image_grid_thw: torch.Tensor
    pixel_values: torch.Tensor


@pytest.mark.slow
def test_the_readme_loop_equals_one_process() -> None:
    """The loop that people copy trains something else than one process with the images of all replicas."""
    found = run_ranks(4, _train, 4)
    encoder, embed, decoder, optimizer = _models()
    for shift in range(3):
        losses = []
        for replica in range(4):
            ids, grids, pixels = _batch((replica + shift) % 4)
            hidden = embed(ids)
            hidden = hidden.masked_scatter((ids == PLACEHOLDER)[..., None], encoder(pixels, grids))
            losses.append(decoder(hidden).square().mean())
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        assert [losses_of[shift] for losses_of, _ in found] == pytest.approx([one.item() for one in losses])
    for _, weight in found:
        assert weight == pytest.approx(encoder.merge.weight.flatten().tolist(), rel=1e-10, abs=1e-12)


def _idle(rank: int) -> tuple[int, int, float, list[float]]:
    group = ExchangeGroup.from_mesh("dp=2", pool="all")
    ids, grids, pixels = _batch(rank)
    items = items_from_batch("qwen3_vl", ids, image_grid_thw=grids).items[:1]
    exchange = FeatureExchange.plan(items, None, {"length": 16}, group)
    held, its = exchange.bring(pixels[: 16 * len(items)], grids[: len(items)], least=(1, 2, 2))
    encoder = torch.nn.Linear(4 * PATCH, WIDTH, dtype=torch.float64)
    merged = exchange(encoder(held.reshape(-1, 4 * PATCH))).merge_into(
        torch.zeros(2, 16, WIDTH, dtype=torch.float64)
    )
    merged.square().sum().backward()
    assert encoder.bias.grad is not None
    return len(held), len(its), float(encoder.bias.grad.abs().sum()), its.flatten().tolist()


def _idle_without_a_tensor(rank: int) -> str:
    group = ExchangeGroup.from_mesh("dp=2", pool="all")
    ids, grids, pixels = _batch(rank)
    items = items_from_batch("qwen3_vl", ids, image_grid_thw=grids).items[:1]
    exchange = FeatureExchange.plan(items, None, {"length": 16}, group)
    exchange.bring(pixels[: 16 * len(items)], grids[: len(items)], least=(1, 2, 2))
    rows = sum(count for _, count in exchange.bucket)
    with pytest.raises(PeersFailed) as failed:
        exchange(torch.zeros(rows, WIDTH) if rows else None)  # type: ignore[arg-type]
    return str(failed.value)


def test_an_idle_rank_that_brings_no_tensor_ends_all_ranks() -> None:
    """Its features are cut off, and before that looked at: the others must hear what is wrong."""
    for said in run_ranks(2, _idle_without_a_tensor):
        assert "rank 1: the features are of type NoneType, and no tensor" in said


@pytest.mark.slow
def test_a_rank_with_nothing_to_encode_encodes_zeros() -> None:
    """An encoder that is itself parallel would wait for it, or would learn from an image of nothing."""
    (patches, items, gradient, _), idle = run_ranks(2, _idle)
    assert (patches, items) == (16, 1)
    assert gradient > 0
    assert idle == (4, 1, 0.0, [1, 2, 2])


def _differ(rank: int, fault: str) -> str:
    group = ExchangeGroup.from_mesh("dp=2,cp=2", pool="all", timeout=10)
    ids, grids, _ = _batch(0)
    items = items_from_batch("qwen3_vl", ids, image_grid_thw=grids).items
    sequence: dict[str, Any] = {"length": 16}
    if fault == "items" and rank == 1:
        items = items[:1]
    if fault == "sequence" and rank > 1:
        sequence = {"length": 32}
    more = {"buckets": [[0], [1], [], []]} if fault == "buckets" else {}
    with pytest.raises(UnusableRequest) as raised:
        FeatureExchange.plan(items, None, sequence, group, **more)
    dist.barrier()
    return str(raised.value)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("items", "ranks 0 and 1 of the pool have other items"),
        ("sequence", "ranks 0 and 2 of the pool have other sequences"),
        ("buckets", "in a pool items are assigned by hpplan; leave out `buckets`"),
    ],
)
@pytest.mark.slow
def test_ranks_that_say_other_things_are_refused(fault: str, said: str) -> None:
    """Rows would go where nobody waits for them."""
    assert run_ranks(4, _differ, fault) == [said] * 4


def _cut(rank: int) -> str:
    group = ExchangeGroup.from_mesh("cp=2", timeout=20)
    ids, grids, pixels = _batch(0)
    batch = items_from_batch("qwen3_vl", ids, image_grid_thw=grids)
    exchange = FeatureExchange.plan(batch.items, None, {"length": 16}, group, buckets=[[0], [1]])
    (held,) = exchange.bring(pixels)
    received = exchange(held.reshape(-1, 4, PATCH).sum(1) @ _weight())
    with pytest.raises(PeersFailed) as failed:
        received.mm_encoder_outputs(batch.kinds)
    return f"{rank}: {failed.value}"


@pytest.mark.slow
def test_transformers_is_not_handed_a_part_of_a_sequence() -> None:
    """It would find fewer tokens than features, or put them at tokens of another image."""
    for said in run_ranks(2, _cut):
        assert "mm_encoder_outputs are for ranks that hold whole sequences" in said
