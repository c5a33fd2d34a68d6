"""A last resort: what ends this process where its main thread cannot."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from hpplan.errors import ExecutionBroken

if TYPE_CHECKING:
    from hpplan.watch.faults import Fault
    from hpplan.watch.launched import Job
    from hpplan.watch.ledger import Ledger
    from hpplan.watch.post import Post

_PAUSE = 0.5
_LAST_WORDS = 5.0
"""Seconds for the main thread to end the process, once it has the last word."""

_TELLING = 1.0
"""Seconds for a message to be written; nobody may read what this process says."""


class Deadman:
    """Watches from a thread that asks nobody anything, so that nothing can hold it up.

    It ends workers whose launcher is gone, a rank whose store does not answer
    while its main thread hangs, and one that cannot say its last words.
    """

    def __init__(self, job: Job, post: Post) -> None:
        """Begin to watch the launcher."""
        self._job = job
        self._post = post
        self._ledger: Ledger | None = None
        self._dismissed = threading.Event()
        self._last_word = threading.Lock()
        self._leaving: float | None = None
        self._thread = threading.Thread(target=self._watch, name="hpplan-deadman", daemon=True)
        self._thread.start()

    def guard(self, ledger: Ledger) -> None:
        """Watch this ledger's rank, too."""
        self._ledger = ledger

    def take_the_last_word(self) -> None:
        """Return to one thread alone: to the one that is to say why the process ends, and to end it."""
        self._last_word.acquire()
        self._leaving = time.monotonic()

    def dismiss(self) -> None:
        """Watch no longer."""
        self._dismissed.set()
        self._thread.join()

    def end_for(self, fault: Fault) -> None:
        """End the process, unless the main thread has the last word after all."""
        assert self._ledger is not None
        self._ledger.part()
        message = fault.reason if fault.speaker == self._ledger.rank else ""
        end(message if self._last_word.acquire(timeout=_LAST_WORDS) else "", fault.status)

    def _watch(self) -> None:
        while not self._dismissed.wait(_PAUSE):
            now = time.monotonic()
            if self._job.lost_its_launcher:
                self._last_word.acquire(timeout=_LAST_WORDS)
                end_orphan(self._job)
            if self._leaving is not None and now > self._leaving + 2 * _LAST_WORDS:
                # Whatever it says, nobody reads it.
                end("", ExecutionBroken.exit_status)
            ledger, asked = self._ledger, self._post.asking_since
            if ledger is not None and asked is not None and now > asked + ledger.timeout + _LAST_WORDS:
                self.end_for(ledger.unanswered())


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
