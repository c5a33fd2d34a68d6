"""A few cases of the fault matrix; `python tests/job/fault_matrix.py` runs all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_matrix import Case, cases, problems, run

SHORT = (
    # Whoever holds the store is stopped: a trainer between forward and backward, and torchrun's agent.
    Case("library", "hand", "backward", "stop", 0),
    Case("exec", "torchrun", "connect", "stop the launcher", 0),
    # A worker that the kernel does not run answers nothing at all; the launcher ends it.
    Case("exec", "launch", "backward", "stop", 1),
    # One rank's main thread hangs, and its other threads do not.
    Case("exec", "launch", "finish", "hang", 0),
)


@pytest.mark.slow
def test_all_ranks_end_in_time_with_one_message() -> None:
    """Whatever happens to one rank, nobody must wait for ever, nor search the logs for who it was."""
    assert set(SHORT) <= set(cases())
    with ThreadPoolExecutor() as pool:
        for case, seen in zip(SHORT, pool.map(run, SHORT), strict=True):
            assert problems(case, seen, slack=25) == [], (case, seen)
