"""SIGTERM and SIGINT as exceptions, so that a rank that is stopped still ends with its status. No torch."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from hpplan.watch.ledger import Ledger


class Terminated(BaseException):
    """The launcher asks this process to end."""


class Termination:
    """Raises Terminated in its block on SIGTERM, KeyboardInterrupt on SIGINT; behind it, both are ignored.

    torchrun sends SIGTERM to all workers of a node as soon as one has failed,
    whether the others have found out and said why, or not. A rank that is
    already breaking off, or saying its last words, must not be disturbed, by
    a second signal neither.
    """

    def __init__(self) -> None:
        """Know no ledger yet."""
        self.ledger: Ledger | None = None
        self._heard = False

    def __enter__(self) -> Termination:  # noqa: PYI034 - typing.Self is newer than Python 3.10
        """Begin to listen."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Turn deaf: the process ends now anyway."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._heard or (self.ledger is not None and self.ledger.breaking):
            return
        self._heard = True
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated
