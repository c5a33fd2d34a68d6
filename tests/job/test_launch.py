"""`--launch`: one status of many, and no worker left behind."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hpplan.job import launch

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
        ([0, None], 3),
    ],
)
def test_statuses_merge_into_the_one_that_says_most(statuses: list[int | None], expected: int) -> None:
    """A worker that a signal ended, or nothing yet, is execution broken off; a bug outweighs everything."""
    assert launch.merged(statuses) == expected


@pytest.mark.slow
def test_workers_that_hang_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ignores its peers' failure, and SIGTERM, must not outlive the command."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); time.sleep(600)"
    started: list[subprocess.Popen[bytes]] = []

    def start(arguments: Sequence[str], rank: int, workers: int, folder: str) -> subprocess.Popen[bytes]:
        del arguments, workers, folder
        program = stubborn if rank == 1 else "raise SystemExit(3)"
        worker = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=subprocess.PIPE)
        started.append(worker)
        assert worker.stdout is not None
        with worker.stdout:
            # A stubborn one says something once it ignores SIGTERM; the other closes its end.
            worker.stdout.readline()
        return worker

    monkeypatch.setattr(launch, "_start", start)
    monkeypatch.setattr(launch, "_MERCY", 0.5)
    assert launch.launch([], 2, 0.5, None) == 3
    assert [worker.wait(60) for worker in started] == [3, -9]
