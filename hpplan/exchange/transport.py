"""The collectives: torch's own, waited for with an eye on the ledger."""

from __future__ import annotations

import atexit
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

import torch
import torch.distributed as dist

from hpplan.exchange.running import finish
from hpplan.watch.faults import PeersFailed, first_line, seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hpplan.watch.ledger import Ledger

_GLANCE = 50e-6
"""Seconds between two looks at a device's collective."""

_LETTING_GO = 0.1
"""Seconds that torch's threads have at exit; one of them takes microseconds after its collective."""

_LOOK = seconds(0.2)
"""How long a rank waits between two looks at the ledger. Completion ends the wait at once."""


class Carrier(Protocol):
    """What all ranks take together before a collective; few rows travel with it."""

    def take(
        self, leaving: Sequence[torch.Tensor], arriving: Sequence[int], doing: str
    ) -> Generator[None, None, list[torch.Tensor] | None]:
        """Take the step; make the rows that came with it, None where the collective carries them.

        `leaving` has the bytes for each rank, `arriving` the number of bytes from each.
        """


class Transport:
    """Issues the collectives of one process group.

    The one seam between packing and the network: tests put a faulty transport
    in place of this one to see that verification finds what it breaks.
    """

    def __init__(self, process_group: dist.ProcessGroup, ledger: Ledger) -> None:
        """Use a process group whose ranks share this ledger."""
        self.process_group = process_group
        self.ledger = ledger
        self.watches_devices = False
        """Whether to wait for accelerators here too, rather than when somebody reads the result."""
        self.calls = 0
        _let_go_at_exit()

    def all_to_all(
        self,
        received: torch.Tensor,
        sent: torch.Tensor,
        output_splits: Sequence[int],
        input_splits: Sequence[int],
        doing: str,
        step: Carrier | None = None,
    ) -> Generator[None, None, None]:
        """Send rows `sent`, split by receiver, and fill `received`, split by sender. Both contiguous.

        First, or at once, all ranks take the step that this belongs to, if any.
        """
        self.calls += 1
        if step is not None:
            row = sent.shape[1] * sent.element_size()
            on_cpu = sent.device.type == "cpu"
            parts = _flat(sent).split_with_sizes([rows * row for rows in input_splits]) if on_cpu else ()
            came = yield from step.take(parts, [rows * row for rows in output_splits], doing)
            if came is not None:
                torch.cat(came, out=_flat(received))
                return
        arriving, leaving = _as_bytes(received), _as_bytes(sent)
        splits = (list(output_splits), list(input_splits))
        collective = partial(dist.all_to_all_single, arriving, leaving, *splits, group=self.process_group)
        yield from self.issue([collective], arriving.device, doing)

    def connect(self, device: torch.device) -> None:
        """Send one byte to every rank."""
        one = torch.ones(dist.get_world_size(self.process_group), dtype=torch.uint8, device=device)
        other = torch.empty_like(one)
        collective = partial(dist.all_to_all_single, other, one, group=self.process_group)
        self.run([collective], device, "connecting")

    def broadcast_each(
        self, slots: Sequence[torch.Tensor], doing: str, step: Carrier | None = None
    ) -> Generator[None, None, None]:
        """Fill slot r on every rank with what rank r has in it; empty slots cost nothing.

        A ragged all-gather: gloo refuses uneven slots, and padding even ones
        measured 2.6 times as long as these broadcasts.
        """
        self.calls += 1
        group = self.process_group
        if step is not None:
            flat = [_flat(slot) for slot in slots] if slots[0].device.type == "cpu" else []
            mine = flat[dist.get_rank(group) :][:1]
            came = yield from step.take(mine * len(flat), [rows.numel() for rows in flat], doing)
            if came is not None:
                for rows, arrived in zip(flat, came, strict=True):
                    rows.copy_(arrived)
                return
        blocks = [_as_bytes(slot) for slot in slots]
        broadcasts = [
            partial(dist.broadcast, block, dist.get_global_rank(group, rank), group=group)
            for rank, block in enumerate(blocks)
            if block.numel()
        ]
        yield from self.issue(broadcasts, blocks[0].device, doing)

    def run(self, collectives: Sequence[partial[dist.Work]], device: torch.device, doing: str) -> None:
        """Run collectives at once; raise PeersFailed on every rank once one cannot finish.

        On an accelerator this orders the stream, as torch does, and returns,
        unless `watches_devices`.
        """
        finish(self.issue(collectives, device, doing))

    def issue(
        self, collectives: Sequence[partial[dist.Work]], device: torch.device, doing: str
    ) -> Generator[None, None, None]:
        """Do what `run` does, and yield between issuing collectives and waiting for them."""
        works = [collective(async_op=True) for collective in collectives]
        try:
            yield
            for work in works:
                self._wait(work, device, doing)
        except (PeersFailed, GeneratorExit):
            _given_up().extend(collectives)
            raise

    def _wait(self, work: dist.Work, device: torch.device, doing: str) -> None:
        if device.type != "cpu" and not self.watches_devices:
            work.wait()
            return
        deadline = time.monotonic() + self.ledger.patience
        while not _finished(work, device, self.ledger, doing):
            self.ledger.check(doing)
            if time.monotonic() > deadline:
                self.ledger.break_off(doing)


@cache
def _given_up() -> list[object]:
    """Return what holds collectives that never ended, with their tensors and their process group.

    A thread of torch has them still. Whoever lets go of the process group waits
    for that thread, for as long as gloo waits for the peer: the garbage collector,
    say, in the midst of training with a new group. Where the thread held the
    tensors last, it would wait for the interpreter's lock, which torch 2.4 has
    meanwhile.
    """
    return []


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
    trouble = _waited(work)
    if trouble is None:
        return True
    # A time limit that ran out leaves the work as it was; any other error completes it. It may
    # also complete between the two: then only a second look tells which it was.
    if not work.is_completed():
        return False
    trouble = _waited(work)
    return trouble is None or ledger.break_off(doing, trouble)


def _waited(work: dist.Work) -> str | None:
    """Wait a moment; return what kept it from ending well. The error itself would hold on to the work."""
    try:
        work.wait(_LOOK)
    except RuntimeError as error:
        return first_line(error)
    return None


def _flat(rows: torch.Tensor) -> torch.Tensor:
    """View rows on a CPU as one line of bytes."""
    return rows.view(-1).view(torch.uint8)


def _as_bytes(rows: torch.Tensor) -> torch.Tensor:
    """View rows as bytes on gloo and NCCL, which then carry every dtype."""
    return rows if rows.device.type == "npu" else rows.view(torch.uint8)
