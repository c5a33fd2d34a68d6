"""Signals that end a process: at once and without a traceback, or once what was begun is put right."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # typing takes longer to import than all else here, before Ctrl-C is heard
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType
    from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def leave_on_interrupt() -> None:
    """Have Ctrl-C end the process wherever it strikes; few imports take a KeyboardInterrupt well."""
    # Whoever started this process may have it ignore Ctrl-C, as a shell does in the background.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    with suppress(OSError):
        if os.isatty(2):
            # The terminal shows ^C in it.
            os.write(2, b"\n")
    os._exit(128 + number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt in this block, which has something to put right."""
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        # Unless the block has left it in another way.
        leave_on_interrupt()


class _Stopped(BaseException):
    """Unwinds a block that was told to end."""


class Postponed:
    """Holds back the signals that end a process while its block runs; they act at `check` and behind it.

    What was set up for a signal before is what acts, once the block has put
    right what it had begun. A signal that is ignored stays so.
    """

    def __init__(self) -> None:
        """Hold nothing back yet."""
        self._before: dict[int, Any] = {}
        self._heard: list[int] = []
        self._waits = False

    def __enter__(self) -> Postponed:  # noqa: PYI034 - typing.Self is newer than Python 3.10
        """Take over the signals; only the main thread can."""
        with suppress(ValueError):
            for number in _ENDING:
                before = signal.getsignal(number)
                if before not in {signal.SIG_IGN, None}:
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let those act that had to wait."""
        with suppress(ValueError):
            # Ctrl-C last: it may raise at once.
            for number in reversed(self._before):
                signal.signal(number, self._before[number])
        while self._heard:
            self._act(self._heard.pop(0))

    def check(self) -> None:
        """Begin to end where a signal says so."""
        while self._heard:
            # What others set up raises here, or goes on; what ends the process has to wait still longer.
            if self._before[self._heard[0]] in {signal.SIG_DFL, _leave}:
                raise _Stopped
            self._act(self._heard.pop(0))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let signals act at once in this block, which waits for others."""
        self._waits = True
        try:
            self.check()
            yield
        finally:
            self._waits = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._heard.append(number)
        if self._waits:
            self.check()

    def _act(self, number: int) -> None:
        before = self._before[number]
        if callable(before):
            before(number, None)
        else:
            os.kill(os.getpid(), number)
            # The first process of a container outlives that.
            os._exit(128 + number)
