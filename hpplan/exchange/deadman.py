"""A last resort against calls into torch that neither return nor time out."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hpplan.errors import ExecutionBroken

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAUSE = 0.2


class Deadman:
    """Ends this process when a step takes longer than it may."""

    def __init__(self, rank: int) -> None:
        """Start watching; nothing is limited yet."""
        self._rank = rank
        self._limits: list[tuple[float, str]] = []
        threading.Thread(target=self._watch, name="hpplan-deadman", daemon=True).start()

    @contextmanager
    def limit(self, seconds: float, doing: str) -> Iterator[None]:
        """End the process with status 3 unless the block ends within so many seconds."""
        self._limits.append((time.monotonic() + seconds, doing))
        try:
            yield
        finally:
            self._limits.pop()

    def _watch(self) -> None:
        while True:
            time.sleep(_PAUSE)
            late = [doing for until, doing in list(self._limits) if time.monotonic() > until]
            if late:
                print(f"Error: rank {self._rank} is stuck {late[0]}", file=sys.stderr, flush=True)  # noqa: T201 - the process ends here
                os._exit(ExecutionBroken.exit_status)
