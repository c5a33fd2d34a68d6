"""A last resort: threads that end this process where its main thread cannot."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from hpplan.errors import ExecutionBroken
from hpplan.exchange.ledger import PeersFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.exchange.job import Job
    from hpplan.exchange.ledger import Fault, Ledger

_PAUSE = 0.5
PULSE = "pulse"
"""The note by which the first rank shows that it is there, for ranks that wait long for its verdict."""

_GRACE = 1.0
"""Seconds after a fault in which the main thread should have noticed it, unless torch holds it."""

_LAST_WORDS = 5.0
"""Seconds for the main thread to end the process, once it has the last word."""

_LAST_LOOK = 1.0
"""Seconds that a look at the store may take when nobody needs it any more."""


class Deadman:
    """Watches the main thread from two others.

    One ends the process when a call into torch or the store takes longer than
    it may: neither always honours a timeout. The other looks for faults with
    a ledger of its own, so that a rank that hangs in whatever it does still
    ends when its peers have given it up. The first also ends workers of a
    launcher that is gone.
    On the first rank it also beats the pulse.
    """

    def __init__(self, job: Job, ledger: Ledger, watched: Ledger) -> None:
        """Begin to watch `ledger`; `watched` has the same notes through another connection."""
        self._job = job
        self._ledger = ledger
        self._watched = watched
        self._limits: list[tuple[float, str]] = []
        self._dismissed = threading.Event()
        self._last_word = threading.Lock()
        self._threads = [
            threading.Thread(target=watch, name="hpplan-deadman", daemon=True)
            for watch in (self._watch_limits, self._watch_faults)
        ]
        for thread in self._threads:
            thread.start()

    @contextmanager
    def limit(self, seconds: float, doing: str) -> Iterator[None]:
        """Call the roll and end the process unless the block ends within so many seconds."""
        self._limits.append((time.monotonic() + seconds, doing))
        try:
            yield
        finally:
            self._limits.pop()

    def take_the_last_word(self) -> None:
        """Return to one thread alone: to the one that is to say why the process ends, and to end it."""
        self._last_word.acquire()

    def dismiss(self) -> None:
        """Watch no longer: a thread in the store would abort a process whose interpreter ends."""
        self._dismissed.set()
        for thread in self._threads:
            thread.join(_LAST_LOOK)

    def _watch_limits(self) -> None:
        while not self._dismissed.wait(_PAUSE):
            if self._job.lost_its_launcher:
                self.take_the_last_word()
                end_orphan(self._job)
            now = time.monotonic()
            late = [doing for until, doing in list(self._limits) if now > until]
            asked = self._ledger.asking_since
            rank = self._ledger.rank
            if asked is not None and now > asked + self._ledger.timeout:
                # Nobody can be asked who speaks; two ranks at most do, in case one of them is lost.
                stuck = f"rank {rank} gets no answer from the rendezvous store; whoever holds it hangs"
                self._end(stuck if rank in self._ledger.ranks[:2] else "", ExecutionBroken.exit_status)
            elif late:
                self._end_for(self._called_roll(late[0]))

    def _end_for(self, fault: Fault) -> NoReturn:
        self._end(fault.reason if fault.speaker == self._ledger.rank else "", fault.status)

    def _end(self, message: str, status: int) -> NoReturn:
        """End the process with a message, unless the main thread has the last word after all."""
        _end(message if self._last_word.acquire(timeout=_LAST_WORDS) else "", status)

    def _called_roll(self, doing: str) -> Fault:
        """Find out, in place of the main thread, which ranks are lost."""
        try:
            self._watched.break_off(doing)
        except PeersFailed as failure:
            return failure.fault

    def _watch_faults(self) -> None:
        while not self._dismissed.wait(_PAUSE):
            fault = self._look()
            if fault is not None:
                # A main thread whose steps are quick never asks the store.
                self._ledger.hear(fault)
                time.sleep(_GRACE)
                self._watched.part(_GRACE, waits=self._job.holds_store)
                self._end_for(fault)

    def _look(self) -> Fault | None:
        """Beat the pulse where that is this rank's task; return why execution broke off, if it did."""
        try:
            if self._ledger.rank == self._ledger.ranks[0]:
                self._watched.set(PULSE, str(time.monotonic()))
            return self._watched.fault()
        except PeersFailed as failure:
            # The store is gone. A rank that is about to end needs it no longer.
            return None if self._ledger.breaking else failure.fault


def end_orphan(job: Job) -> NoReturn:
    """End a worker whose launcher was killed, and remove what that would have removed; rank 0 says why."""
    job.remove_meeting_place()
    message = "the launcher is gone; its workers end too" if job.rank == 0 else ""
    _end(message, ExecutionBroken.exit_status)


def _end(message: str, status: int) -> NoReturn:
    if message:
        print(f"Error: {message}", file=sys.stderr, flush=True)  # noqa: T201 - the process ends here
    os._exit(status)
