"""The loop of replicas that share the encoder work, quoted by the README, with a toy model around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh


def train(
    device_mesh: DeviceMesh,
    encoder: Any,  # noqa: ANN401 - takes pixels and grids
    embed: torch.nn.Module,
    decoder: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loader: list[Any],
) -> list[float]:
    """Train on every micro-batch of `loader`, which is this replica's; return the losses."""
    losses = []
    # The README quotes from here.
    from hpplan.exchange import ExchangeGroup, FeatureExchange, items_from_batch

    group = ExchangeGroup.from_device_mesh(device_mesh, pool="all")  # once: process groups are dear
    for batch in loader:
        items = items_from_batch("qwen3_vl", batch.input_ids, image_grid_thw=batch.image_grid_thw).items
        exchange = FeatureExchange.plan(items, None, {"length": batch.input_ids.shape[1]}, group)
        pixels, grids = exchange.bring(batch.pixel_values, batch.image_grid_thw)  # those of my bucket
        features = encoder(pixels, grids)  # [rows of my bucket, width]
        hidden = exchange(features).merge_into(embed(batch.input_ids))
        loss = decoder(hidden).square().mean()
        loss.backward()  # each row's gradient goes back to the rank that encoded it
        optimizer.step()
        optimizer.zero_grad()
        # The README quotes up to here.
        losses.append(loss.item())
    return losses
