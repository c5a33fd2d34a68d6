"""A trainer that goes on after a fault, and one whose peers never come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import recovery_runs
from ranks import run_ranks

if TYPE_CHECKING:
    from pathlib import Path

ALLOCATION = "[enforce fail at alloc_cpu.cpp"


@pytest.mark.slow
def test_new_group_knows_nothing_of_an_earlier_fault(tmp_path: Path) -> None:
    """Otherwise a trainer that catches a fault and starts over hears of it for ever."""
    ran = run_ranks(3, recovery_runs.fail_and_recover, str(tmp_path))
    minority = "PeersFailed: rank 0 brings float32 on cpu, width 4, and rank 1 float32 on cpu, width 3"
    for rank, heard in enumerate(ran):
        first, second, same_group, allocation, later, *started_over, threads, no_threads = heard
        # With three ranks the one that differs is the one, even where it is the first.
        assert [first, second] == [minority] * 2
        assert [same_group, *started_over] == ["nothing"] * 3
        # The rank itself may catch its error and go on; its peers hear of it, and it does in its next call.
        told = f"PeersFailed: rank 2 failed with RuntimeError: {ALLOCATION}"
        assert allocation.startswith(f"RuntimeError: {ALLOCATION}" if rank == 2 else told)
        assert later.startswith(told)
        # A thread that outlives its group would ask a store that is long gone.
        assert (threads, no_threads) == ("hpplan-post", "")


@pytest.mark.slow
def test_new_group_meets_no_collective_of_an_earlier_one() -> None:
    """Where a rank refused to send, its peers' collectives wait in the process group for its next one."""
    refused = "rank 2: the features have 1 rows, and the rank's bucket has 0"
    heard = ["nothing", *[refused] * 2, *["nothing"] * 6]
    assert run_ranks(3, recovery_runs.refuse_and_recover) == [heard] * 3


@pytest.mark.slow
def test_rank_that_never_comes_to_its_group_is_named() -> None:
    """Torch says nothing for twice as long, and then not who is missing; a latecomer hears it too."""
    message = "rank 2 did not make its exchange group within 3 s"
    assert run_ranks(3, recovery_runs.one_never_joins, 3.0) == [message] * 3
