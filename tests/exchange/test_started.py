"""An exchange that is started now and waited for later, with others in flight."""

from __future__ import annotations

import pytest
import started_runs
from ranks import end_ranks, run_ranks


@pytest.mark.slow
def test_several_in_flight_end_as_one_after_the_other() -> None:
    """Rows or gradients of one call land in another's, as letters and payloads overtake each other."""
    assert run_ranks(2, started_runs.in_flight) == [[True] * 4] * 2


@pytest.mark.slow
def test_the_second_may_be_waited_for_first() -> None:
    """The first one's rows are gone, as the box for letters is used again."""
    assert run_ranks(2, started_runs.waited_backwards) == [[True] * 4] * 2


@pytest.mark.slow
def test_starting_waits_for_nobody() -> None:
    """A rank that is ahead could as well call, and encode nothing meanwhile."""
    assert run_ranks(2, started_runs.returns_at_once)[0] < 0.5


@pytest.mark.slow
def test_the_grad_mode_is_that_of_the_start() -> None:
    """A rank that waits in another mode has no backward, and the others hang in theirs."""
    assert run_ranks(2, started_runs.grad_modes) == [(True, False)] * 2


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("raises", "rank 1: the features have 5 rows, and the rank's bucket has 6"),
        ("skips", "has other routes than rank"),
        ("sleeps", "rank 1 is lost: it did not follow within 3 s while the others were exchanging features"),
    ],
)
@pytest.mark.slow
def test_a_fault_meanwhile_is_told_at_each_wait(deed: str, said: str) -> None:
    """A rank waits for rows that never come, or trains on rows of another call."""
    first, _ = end_ranks(2, started_runs.one_fails, deed, patience=30)
    assert not first.error
    assert first.value
    assert all(said in one for one in first.value)


@pytest.mark.slow
def test_a_plan_made_ahead_equals_one_made_at_once() -> None:
    """The next step's items go where this step's belong, or are cut where they are many."""
    assert run_ranks(2, started_runs.planned_ahead) == [[True] * 12] * 2


@pytest.mark.slow
def test_planning_ahead_waits_for_nobody() -> None:
    """A rank that is ahead waits for the slowest one's batch in each step."""
    assert run_ranks(2, started_runs.ahead_at_once)[0] < 0.5


@pytest.mark.slow
def test_a_rank_that_plans_where_others_exchange_is_named() -> None:
    """Items arrive in the place of features, and nobody knows why the job hangs."""
    said = "rank 1 is gathering their items, and rank 0 is sending features of its call 1"
    for (heard,) in run_ranks(2, started_runs.plans_while_others_exchange):
        assert said in heard
