"""Rows forward, gradients back: packing around the collective of one route, and its autograd edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hpplan.errors import UnusableRequest
from hpplan.exchange.copying import gather, scatter
from hpplan.exchange.running import finish

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hpplan.exchange.lockstep import Step
    from hpplan.exchange.memory import Memory
    from hpplan.exchange.packing import Packing, Runs
    from hpplan.exchange.transport import Transport

_LOW_PRECISION = (torch.bfloat16, torch.float16)
_EXACT_SUM = 2


class Engine:
    """Runs one route, forward and backward.

    Payloads of one call lie side by side in the buffers: payload p is a band
    of columns, so one collective carries all, and unpacking is taking views.
    """

    def __init__(self, packing: Packing, transport: Transport, memory: Memory, divisor: int) -> None:
        """Keep what stays the same from call to call; gradients are divided by `divisor`."""
        self.packing = packing
        self.transport = transport
        self.memory = memory
        self._divisor = divisor
        mode = packing.route.mode
        ways = {"none": self._all_to_all, "all_to_all": self._all_to_all, "all_gather": self._all_gather}
        if mode.collective not in ways:
            raise UnusableRequest(
                f"the mode {mode.name} wants the collective {mode.collective!r}, "
                f"and the exchange runs {', '.join(ways)}"
            )
        self._send = ways[mode.collective]

    def forward(
        self, payloads: Sequence[torch.Tensor], step: Step | None = None
    ) -> Generator[None, None, tuple[torch.Tensor, ...]]:
        """Send my rows; make what I get, `[rows received, width]` for each payload.

        `step` is what all ranks of the group take together, None where this rank is alone.
        """
        first, packing = payloads[0], self.packing
        widths = [payload.shape[1] for payload in payloads]
        buffer = self.memory.empty((packing.received_rows, sum(widths)), first.dtype, first.device)
        received = _bands(buffer, widths)
        if packing.own_rows:
            for band, payload in zip(received, payloads, strict=True):
                gather(band.narrow(0, 0, packing.own_rows), payload, packing.own_runs)
        yield from self._send(payloads, buffer, step)
        return received

    def _all_to_all(
        self, payloads: Sequence[torch.Tensor], buffer: torch.Tensor, step: Step | None
    ) -> Generator[None, None, None]:
        packing = self.packing
        sent = self._side_by_side(payloads, packing.send_runs)
        arriving = buffer.narrow(0, packing.own_rows, packing.received_rows - packing.own_rows)
        splits = (packing.receive_splits, packing.send_splits)
        yield from self.transport.all_to_all(arriving, sent, *splits, "exchanging features", step)

    def _all_gather(
        self, _: Sequence[torch.Tensor], buffer: torch.Tensor, step: Step | None
    ) -> Generator[None, None, None]:
        """Fill every rank's block; mine is in its place already."""
        packing = self.packing
        blocks = [
            buffer.narrow(0, packing.block_offsets[rank], packing.route.output_splits[rank])
            for rank in packing.order
        ]
        yield from self.transport.broadcast_each(blocks, "exchanging features", step)

    def backward(
        self, gradients: Sequence[torch.Tensor], step: Step | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Send the gradients of what I received back; return those of my features, for each payload."""
        packing, like = self.packing, gradients[0]
        widths = [gradient.shape[1] for gradient in gradients]
        sent = self._side_by_side(gradients, packing.return_runs)
        shape = (packing.sent_rows, sum(widths))
        arrived = self.memory.empty(shape, like.dtype, like.device)
        splits = (packing.send_splits, packing.receive_splits)
        finish(self.transport.all_to_all(arrived, sent, *splits, "exchanging gradients", step))
        receivers = packing.most_receivers
        if packing.in_order and receivers == self._divisor == 1:
            return _bands(arrived, widths)
        # A sum of two rounds once, in whatever dtype; longer ones would round once for each receiver.
        rounds = like.dtype in _LOW_PRECISION and (receivers > _EXACT_SUM or self._divisor > 1)
        exact = torch.float32 if rounds else like.dtype
        total = self.memory.empty((packing.bucket_rows, shape[1]), exact, like.device)
        if receivers > 1 or sum(packing.route.input_splits) < packing.bucket_rows:
            total.zero_()
        for band, gradient in zip(_bands(total, widths), gradients, strict=True):
            scatter(band, gradient, packing.own_runs, add=receivers > 1)
        scatter(total, arrived, packing.send_runs, add=receivers > 1)
        if self._divisor > 1:
            total.div_(self._divisor)
        return _bands(total.to(like.dtype), widths)

    def _side_by_side(self, bands: Sequence[torch.Tensor], runs: Runs) -> torch.Tensor:
        """Return `runs` of all bands as one contiguous buffer; one run of a lone band as it lies."""
        first = bands[0]
        # An expanded tensor of no rows passes for contiguous, and has no bytes to look at.
        if len(bands) == len(runs) == 1 and first.is_contiguous() and first.stride(1) == 1:
            return first.narrow(0, runs[0].start, runs[0].rows)
        widths = [band.shape[1] for band in bands]
        sent = self.memory.empty((sum(run.rows for run in runs), sum(widths)), first.dtype, first.device)
        for part, band in zip(_bands(sent, widths), bands, strict=True):
            gather(part, band, runs)
        return sent


def _bands(buffer: torch.Tensor, widths: list[int]) -> tuple[torch.Tensor, ...]:
    """Return each payload's columns of a buffer."""
    return (buffer,) if len(widths) == 1 else torch.split(buffer, widths, 1)


class Exchanged(torch.autograd.Function):
    """The autograd edge of one exchange: its backward is the way back, issued by every rank.

    The first tensor is an anchor that requires grad, so that a rank whose own
    features need no gradient takes part in the backward collective too.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's signature
        engine: Engine,
        step: Step | None,
        received: tuple[torch.Tensor, ...],
        anchor: torch.Tensor,
        *payloads: torch.Tensor,
    ) -> Any:  # noqa: ANN401 - torch's signature
        """Tie what came to the payloads that were sent."""
        del anchor, payloads
        ctx.set_materialize_grads(False)
        ctx.engine, ctx.step = engine, step
        ctx.like = [(tuple(rows.shape), rows.dtype, rows.device) for rows in received]
        return received

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> Any:  # noqa: ANN401 - torch's signature
        """Run the engine backward."""
        with ctx.engine.transport.ledger.telling():
            given = [
                torch.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
                for gradient, (shape, dtype, device) in zip(gradients, ctx.like, strict=True)
            ]
            step = None if ctx.step is None else ctx.step.back()
            return (None, None, None, None, *ctx.engine.backward(given, step))


def tied(
    engine: Engine,
    step: Step | None,
    received: tuple[torch.Tensor, ...],
    anchor: torch.Tensor,
    payloads: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """Return what an engine received, with its autograd edge where some rank needs gradients."""
    if step is not None and not step.needs_grad:
        return received
    with_edge: tuple[torch.Tensor, ...] = Exchanged.apply(engine, step, received, anchor, *payloads)  # type: ignore[no-untyped-call]
    return with_edge
