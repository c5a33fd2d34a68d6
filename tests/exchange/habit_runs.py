"""What trainers do around an exchange: evaluate, freeze, checkpoint, compile."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from hpplan.exchange import ExchangeGroup, FeatureExchange

if TYPE_CHECKING:
    from collections.abc import Callable

PATCH, WIDTH, LENGTH, IMAGES = 5, 4, 16, 3
ROWS = 4
"""Of each image, in inputs and features alike; replica 1 has text alone."""


class Model(NamedTuple):
    """An encoder of two layers, so that something is saved for backward, and a decoder."""

    encoder: torch.nn.Module
    decoder: torch.nn.Module

    def gradients(self) -> list[torch.Tensor]:
        """Return the gradient of each parameter, zeros where there is none."""
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        return [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]


def _model() -> Model:
    torch.manual_seed(5)
    layers = [torch.nn.Linear(PATCH, 8), torch.nn.GELU(), torch.nn.Linear(8, WIDTH)]
    encoder = torch.nn.Sequential(*layers).double()
    return Model(encoder, torch.nn.Sequential(torch.nn.Linear(WIDTH, 6), torch.nn.GELU()).double())


def _pixels(replica: int) -> torch.Tensor:
    rows = ROWS * IMAGES * (replica == 0)
    return torch.sin(torch.arange(rows * PATCH, dtype=torch.float64)).reshape(rows, PATCH)


def _embeds(replica: int) -> torch.Tensor:
    numbers = torch.arange(IMAGES * LENGTH * WIDTH, dtype=torch.float64) + replica
    return torch.cos(numbers).reshape(IMAGES, LENGTH, WIDTH)


def _items(replica: int, count: int = IMAGES) -> list[dict[str, Any]]:
    images = range(count * (replica == 0))
    return [
        {
            "item_id": at,
            "batch_index": at,
            "decoder_token_start": 2 + at,
            "output_rows": ROWS,
            "input_rows": ROWS,
        }
        for at in images
    ]


def _alone(model: Model, replica: int) -> torch.Tensor:
    """Return what the decoder makes of a replica's batch in one process."""
    hidden = _embeds(replica).clone()
    if replica == 0:
        for at, rows in enumerate(model.encoder(_pixels(0)).split(ROWS)):
            hidden[at, 2 + at : 2 + at + ROWS] = rows
    decoded: torch.Tensor = model.decoder(hidden)
    return decoded


def plain(
    model: Model, exchange: FeatureExchange, pixels: torch.Tensor, embeds: torch.Tensor
) -> torch.Tensor:
    """Encode, exchange, decode."""
    decoded: torch.Tensor = model.decoder(exchange(model.encoder(pixels)).merge_into(embeds))
    return decoded


def encoder_checkpointed(
    model: Model, exchange: FeatureExchange, pixels: torch.Tensor, embeds: torch.Tensor
) -> torch.Tensor:
    """Encode again in the backward."""
    features = checkpoint(model.encoder, pixels, use_reentrant=False)
    decoded: torch.Tensor = model.decoder(exchange(features).merge_into(embeds))
    return decoded


def all_checkpointed(
    model: Model, exchange: FeatureExchange, pixels: torch.Tensor, embeds: torch.Tensor, *, reentrant: bool
) -> torch.Tensor:
    """Exchange again in the backward, too."""
    forward = partial(plain, model, exchange)
    decoded: torch.Tensor = checkpoint(forward, pixels, embeds.requires_grad_(), use_reentrant=reentrant)
    return decoded


def parts_compiled(
    model: Model, exchange: FeatureExchange, pixels: torch.Tensor, embeds: torch.Tensor
) -> torch.Tensor:
    """Compile encoder and decoder."""
    compiled = Model(*(torch.compile(part, backend="aot_eager") for part in model))  # type: ignore[arg-type]
    return plain(compiled, exchange, pixels, embeds)


def all_compiled(
    model: Model, exchange: FeatureExchange, pixels: torch.Tensor, embeds: torch.Tensor
) -> torch.Tensor:
    """Compile everything with the exchange in its midst."""
    compiled = torch.compile(partial(plain, model, exchange), backend="aot_eager")
    decoded: torch.Tensor = compiled(pixels, embeds)
    return decoded


HABITS: dict[str, Any] = {
    "plain": plain,
    "encoder checkpointed": encoder_checkpointed,
    "all checkpointed": partial(all_checkpointed, reentrant=False),
    "all checkpointed by recursion": partial(all_checkpointed, reentrant=True),
    "parts compiled": parts_compiled,
    "all compiled": all_compiled,
}


def learned(rank: int, names: list[str]) -> list[tuple[str, float]]:
    """Return, by habit, how far outputs and gradients are from those of one process, two steps each."""
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    return [(name, max(_step(rank, group, HABITS[name]) for _ in range(2))) for name in names]


def _exchange(rank: int, group: ExchangeGroup) -> tuple[FeatureExchange, torch.Tensor]:
    exchange = FeatureExchange.plan(_items(rank), None, {"length": LENGTH}, group)
    (pixels,) = exchange.bring(_pixels(rank))
    return exchange, pixels


def _step(rank: int, group: ExchangeGroup, forward: Callable[..., torch.Tensor], freeze: str = "") -> float:
    ours, alone = _model(), _model()
    for model in (ours, alone):
        if freeze:
            getattr(model, freeze).requires_grad_(requires_grad=False)
    exchange, pixels = _exchange(rank, group)
    output = forward(ours, exchange, pixels, _embeds(rank))
    output.square().sum().backward()  # type: ignore[no-untyped-call]
    outputs = [_alone(alone, replica) for replica in range(2)]
    torch.stack([one.square().sum() for one in outputs]).sum().backward()  # type: ignore[no-untyped-call]
    off = [float((output - outputs[rank]).detach().abs().max())]
    for mine, whole in zip(ours.gradients(), alone.gradients(), strict=True):
        torch.distributed.all_reduce(mine)
        off.append(float((mine - whole).abs().max()))
    return max(off)


def frozen(rank: int) -> list[float]:
    """Return how far a step with a frozen encoder, or a frozen decoder, is from one process."""
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    return [_step(rank, group, plain, part) for part in ("encoder", "decoder", "")]


def evaluated(rank: int) -> list[tuple[float, bool, float]]:
    """Evaluate twice without gradients in the midst of training.

    Returns how far the output is from one process, whether it has an edge, and
    how far the training step that follows is.
    """
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    found = []
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            model = _model()
            exchange, pixels = _exchange(rank, group)
            output = plain(model, exchange, pixels, _embeds(rank))
            off = float((output - _alone(model, rank)).abs().max())
        found.append((off, output.requires_grad, _step(rank, group, plain)))
    return found


def compiled_once(rank: int) -> tuple[float, int]:
    """Compile a step once, and run it on batches with and without images.

    Returns how far its outputs are from those that nobody compiled, and how
    often the compiler was at work.
    """
    group = ExchangeGroup.from_mesh("dp=2", pool="all", timeout=30)
    model = _model()
    forward = partial(plain, model)
    compiled = torch.compile(forward, backend="aot_eager")
    off = 0.0
    for count in (3, 0, 1, 2, 3, 2, 1, 0, 3, 1, 2, 0):
        exchange = FeatureExchange.plan(_items(rank, count), None, {"length": LENGTH}, group)
        (pixels,) = exchange.bring(_pixels(rank)[: ROWS * count])
        found, expected = (one(exchange, pixels, _embeds(rank)) for one in (compiled, forward))
        found.sum().backward()
        expected.sum().backward()
        off = max(off, float((found - expected).detach().abs().max()))
    return off, torch._dynamo.utils.counters["stats"]["unique_graphs"]
