"""The one thread that talks to the store, so that a store without an answer holds up nobody else."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.distributed import Store

__all__ = ["NoAnswer", "Post", "in_thread"]

_LAST_LOOK = 1.0
"""Seconds that a look at the store may take when nobody needs it any more."""

T = TypeVar("T")


class Post:
    """Asks the store what others want to know, and looks at it between times.

    A call into the store takes as long as whoever holds the store likes; no
    time limit of torch's holds for all of them.
    """

    def __init__(self, connect: Callable[[], Store]) -> None:
        """Connect to the store; the first question waits for that."""
        self.asking_since: float | None = None
        """When the store was asked what it has not answered yet, on the monotonic clock."""
        self._look: Callable[[], float] | None = None
        self._errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, args=(connect,), name="hpplan-post", daemon=True)
        self._thread.start()

    def watch(self, look: Callable[[], float]) -> None:
        """Call `look` now, and again after as many seconds as it returns."""
        self._look = look
        self._errands.put(lambda: None)

    def ask(self, question: Callable[[Store], T], patience: float) -> T:
        """Return what the store answers; raise NoAnswer where it does not in so many seconds."""
        if self.is_current():
            return question(self._store)
        answer: Future[T] = Future()

        self._errands.put(lambda: _fulfil(answer, lambda: question(self._store)))
        return answer.result(patience)

    def is_current(self) -> bool:
        """Whether it is this very thread that asks."""
        return current_thread() is self._thread

    def close(self) -> None:
        """Ask nothing more: a thread in the store would abort a process whose interpreter ends."""
        self._errands.put(None)
        if not self.is_current():
            self._thread.join(_LAST_LOOK)

    def _run(self, connect: Callable[[], Store]) -> None:
        self._store: Any = None
        with self._busy():
            try:
                self._store = connect()
            except Exception as error:  # noqa: BLE001 - whoever asks first gets it
                self._store = _NoStore(error)
        due = 0.0
        while True:
            with contextlib.suppress(Empty):
                pause = None if self._look is None else max(0.0, min(due - time.monotonic(), 3600.0))
                errand = self._errands.get(timeout=pause)
                if errand is None:
                    return
                with self._busy():
                    errand()
            if self._look is not None and time.monotonic() >= due:
                with self._busy():
                    pause = self._look()
                due = time.monotonic() + pause

    @contextlib.contextmanager
    def _busy(self) -> Any:  # noqa: ANN401 - a generator
        self.asking_since = time.monotonic()
        try:
            yield
        finally:
            self.asking_since = None


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Make a call in a thread of its own, which the process does not wait for."""
    outcome: Future[T] = Future()
    Thread(target=_fulfil, args=(outcome, call), name="hpplan-call", daemon=True).start()
    return outcome


def _fulfil(outcome: Future[T], call: Callable[[], T]) -> None:
    try:
        outcome.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
        outcome.set_exception(error)


class _NoStore:
    """Stands for a store that could not be reached: every question raises why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        raise self._error
