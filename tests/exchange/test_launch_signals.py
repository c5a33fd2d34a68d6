"""`--launch` and its workers when one of them is killed, stopped or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

TIMEOUT = 4
WORKLOAD = {
    "feature_width": 16,
    "sequence": {"length": 32},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 20}],
}


def _launched(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a long run on two workers; return the launcher and the workers, once these exchange rows."""
    path = folder / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    command = ["exec", str(path), "--mesh", "cp=2", "--iters", "1000000", "--timeout", str(TIMEOUT)]
    launcher = subprocess.Popen(
        [sys.executable, "-m", "hpplan", *command, "--launch", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    workers: dict[int, int] = {}
    until = time.monotonic() + 30
    while len(workers) < 2 and time.monotonic() < until:
        time.sleep(0.1)
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text(encoding="utf-8")
        for child in map(int, children.split()):
            environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            workers.update({rank: child for rank in (0, 1) if f"RANK={rank}".encode() in environment})
    while not all(_has_torch(pid) for pid in workers.values()) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(4)
    return launcher, [workers[0], workers[1]]


def _has_torch(pid: int) -> bool:
    return "libtorch" in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


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
        (0, signal.SIGSTOP, 3, f"Error: rank 0 is lost: it did not follow within {TIMEOUT} s while the"),
    ],
)
def test_one_line_and_one_status_in_time(
    tmp_path: Path, victim: int | None, number: int, status: int, message: str
) -> None:
    """Whatever ends a run, people need one line that says what, and no worker left behind."""
    launcher, workers = _launched(tmp_path)
    begin = time.monotonic()
    os.kill(launcher.pid if victim is None else workers[victim], number)
    stdout, stderr = launcher.communicate(timeout=60)
    assert (launcher.returncode, stdout) == (status, "")
    assert stderr.startswith(message)
    assert stderr.count("\n") == 1, stderr
    # Beyond the timeout: a short mercy for a worker that hangs, and a busy machine.
    assert time.monotonic() - begin < TIMEOUT + 6
    assert not any(_runs(pid) for pid in workers)


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_launcher(tmp_path: Path) -> None:
    """Orphans would keep cores and memory busy for as long as the run was meant to take."""
    launcher, workers = _launched(tmp_path)
    launcher.kill()
    _, stderr = launcher.communicate(timeout=30)
    assert stderr == "Error: the launcher is gone; its workers end too\n"
    deadline = time.monotonic() + TIMEOUT
    while any(_runs(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_runs(pid) for pid in workers)
