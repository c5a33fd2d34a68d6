"""A toy model, trained with the README's loop on two ranks and without any exchange on one."""

from __future__ import annotations

from typing import Any, NamedTuple

from naive_model import Setting, tokens_of

WIDTH = 4
LENGTH = 16
BATCHES: list[list[dict[str, Any]]] = [
    [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 7},
        {"item_id": 1, "batch_index": 1, "decoder_token_start": 5, "output_rows": 3},
    ],
    [],
    [{"item_id": 4, "batch_index": 0, "decoder_token_start": 4, "output_rows": 8}],
]
"""The second micro-batch is text alone; the third's one image belongs to rank 1 alone."""


class Batch(NamedTuple):
    """One micro-batch on one rank."""

    items: list[dict[str, Any]]
    inputs_embeds: Any

    def pixels(self, bucket: Any) -> Any:  # noqa: ANN401 - torch stays out of the tests' own process
        """Return the pixels of the rows in a bucket."""
        return pixels([(item, row) for item, rows in bucket for row in range(rows)])


def pixels(rows: list[tuple[int, int]]) -> Any:  # noqa: ANN401 - as above
    """Return what the encoder sees of (item, row)s."""
    import torch

    return torch.tensor([[item + 1.0, row / 8, 1.0] for item, row in rows]).view(len(rows), 3)


def _model() -> tuple[Any, Any, Any]:
    import torch

    torch.manual_seed(7)
    encoder, decoder = torch.nn.Linear(3, WIDTH), torch.nn.Linear(WIDTH, 2)
    return encoder, decoder, torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)


def _embeds(tokens: list[int]) -> Any:  # noqa: ANN401 - as above
    import torch

    one = torch.tensor(tokens, dtype=torch.float32)[None, :, None] / LENGTH
    return one.expand(2, len(tokens), WIDTH) + torch.arange(2.0)[:, None, None]


def with_exchange(rank: int) -> tuple[list[float], list[list[float]]]:
    """Run the README's loop; gradients of the ranks are averaged, as data parallelism does."""
    import torch.distributed as dist
    from training_loop import train

    encoder, decoder, optimizer = _model()

    def average(*_: object) -> None:
        for parameter in [*encoder.parameters(), *decoder.parameters()]:
            if parameter.grad is None:
                parameter.grad = parameter.detach() * 0
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2

    optimizer.register_step_pre_hook(average)
    setting = Setting({"sequence": {"length": LENGTH, "cp_layout": "zigzag"}, "items": []}, 2, 1, sp=False)
    embeds = _embeds(tokens_of(setting, rank))
    losses = train(encoder, decoder, optimizer, [Batch(items, embeds) for items in BATCHES])
    return losses, [one.flatten().tolist() for one in encoder.parameters()]


def without_exchange() -> tuple[list[float], list[list[float]]]:
    """Train the same model in one process that puts all features in place itself."""
    encoder, decoder, optimizer = _model()
    losses = []
    for items in BATCHES:
        hidden = _embeds(list(range(LENGTH))).clone()
        for item in items:
            start, rows = item["decoder_token_start"], item["output_rows"]
            encoded = encoder(pixels([(item["item_id"], row) for row in range(rows)]))
            hidden[item["batch_index"], start : start + rows] = encoded
        loss = decoder(hidden).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses, [one.flatten().tolist() for one in encoder.parameters()]


def one_process(rank: int) -> tuple[list[float], list[list[float]]]:
    """Run `without_exchange` in a process that has torch."""
    del rank
    return without_exchange()
