"""The training loop that the README quotes, between its two marks, with a toy model around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def train(
    encoder: torch.nn.Module,
    decoder: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loader: list[Any],
) -> list[float]:
    """Train on every micro-batch of `loader`; return the losses."""
    losses = []
    # README: training loop
    from hpplan.exchange import ExchangeGroup, FeatureExchange
    from hpplan.routing.mesh import parse_mesh

    mesh = parse_mesh("cp=2")
    group = ExchangeGroup.from_mesh(mesh)  # once: process groups are dear
    for batch in loader:
        exchange = FeatureExchange.plan(batch.items, mesh, {"length": 16, "cp_layout": "zigzag"}, group)
        features = encoder(batch.pixels(exchange.bucket))  # [rows of my bucket, width]
        hidden = exchange(features).merge_into(batch.inputs_embeds)  # [batch rows, local tokens, width]
        loss = decoder(hidden).square().mean()
        loss.backward()  # each row's gradient goes back to the rank that encoded it
        optimizer.step()
        optimizer.zero_grad()
        # README: that is all
        losses.append(loss.item())
    return losses
