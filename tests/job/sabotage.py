"""What tests do to ranks of `hpplan exec`, through the seam between packing and the network."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch


def at_collective(rank: int, culprit: int | None, number: int, deed: str, victim: int | None = None) -> None:
    """Have one rank, or each, do something before its all-to-all of this number, counted from 1.

    It sends its signals to the process `victim`, or to itself.
    """
    from hpplan.exchange.transport import Transport

    if culprit not in (None, rank):
        return
    deeds: dict[str, Callable[[], Any]] = {
        "kill": lambda: os.kill(victim or os.getpid(), signal.SIGKILL),
        "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "exit": lambda: os._exit(0),
        "sleep": lambda: time.sleep(600),
        "raise": _raise,
    }
    own = Transport.all_to_all

    def all_to_all(self: Transport, *arguments: Any) -> Any:  # noqa: ANN401 - as the one it stands for
        if self.calls + 1 == number:
            deeds[deed]()
        return own(self, *arguments)

    Transport.all_to_all = all_to_all  # type: ignore[method-assign]


def _raise() -> None:
    raise KeyError("a bug of the test")


def corrupt(rank: int, culprit: int) -> None:
    """Have one rank send its first row wrong, whenever it sends features."""
    from hpplan.exchange.transport import Transport

    if rank != culprit:
        return
    own = Transport.all_to_all

    def all_to_all(self: Transport, received: torch.Tensor, sent: torch.Tensor, *rest: Any) -> Any:  # noqa: ANN401 - as the one it stands for
        if "exchanging features" in rest:
            sent = sent.clone()
            sent[-1, 0] += 1
        return own(self, received, sent, *rest)

    Transport.all_to_all = all_to_all  # type: ignore[assignment, method-assign]


def before_meeting(rank: int, culprit: int, deed: str) -> None:
    """Have one rank do something as soon as it joined the rendezvous."""
    from hpplan.job.session import Session

    if rank == culprit:

        def meet(*_: object) -> None:
            if deed == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(600)

        Session.meet = meet  # type: ignore[method-assign, assignment]


def between_rendezvous(rank: int, first: int, launcher: int, note: Path) -> None:
    """Have the launcher stopped when one rank has come to the rendezvous, and no other has."""
    from hpplan.job.session import Session

    if rank != first:
        own = Session.__init__

        def come(self: Session, *arguments: Any) -> None:  # noqa: ANN401 - as the one it stands for
            while not note.exists():
                time.sleep(0.02)
            return own(self, *arguments)

        Session.__init__ = come  # type: ignore[method-assign, assignment]
    else:
        meets = Session.meet

        def meet(self: Session, *arguments: Any) -> None:  # noqa: ANN401 - as above
            os.kill(launcher, signal.SIGSTOP)
            note.touch()
            meets(self, *arguments)

        Session.meet = meet  # type: ignore[method-assign, assignment]


def other_version(rank: int, culprit: int) -> None:
    """Have one rank run another hpplan."""
    from hpplan.job import session

    if rank == culprit:
        session.__version__ = "0.9.0"
