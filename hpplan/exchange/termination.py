"""SIGTERM as an exception, so that a rank that its launcher stops still ends with its status. No torch."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from hpplan.exchange.ledger import Ledger


class Terminated(BaseException):
    """The launcher asks this process to end."""


class Termination:
    """Raises Terminated in its block on SIGTERM; behind the block SIGTERM is ignored.

    torchrun sends SIGTERM to all workers of a node as soon as one has failed,
    whether the others have found out and said why, or not. A rank that is
    already breaking off, or saying its last words, must not be disturbed.
    """

    def __init__(self) -> None:
        """Know no ledger yet."""
        self.ledger: Ledger | None = None

    def __enter__(self) -> Termination:  # noqa: PYI034 - typing.Self is newer than Python 3.10
        """Begin to listen."""
        signal.signal(signal.SIGTERM, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Turn deaf: the process ends now anyway."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.ledger is None or not self.ledger.breaking:
            raise Terminated
