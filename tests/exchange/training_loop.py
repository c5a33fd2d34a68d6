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
    # The README quotes from here.
    from hpplan.exchange import ExchangeGroup, FeatureExchange

    group = ExchangeGroup.from_mesh("cp=2")  # once: process groups are dear
    sequence = {"length": 16, "cp_layout": "zigzag"}
    for batch in loader:
        exchange = FeatureExchange.plan(batch.items, "cp=2", sequence, group)
        features = encoder(batch.pixels(exchange.bucket))  # [rows of my bucket, width]
        hidden = exchange(features).merge_into(batch.inputs_embeds)  # [batch rows, local tokens, width]
        loss = decoder(hidden).square().mean()
        loss.backward()  # each row's gradient goes back to the rank that encoded it
        optimizer.step()
        optimizer.zero_grad()
        # The README quotes up to here.
        losses.append(loss.item())
    return losses
