"""A last resort: a thread that ends this process where its main thread cannot."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from hpplan.errors import ExecutionBroken
from hpplan.exchange.ledger import PeersFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.exchange.job import Job
    from hpplan.exchange.ledger import Fault, Ledger
    from hpplan.exchange.post import Post

_PAUSE = 0.5
_GRACE = 1.0
"""Seconds for the main thread to notice by itself what this one has noticed."""

_LAST_WORDS = 5.0
"""Seconds for the main thread to end the process, once it has the last word."""

_TELLING = 1.0
"""Seconds for a message to be written; nobody may read what this process says."""


class Deadman:
    """Watches the main thread from another, which never asks the store unless it is to end the process.

    It ends the process when a call into torch takes longer than it may, or the
    store holds up this rank's post: neither always honours a timeout. It also
    ends workers of a launcher that is gone, and a main thread that torch keeps
    from hearing that it is to end.
    """

    def __init__(self, job: Job, post: Post) -> None:
        """Begin to watch the launcher."""
        self._job = job
        self._post = post
        self._ledger: Ledger | None = None
        self._limits: list[tuple[float, str]] = []
        self._last_word = threading.Lock()
        self._leaving: float | None = None
        # Python's own handler runs in the main thread, which torch may hold.
        self._signals, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="hpplan-deadman", daemon=True)
        self._thread.start()

    def guard(self, ledger: Ledger) -> None:
        """Watch what this ledger's rank does, too."""
        self._ledger = ledger

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
        self._leaving = time.monotonic()

    def dismiss(self) -> None:
        """Watch no longer."""
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        self._thread.join()

    def end_for(self, fault: Fault) -> NoReturn:
        """End the process, unless the main thread has the last word after all."""
        assert self._ledger is not None
        self._ledger.part(_GRACE)
        self._end(fault.reason if fault.speaker == self._ledger.rank else "", fault.status)

    def _end(self, message: str, status: int) -> NoReturn:
        end(message if self._last_word.acquire(timeout=_LAST_WORDS) else "", status)

    def _watch(self) -> None:
        stopped: float | None = None
        while True:
            heard = self._heard()
            if heard is None:
                return
            now = time.monotonic()
            if signal.SIGTERM in heard and stopped is None:
                stopped = now
            if self._job.lost_its_launcher:
                self._last_word.acquire(timeout=_LAST_WORDS)
                end_orphan(self._job)
            if self._leaving is not None and now > self._leaving + 2 * _LAST_WORDS:
                # Whatever it says, nobody reads it.
                end("", ExecutionBroken.exit_status)
            if self._ledger is not None:
                self._judge(self._ledger, now, stopped)

    def _heard(self) -> bytes | None:
        """Wait a moment; return the numbers of the signals that came, None when dismissed."""
        ready, _, _ = select.select([self._signals], [], [], _PAUSE)
        return (os.read(self._signals, 64) or None) if ready else b""

    def _judge(self, ledger: Ledger, now: float, stopped: float | None) -> None:
        late = [doing for until, doing in list(self._limits) if now > until]
        asked = self._post.asking_since
        if asked is not None and now > asked + ledger.timeout + _GRACE:
            fault = ledger.unanswered()
            self._end(fault.reason if fault.speaker == ledger.rank else "", fault.status)
        elif late or (self._limits and stopped is not None and now > stopped + _GRACE):
            if self._job.stopped_by_launcher:
                self._end("", ExecutionBroken.exit_status)
            ledger.stopped = stopped is not None
            self.end_for(_called_roll(ledger, (late or [self._limits[-1][1]])[0]))


def _called_roll(ledger: Ledger, doing: str) -> Fault:
    """Find out, in place of the main thread, which ranks are lost."""
    try:
        ledger.break_off(doing, working=ledger.stopped)
    except PeersFailed as failure:
        return failure.fault


def end_orphan(job: Job) -> NoReturn:
    """End a worker whose launcher was killed, and remove what that would have removed; rank 0 says why."""
    job.remove_meeting_place()
    message = "the launcher is gone; its workers end too" if job.rank == 0 else ""
    end(message, ExecutionBroken.exit_status)


def end(message: str, status: int) -> NoReturn:
    """End this process at once, with a last line to standard error where somebody takes it."""
    if message:
        telling = threading.Thread(target=_tell, args=(message,), daemon=True)
        telling.start()
        telling.join(_TELLING)
    os._exit(status)


def _tell(message: str) -> None:
    with suppress(OSError):
        os.write(2, f"Error: {message}\n".encode(errors="backslashreplace"))
