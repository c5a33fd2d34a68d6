"""How long an exchange takes, beside torch's plain collective on ready-packed buffers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch
import torch.distributed as dist

from hpplan.exchange.running import finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.exchange.feature_exchange import FeatureExchange
    from hpplan.routing.rank_route import RankRoute
    from hpplan.workload.workload import Workload


T = TypeVar("T")


@dataclass
class Timings:
    """Seconds of each iteration on one rank; exchange and plain collective take turns."""

    forward: list[float] = field(default_factory=list)
    backward: list[float] = field(default_factory=list)
    plain_forward: list[float] = field(default_factory=list)
    plain_backward: list[float] = field(default_factory=list)


def measure(
    exchange: FeatureExchange,
    workload: Workload,
    device: torch.device,
    *,
    iterations: int,
    warmup: int,
    backward: bool,
    progress: Callable[[int, int], None],
    together: dist.ProcessGroup | None = None,
    plain: bool = True,
) -> Timings:
    """Time the exchange of rows; every rank of the group calls this.

    All ranks of `together` start each step at once; None stands for the whole job.

    The plain collective takes turns with it, unless `plain` is False; it gets rows packed in wire order, and
    a fresh output as torch's callers give it. `progress(done, total)` is called after each iteration.
    """
    timings = Timings()
    dtype: torch.dtype = getattr(torch, workload.dtype)
    route = exchange.route
    width = workload.feature_width
    features = [
        torch.ones(route.rows_produced, width, dtype=dtype, device=device, requires_grad=backward)
        for _ in range(workload.payloads)
    ]
    columns = width * workload.payloads
    steps = [route] if route.gather is None else [route, route.gather]
    rows = [(step.send_buffer_rows, step.receive_buffer_rows) if plain else (0, 0) for step in steps]
    packed, gradient = (
        [torch.ones(one[side], columns, dtype=dtype, device=device) for one in rows] for side in (0, 1)
    )
    due = route.last.receive_buffer_rows
    gradients = [torch.ones(due, width, dtype=dtype, device=device) for _ in features]
    clock = _Clock(exchange, device, together)
    for iteration in range(warmup + iterations):
        kept = timings if iteration >= warmup else Timings()
        received = clock.run(kept.forward, lambda: exchange(features))
        if plain:
            clock.run(kept.plain_forward, lambda: _plain(exchange, steps, packed, back=False))
        if backward:
            back = partial(torch.autograd.backward, received.payloads, gradients)
            clock.run(kept.backward, back)
            if plain:
                clock.run(kept.plain_backward, lambda: _plain(exchange, steps, gradient, back=True))
            for feature in features:
                feature.grad = None
        progress(iteration + 1, warmup + iterations)
    return timings


class _Clock:
    def __init__(
        self, exchange: FeatureExchange, device: torch.device, together: dist.ProcessGroup | None
    ) -> None:
        self._transport = exchange.group.transport
        self._device = device
        self._together = together

    def run(self, seconds: list[float], action: Callable[[], T]) -> T:
        """Run something on all ranks of the group at once, and keep how long it took here."""
        self._synchronize()
        # A reduction between CPUs: torch's barrier would take the accelerator's backend.
        arrived = torch.zeros(1)
        collective = partial(dist.all_reduce, arrived, group=self._together)
        self._transport.run([collective], arrived.device, "starting an iteration together")
        start = time.perf_counter()
        result = action()
        self._synchronize()
        seconds.append(time.perf_counter() - start)
        return result

    def _synchronize(self) -> None:
        if self._device.type != "cpu":
            getattr(torch, self._device.type).synchronize()


def _plain(
    exchange: FeatureExchange, steps: Sequence[RankRoute], packed: Sequence[torch.Tensor], *, back: bool
) -> None:
    """Run the collectives alone, with the splits of whole routes: what the exchange is compared with."""
    order = exchange.process_group_order
    pairs = list(zip(steps, packed, strict=True))
    for route, leaving in reversed(pairs) if back else pairs:
        sent, received = route.input_splits, route.output_splits
        if back:
            sent, received = received, sent
        arrived = torch.empty(sum(received), leaving.shape[1], dtype=leaving.dtype, device=leaving.device)
        splits = ([received[rank] for rank in order], [sent[rank] for rank in order])
        finish(exchange.group.transport.all_to_all(arrived, leaving, *splits, "measuring"))
