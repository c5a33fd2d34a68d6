"""Local workers without torchrun: start them, wait, and make one exit status of theirs. No torch."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hpplan.errors import (
    BUG_STATUS,
    INTERRUPTED_STATUS,
    ExecutionBroken,
    HpplanError,
    UnusableRequest,
)
from hpplan.watch.launched import LAUNCHER_VARIABLE, MEETING_PLACE, STORE_VARIABLE, ending_note

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAUSE = 0.05
_MERCY = 3.0
"""Seconds that a worker has to end by itself, after its time is up."""

_FOLLOW = 2.0
"""Seconds after which a worker has followed one that broke off, having told all of them, unless it hangs."""

_LAST_WORDS = 1.0
"""Seconds that a worker has to end after it was asked to."""

_WORST_FIRST = (
    BUG_STATUS,
    INTERRUPTED_STATUS,
    ExecutionBroken.exit_status,
    UnusableRequest.exit_status,
    HpplanError.exit_status,
)
"""Of different statuses, the one that says most."""


def launch(arguments: Sequence[str], workers: int, timeout: float, stdin: bytes | None) -> int:
    """Run `hpplan` with these arguments as ranks 0 to `workers` - 1 on this machine; return the status.

    `stdin`, where there is any, is what each worker reads. Once a worker has
    failed, the others have `timeout` seconds to find out and end.
    """
    with tempfile.TemporaryDirectory(prefix=MEETING_PLACE) as folder:
        if stdin is not None:
            Path(folder, "stdin").write_bytes(stdin)
        started: list[subprocess.Popen[bytes]] = []
        interrupted = False
        try:
            for rank in range(workers):
                started.append(_start(arguments, rank, workers, folder))  # noqa: PERF401 - those started are ended if one fails
            _wait(started, timeout)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Workers that are stopped from here on need not say so.
            Path(ending_note(str(Path(folder, "store")))).touch()
            _end(started)
    if interrupted:
        # Not before the first worker has taken its progress bar away.
        with contextlib.suppress(OSError):
            os.write(2, b"Error: interrupted\n")
        return INTERRUPTED_STATUS
    return merged([worker.returncode for worker in started])


def merged(statuses: Sequence[int | None]) -> int:
    """Return one exit status for all workers.

    One that a signal ended, or that is killed and not gone yet, counts as execution broken off.
    """
    found = {ExecutionBroken.exit_status if status is None or status < 0 else status for status in statuses}
    return next((status for status in _WORST_FIRST if status in found), max(found))


def _start(arguments: Sequence[str], rank: int, workers: int, folder: str) -> subprocess.Popen[bytes]:
    environment = {
        # torchrun does the same: as many ranks as cores, each with as many threads, would crawl.
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "LOCAL_WORLD_SIZE": str(workers),
        LAUNCHER_VARIABLE: str(os.getpid()),
        STORE_VARIABLE: str(Path(folder, "store")),
    }
    with contextlib.ExitStack() as stack:
        spooled = Path(folder, "stdin")
        stdin = stack.enter_context(spooled.open("rb")) if spooled.exists() else subprocess.DEVNULL
        # In a session of their own, Ctrl-C reaches this process alone, which speaks for all.
        return subprocess.Popen(
            [sys.executable, "-m", "hpplan", *arguments],
            env=environment,
            stdin=stdin,
            start_new_session=True,
        )


def _wait(workers: Sequence[subprocess.Popen[bytes]], timeout: float) -> None:
    """Wait until all workers have ended, or one failed and the others had their time."""
    deadline = math.inf
    # All of them are asked, not only up to the first that still runs.
    while None in (statuses := {worker.poll() for worker in workers}):
        now = time.monotonic()
        if statuses & {ExecutionBroken.exit_status, INTERRUPTED_STATUS}:
            deadline = min(deadline, now + _FOLLOW)
        elif statuses - {None, 0}:
            deadline = min(deadline, now + timeout + _MERCY)
        if now > deadline:
            return
        time.sleep(_PAUSE)


def _end(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the workers that are still there: politely, then not."""
    for stop in (signal.SIGTERM, signal.SIGKILL):
        for worker in workers:
            if worker.poll() is None:
                worker.send_signal(stop)
        deadline = time.monotonic() + _LAST_WORDS
        while None in [worker.poll() for worker in workers] and time.monotonic() < deadline:
            time.sleep(_PAUSE)
