"""A rank goes wrong in the midst of training: all end, with one message, and leave nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

RANKS, CULPRIT, TIMEOUT = 4, 2, 8
PROGRAM = Path(__file__).with_name("loop_training.py")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            "raises",
            "PeersFailed: rank 2 is lost: it exited or died while the others were exchanging features",
        ),
        ("skips a backward", "PeersFailed: rank 2 is sending features of its call "),
        ("other batch", "UnusableRequest: ranks 2 and 3 of the pool have other items"),
    ],
)
@pytest.mark.slow
def test_all_ranks_end_with_one_message(tmp_path: Path, fault: str, said: str) -> None:
    """A job hangs until somebody looks, ends with as many stories as ranks, or leaves ranks behind."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    started = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), fault, str(CULPRIT), str(TIMEOUT)],
            env={**os.environ, **where, "RANK": str(rank), "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        ended = [one.communicate(timeout=90) for one in started]
    finally:
        for one in started:
            one.kill()
    told = set()
    for rank, (process, (output, errors)) in enumerate(zip(started, ended, strict=True)):
        own = rank == CULPRIT and fault == "raises"
        assert process.returncode == (1 if own else 3), (rank, errors)
        assert output == "0\n", (rank, "threads are left")
        if own:
            assert "KeyError: 'a bug of the encoder'" in errors
        else:
            told |= {line for line in errors.splitlines() if line.startswith(("PeersFailed", "Unusable"))}
    (message,) = told
    assert message.startswith(said)
    assert list(tmp_path.iterdir()) == []
