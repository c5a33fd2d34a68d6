"""The collectives: torch's own, waited for with an eye on the ledger."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from hpplan.exchange.faults import first_line, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hpplan.exchange.ledger import Ledger

_GLANCE = 50e-6
"""Seconds between two looks at a device's collective."""

_LETTING_GO = 0.1
"""Seconds for which a thread of torch is waited for that still holds tensors; it takes microseconds."""

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
        arriving, leaving = _as_bytes(received), _as_bytes(sent)
        splits = (list(output_splits), list(input_splits))
        collective = partial(dist.all_to_all_single, arriving, leaving, *splits, group=self.process_group)
        self.run([collective], [arriving, leaving], doing)

    def connect(self, device: torch.device) -> None:
        """Send one byte to every rank."""
        one = torch.ones(dist.get_world_size(self.process_group), dtype=torch.uint8, device=device)
        other = torch.empty_like(one)
        collective = partial(dist.all_to_all_single, other, one, group=self.process_group)
        self.run([collective], [other, one], "connecting")

    def broadcast_each(self, slots: Sequence[torch.Tensor], doing: str) -> None:
        """Fill slot r on every rank with what rank r has in it; empty slots cost nothing.

        A ragged all-gather: gloo refuses uneven slots, and padding even ones
        measured 2.6 times as long as these broadcasts.
        """
        self.calls += 1
        group = self.process_group
        roots = [dist.get_global_rank(group, rank) for rank, slot in enumerate(slots) if slot.numel()]
        lent = [_as_bytes(slot) for slot in slots if slot.numel()]
        broadcasts = [
            partial(dist.broadcast, rows, root, group=group) for rows, root in zip(lent, roots, strict=True)
        ]
        self.run(broadcasts, lent, doing)

    def gather_notes(self, mine: bytes, notes_group: dist.ProcessGroup, doing: str) -> list[bytes]:
        """Return the notes of all ranks, by rank in the group; all have the same size."""
        note = torch.frombuffer(bytearray(mine), dtype=torch.uint8)
        notes = torch.empty(dist.get_world_size(notes_group) * len(mine), dtype=torch.uint8)
        slots = list(torch.split(notes, len(mine)))
        self.run([partial(dist.all_gather, slots, note, group=notes_group)], [*slots, note], doing)
        spoken = bytes(notes.tolist())
        return [spoken[at : at + len(mine)] for at in range(0, len(spoken), len(mine))]

    def run(
        self, collectives: Sequence[Callable[..., dist.Work]], lent: Sequence[torch.Tensor], doing: str
    ) -> None:
        """Run collectives at once; raise PeersFailed on every rank once one cannot finish.

        `lent` are the tensors they were given, made for them alone. On an
        accelerator this orders the stream, as torch does, and returns, unless
        `watches_devices`.
        """
        if not lent:
            return
        device = lent[0].device
        self._wait([collective(async_op=True) for collective in collectives], device, doing)
        if device.type == "cpu":
            _await_return(lent)

    def _wait(self, works: Sequence[dist.Work], device: torch.device, doing: str) -> None:
        for work in works:
            if device.type != "cpu" and not self.watches_devices:
                work.wait()
                continue
            deadline = time.monotonic() + self.ledger.patience
            while not _finished(work, device, self.ledger, doing):
                self.ledger.check(doing)
                if time.monotonic() > deadline:
                    self.ledger.break_off(doing)


def _await_return(lent: Sequence[torch.Tensor]) -> None:
    """Wait until torch's threads have let go of tensors, so that Python is the last to hold them.

    A thread that drops the last reference to a tensor that Python knew waits
    for the interpreter's lock; where the interpreter ends meanwhile, that
    aborts the process ("terminate called without an active exception").
    """
    deadline = time.monotonic() + _LETTING_GO
    while any(_held_by_torch(one) for one in lent) and time.monotonic() < deadline:
        time.sleep(_GLANCE)


def _held_by_torch(tensor: torch.Tensor) -> bool:
    """Whether others than Python refer to a tensor, as `torch.utils.swap_tensors` finds out.

    There is no public name for that. A torch without this one is not waited for.
    """
    count: Callable[[], int] | None = getattr(tensor, "_use_count", None)
    return count is not None and count() > 1


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


def _as_bytes(rows: torch.Tensor) -> torch.Tensor:
    """View rows as bytes on gloo and NCCL, which then carry every dtype."""
    return rows if rows.device.type == "npu" else rows.view(torch.uint8)
