"""What one rank got: rows, records in the order of handing over, and the way into the decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hpplan.exchange.copying import clear, gather_apart, scatter
from hpplan.exchange.payloads import peculiarity
from hpplan.exchange.uncompiled import uncompiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.exchange.group import ExchangeGroup
    from hpplan.exchange.packing import Packing, Runs


class ReceivedRecord(NamedTuple):
    """Rows `[row_start, row_stop)` of one item; `rows` is a view, `[row_stop - row_start, width]`."""

    item_id: int
    row_start: int
    row_stop: int
    rows: torch.Tensor


class EncoderOutput(NamedTuple):
    """What transformers takes for the output of an encoder, of one kind of item."""

    pooler_output: tuple[torch.Tensor, ...]
    """The features of each item, in the order of its placeholders."""
    deepstack_features: tuple[tuple[torch.Tensor, ...], ...]
    """The same for each further payload."""

    def to_tuple(self) -> tuple[object, ...]:
        """Return the fields, as transformers asks its own outputs to."""
        return tuple(self)


class Received:
    """The rows for my tokens, of every payload of one call.

    A trainer must let its loss depend on what every rank received, or the
    backward collective waits for the rank that left it out: `merge_into` does
    that even where nothing was received, `tie` does it for anything else.
    """

    def __init__(self, packing: Packing, payloads: Sequence[torch.Tensor], group: ExchangeGroup) -> None:
        """Hold the payloads that a rank of this group received."""
        self.payloads = tuple(payloads)
        """`[rows received, width]` each; which rows are whose, `records` tells."""
        self._packing = packing
        self._group = group

    @property
    def rows(self) -> torch.Tensor:
        """All rows of the first payload, `[rows received, width]`."""
        return self.payloads[0]

    @uncompiled
    def records(self, payload: int = 0) -> list[ReceivedRecord]:
        """Return views of one payload's rows, by (batch_index, first token, item_id), then row."""
        rows = self.payloads[payload]
        return [
            ReceivedRecord(item, start, stop, rows.narrow(0, offset, stop - start))
            for item, start, stop, offset in self._packing.records
        ]

    @uncompiled
    def mm_encoder_outputs(self, kinds: Sequence[str]) -> dict[str, EncoderOutput]:
        """Return, by kind, what a model of transformers takes under this name and puts in its places itself.

        `kinds` are those of the replica's items, as `items_from_batch` finds them.
        Train on `received.tie(loss)`: the model does not touch what it gets no
        kind of. Raises PeersFailed where this rank does not own all tokens of its
        replica's items, as with context parallelism; the others raise it too, at
        the latest in their next call or backward.
        """
        levels = [self.records(payload) for payload in range(len(self.payloads))]
        numbers = sorted({record.item_id for record in levels[0]})
        owned = sum(run.rows for run in self._packing.owned_runs)
        if owned < len(self.rows) or len(numbers) != len(kinds):
            self._group.ledger.refuse(
                f"this rank has {owned} rows of {len(numbers)} items, and its replica {len(kinds)} items: "
                "mm_encoder_outputs are for ranks that hold whole sequences"
            )
        kind_of = dict(zip(numbers, kinds, strict=True))
        outputs = {}
        for kind in dict.fromkeys(kinds):
            first, *deeper = (
                tuple(record.rows for record in records if kind_of[record.item_id] == kind)
                for records in levels
            )
            outputs[kind] = EncoderOutput(first, tuple(deeper))
        return outputs

    @uncompiled
    def by_position(self, payload: int = 0) -> torch.Tensor:
        """Return all rows of one payload in the order of their positions, where those are as many."""
        rows, runs = self.payloads[payload], self._packing.owned_runs
        if all(run.offset == run.start for run in runs):
            return rows
        in_order = sorted(runs, key=lambda run: run.start)
        return torch.cat([rows.narrow(0, run.offset, run.rows) for run in in_order])

    @uncompiled
    def merge_into(self, inputs_embeds: torch.Tensor, payload: int = 0, *, add: bool = False) -> torch.Tensor:
        """Return `inputs_embeds` with each owned row of one payload in its token's place.

        `inputs_embeds` is `[batch rows, local tokens, width]`; rows are cast to
        its dtype. `add` adds rows to what is there instead, as DeepStack does.
        Rows whose token another rank owns go nowhere, and get gradient zero.
        Raises PeersFailed when shape, dtype or device do not fit; the other
        ranks raise it too, at the latest in their next call or backward.
        """
        problem = self._problem(inputs_embeds, payload)
        if problem is not None:
            self._group.ledger.refuse(problem)
        rows, runs = self.payloads[payload], self._packing.owned_runs
        with self._group.ledger.telling():
            merged: torch.Tensor = _apply(_Merged, inputs_embeds, rows, runs, add, self._group)
        return merged

    def _problem(self, inputs_embeds: object, payload: int) -> str | None:
        """Return why a payload cannot be merged into what was given, None where it can."""
        if not 0 <= payload < len(self.payloads):
            return f"there is no payload {payload}: the call brought {len(self.payloads)}"
        if not isinstance(inputs_embeds, torch.Tensor):
            return f"inputs_embeds are of type {type(inputs_embeds).__name__}, and no tensor"
        rows, route, shape = self.payloads[payload], self._packing.route, list(inputs_embeds.shape)
        if shape[1:] != [route.local_length, rows.shape[1]] or shape[0] < route.batch_rows:
            wanted = f"[at least {route.batch_rows}, {route.local_length}, {rows.shape[1]}]"
            return f"inputs_embeds have shape {shape}, and the routes need {wanted}"
        return _misfit(inputs_embeds, rows)

    @uncompiled
    def tie(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor`, made to depend on everything received, with gradient zero.

        Use it on the loss where a rank may not touch what it received.
        """
        tied: torch.Tensor = _apply(_Tied, tensor, *self.payloads)
        return tied


def _misfit(embeds: torch.Tensor, rows: torch.Tensor) -> str | None:
    """Return why rows of the right shape cannot go into embeddings, None where they can."""
    if (strange := peculiarity(embeds)) is not None:
        return f"inputs_embeds cannot be merged into: {strange}"
    if rows.is_floating_point() and not embeds.is_floating_point():
        return f"inputs_embeds are {embeds.dtype}, which would cut the features' fractions off"
    if embeds.device != rows.device:
        return f"inputs_embeds are on {embeds.device}, and the features on {rows.device}"
    return None


def _apply(function: type[torch.autograd.Function], *arguments: object) -> Any:  # noqa: ANN401 - torch has no types here
    return function.apply(*arguments)  # type: ignore[no-untyped-call]


class _Merged(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's signature
        embeds: torch.Tensor,
        rows: torch.Tensor,
        runs: Runs,
        add: bool,
        group: ExchangeGroup,
    ) -> torch.Tensor:
        ctx.runs, ctx.add, ctx.group = runs, add, group
        ctx.rows = (tuple(rows.shape), rows.dtype)
        merged = group.memory.empty(embeds.shape, embeds.dtype, embeds.device).copy_(embeds)
        scatter(merged.view(-1, rows.shape[1]), rows.to(embeds.dtype), runs, add=add)
        return merged

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # noqa: ANN401 - torch's signature
        (count, width), dtype = ctx.rows
        empty = ctx.group.memory.empty
        of_rows = of_embeds = None
        with ctx.group.ledger.telling():
            flat = gradient.reshape(-1, width)
            if ctx.needs_input_grad[1]:
                of_rows = empty((count, width), dtype, gradient.device)
                if sum(run.rows for run in ctx.runs) < count:
                    of_rows.zero_()
                gather_apart(of_rows, flat.to(dtype), ctx.runs)
            if ctx.needs_input_grad[0]:
                of_embeds = gradient
                if not ctx.add:
                    of_embeds = empty(gradient.shape, gradient.dtype, gradient.device).copy_(gradient)
                    clear(of_embeds.view(-1, width), ctx.runs)
        return of_embeds, of_rows, None, None, None


class _Tied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, *rows: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 - torch's signature
        ctx.rows = [(tuple(one.shape), one.dtype, one.device) for one in rows]
        return tensor.view_as(tensor)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # noqa: ANN401 - torch's signature
        zeros = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in ctx.rows]
        return (gradient, *zeros)
