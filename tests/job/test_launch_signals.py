"""`--launch` and its workers when one of them is killed, stopped or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKLOAD = {
    "feature_width": 16,
    "sequence": {"length": 32},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 20}],
}


class Launched(NamedTuple):
    """A run of two workers that have met, and the file in which they did."""

    launcher: subprocess.Popen[str]
    workers: list[int]
    store: Path


@contextmanager
def _launched(folder: Path) -> Iterator[Launched]:
    """Start a long run on two workers; end it where the test does not."""
    path = folder / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    command = ["exec", str(path), "--mesh", "cp=2", "--iters", "1000000", "--timeout", "60"]
    launcher = subprocess.Popen(
        [sys.executable, "-m", "hpplan", *command, "--launch", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with launcher:
        try:
            yield _met(launcher)
        finally:
            launcher.kill()


def _met(launcher: subprocess.Popen[str]) -> Launched:
    """Wait until both workers have met."""
    workers: dict[int, int] = {}
    store = Path()
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    _wait_until(lambda: len(children.read_text(encoding="utf-8").split()) == 2)
    for child in map(int, children.read_text(encoding="utf-8").split()):
        _wait_until(lambda child=child: b"HPPLAN_STORE=" in _environment(child))  # type: ignore[misc]
        given = dict(one.split("=", 1) for one in _environment(child).decode().split("\0") if "=" in one)
        workers[int(given["RANK"])] = child
        store = Path(given["HPPLAN_STORE"])
    # What rank 0 writes once it has seen everyone.
    _wait_until(lambda: store.exists() and b"/go" in store.read_bytes())
    return Launched(launcher, [workers[0], workers[1]], store)


def _environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "number", "status", "message"),
    [
        (None, signal.SIGINT, 130, "Error: interrupted\n"),
        (1, signal.SIGTERM, 3, "Error: rank 1 was stopped (SIGTERM)\n"),
    ],
)
def test_one_line_and_one_status_in_time(
    tmp_path: Path, victim: int | None, number: int, status: int, message: str
) -> None:
    """Whatever ends a run, people need one line that says what, and no worker left behind."""
    with _launched(tmp_path) as (launcher, workers, _):
        os.kill(launcher.pid if victim is None else workers[victim], number)
        stdout, stderr = launcher.communicate(timeout=60)
    assert (launcher.returncode, stdout) == (status, "")
    assert stderr.startswith(message)
    assert stderr.count("\n") == 1, stderr
    assert not any(_runs(pid) for pid in workers)


@pytest.mark.slow
@pytest.mark.parametrize("read", [True, False])
def test_workers_do_not_outlive_a_killed_launcher(tmp_path: Path, *, read: bool) -> None:
    """Orphans would keep cores and memory busy, and their folder would stay behind for good.

    Where nobody reads what they say any more, saying it must not keep them.
    """
    with _launched(tmp_path) as (launcher, workers, store):
        assert launcher.stderr is not None
        if not read:
            launcher.stderr.close()
            os.kill(workers[1], signal.SIGKILL)
        launcher.kill()
        if read:
            assert launcher.stderr.read() == "Error: the launcher is gone; its workers end too\n"
        _wait_until(lambda: not any(_runs(pid) for pid in workers))
    assert not list(store.parents[1].glob(f"{store.parent.name}*"))
