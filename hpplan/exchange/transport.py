"""The collectives: torch's own, waited for with an eye on the ledger."""

from __future__ import annotations

import atexit
import time
from functools import cache
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from hpplan.exchange.ledger import first_line, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.exchange.ledger import Ledger

_GLANCE = 50e-6
"""Seconds between two looks at a device's collective."""

_LETTING_GO = 0.1
"""Seconds that torch's threads have at exit; one of them takes microseconds after its collective."""

_LOOK = seconds(0.2)
"""How long a rank waits between two looks at the ledger. Completion ends the wait at once."""


class Transport:
    """Issues the collectives of one process group.

    The one seam between packing and the network: tests put a faulty transport
    in place of this one to see that verification finds what it breaks.
    """

    def __init__(self, process_group: dist.ProcessGroup, ledger: Ledger) -> None:
        """Use a process group whose ranks share this ledger."""
        self.process_group = process_group
        self.ledger = ledger
        _let_go_at_exit()
        self.watches_devices = False
        """Whether to wait for accelerators here too, rather than when somebody reads the result."""
        self.calls = 0

    def all_to_all(
        self,
        received: torch.Tensor,
        sent: torch.Tensor,
        output_splits: Sequence[int],
        input_splits: Sequence[int],
        doing: str,
    ) -> None:
        """Send rows `sent`, split by receiver, and fill `received`, split by sender. Both contiguous."""
        self.calls += 1
        work = dist.all_to_all_single(
            _as_bytes(received),
            _as_bytes(sent),
            list(output_splits),
            list(input_splits),
            group=self.process_group,
            async_op=True,
        )
        self.wait(work, sent.device, doing)

    def connect(self, device: torch.device) -> None:
        """Send one byte to every rank."""
        one = torch.ones(dist.get_world_size(self.process_group), dtype=torch.uint8, device=device)
        work = dist.all_to_all_single(torch.empty_like(one), one, group=self.process_group, async_op=True)
        self.wait(work, device, "connecting")

    def broadcast_each(self, slots: Sequence[torch.Tensor], doing: str) -> None:
        """Fill slot r on every rank with what rank r has in it; empty slots cost nothing.

        A ragged all-gather: gloo refuses uneven slots, and padding even ones
        measured 2.6 times as long as these broadcasts.
        """
        self.calls += 1
        works = [
            dist.broadcast(
                _as_bytes(slot),
                dist.get_global_rank(self.process_group, rank),
                group=self.process_group,
                async_op=True,
            )
            for rank, slot in enumerate(slots)
            if slot.numel()
        ]
        for work in works:
            self.wait(work, slots[0].device, doing)

    def wait(self, work: dist.Work | None, device: torch.device, doing: str) -> None:
        """Wait for a collective; raise PeersFailed on every rank once it cannot finish.

        On an accelerator this orders the stream, as torch does, and returns,
        unless `watches_devices`.
        """
        if work is None:
            return
        if device.type != "cpu" and not self.watches_devices:
            work.wait()
            return
        deadline = time.monotonic() + self.ledger.patience
        while not _finished(work, device, self.ledger, doing):
            self.ledger.check(doing)
            if time.monotonic() > deadline:
                self.ledger.break_off(doing)


@cache
def _let_go_at_exit() -> None:
    """Give torch's threads time to let go of tensors before the interpreter ends.

    A thread that drops the last reference to a tensor that Python knew waits
    for the interpreter's lock; where the interpreter ends meanwhile, that
    aborts the process ("terminate called without an active exception").
    """
    atexit.register(time.sleep, _LETTING_GO)


def _finished(work: dist.Work, device: torch.device, ledger: Ledger, doing: str) -> bool:
    """Wait a moment; return whether the collective is done. Break off when it failed."""
    if device.type != "cpu":
        # With a time limit NCCL gives up the communicator, so look instead of waiting.
        until = time.monotonic() + _LOOK.total_seconds()
        while not work.is_completed() and time.monotonic() < until:
            time.sleep(_GLANCE)
        if not work.is_completed():
            return False
    error = _waited(work)
    if error is None:
        return True
    # A time limit that ran out leaves the work as it was; any other error completes it. It may
    # also complete between the two: then only a second look tells which it was.
    if not work.is_completed():
        return False
    error = _waited(work)
    return error is None or ledger.break_off(doing, first_line(error))


def _waited(work: dist.Work) -> RuntimeError | None:
    try:
        work.wait(_LOOK)
    except RuntimeError as error:
        return error
    return None


def _as_bytes(rows: torch.Tensor) -> torch.Tensor:
    """View rows as bytes on gloo and NCCL, which then carry every dtype."""
    return rows if rows.device.type == "npu" else rows.view(torch.uint8)
