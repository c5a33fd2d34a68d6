"""Makes one rank of a job fail, whoever started it: Python imports this first, by its name.

The environment says which rank (FAULT_RANK), where (FAULT_PHASE), how
(FAULT_DEED), and in which folder ranks leave their process id, when the fault
happened, and with which status they ended (FAULT_NOTES).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

DOING = 5
"""Which argument of a collective says what it is for."""

THIRD = 3
"""Which collective of a kind fails: not the first, when nothing has run yet."""


def _fail() -> None:
    deed = os.environ["FAULT_DEED"]
    note("fault", str(time.time()))
    if deed == "exit":
        os._exit(0)
    elif deed == "raise":
        raise KeyError("a bug of the test")
    elif deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif deed == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif deed == "hang":
        time.sleep(3600)
    elif deed == "allocation":
        import torch

        torch.empty(1 << 60)
    elif deed == "stop the launcher":
        os.kill(os.getppid(), signal.SIGSTOP)
    else:
        raise AssertionError(deed)


def note(name: str, text: str) -> None:
    """Leave a note for the matrix."""
    Path(os.environ["FAULT_NOTES"], f"{name}-{os.environ['RANK']}").write_text(text, encoding="utf-8")


def _before(home: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:  # noqa: ANN401 - a class or module
    own = getattr(home, name)

    def replacement(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as the one it stands for
        if when(*arguments):
            _fail()
        return own(*arguments, **more)

    setattr(home, name, replacement)


def _after(home: Any, name: str) -> None:  # noqa: ANN401 - as above
    own = getattr(home, name)

    def replacement(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as above
        result = own(*arguments, **more)
        _fail()
        return result

    setattr(home, name, replacement)


def _collective(doing: str) -> Callable[..., bool]:
    seen = []

    def when(*arguments: Any) -> bool:  # noqa: ANN401 - as above
        if doing not in arguments[DOING : DOING + 1]:
            return False
        seen.append(doing)
        return len(seen) == THIRD

    return when


def _install(phase: str) -> None:
    from hpplan.exchange import group
    from hpplan.exchange.transport import Transport
    from hpplan.job import execution, session

    if phase == "rendezvous":
        _before(session.Session, "__init__")
    elif phase == "start":
        _before(session.Session, "meet")
    elif phase == "connect":
        _before(session.Session, "start")
    elif phase == "join":
        _before(group.ExchangeGroup, "from_mesh")
    elif phase == "group":
        _before(group, "new_group")
    elif phase == "forward":
        _before(Transport, "all_to_all", _collective("exchanging features"))
    elif phase == "backward":
        _before(Transport, "all_to_all", _collective("exchanging gradients"))
    elif phase == "finish":
        _after(execution, "execute")


def _load() -> None:
    """Load what takes long, so that no rank gives up another that is slow to start."""
    import hpplan.job.execution
    import hpplan.job.session  # noqa: F401


def wait_for_all(what: str) -> None:
    """Return once all ranks have come as far as this."""
    note(what, "")
    until = time.monotonic() + 60
    notes, ranks = Path(os.environ["FAULT_NOTES"]), int(os.environ["WORLD_SIZE"])
    while len(list(notes.glob(f"{what}-*"))) < ranks and time.monotonic() < until:
        time.sleep(0.05)


def _keep_status() -> None:
    own = os._exit

    def end(status: int) -> NoReturn:
        note("status", str(status))
        own(status)

    os._exit = end


if "FAULT_NOTES" in os.environ and "RANK" in os.environ:
    note("pid", str(os.getpid()))
    _keep_status()
    if os.environ["FAULT_RANK"] == os.environ["RANK"]:
        _install(os.environ["FAULT_PHASE"])
    _load()
    wait_for_all("ready")
