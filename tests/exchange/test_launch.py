"""`--launch`: one status of many, and no worker left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hpplan.exchange import launch

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([0, 0], 0),
        ([1, 1], 1),
        ([0, 2], 2),
        ([3, -9, 3], 3),
        ([3, 70, 3], 70),
        ([-15, 130], 130),
        ([0, -11], 3),
        ([1, 3], 3),
    ],
)
def test_statuses_merge_into_the_one_that_says_most(statuses: list[int], expected: int) -> None:
    """A worker ended by a signal counts as execution broken off; a bug outweighs everything."""
    assert launch.merged(statuses) == expected


def test_workers_that_hang_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ignores its peers' failure, and SIGTERM, must not outlive the command."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    started: list[subprocess.Popen[bytes]] = []

    def start(arguments: Sequence[str], rank: int, workers: int, folder: str) -> subprocess.Popen[bytes]:
        del arguments, workers, folder
        program = stubborn if rank == 1 else "raise SystemExit(3)"
        started.append(subprocess.Popen([sys.executable, "-c", program]))
        return started[-1]

    monkeypatch.setattr(launch, "_start", start)
    monkeypatch.setattr(launch, "_MERCY", 0.5)
    begin = time.monotonic()
    assert launch.launch([], 2, 0.5, None) == 3
    assert time.monotonic() - begin < 30
    assert [worker.returncode for worker in started] == [3, -9]
