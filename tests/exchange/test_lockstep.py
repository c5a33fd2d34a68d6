"""Steps that do not belong together: without a word, rows of one call would land in another's buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lockstep_runs
import pytest
from naive_model import feature
from ranks import end_ranks, run_ranks

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lockstep_runs.one_ignores,
            "rank 1 is sending features of its call 2, and rank 0 is sending gradients of its call 1; ",
        ),
        (
            lockstep_runs.backwards_in_other_order,
            "rank 1 is sending gradients of its call 2, and rank 0 is sending gradients of its call 1; ",
        ),
        (
            lockstep_runs.calls_in_other_order,
            "rank 1 is sending features of its call 5 by other routes than rank 0: digests sha256:",
        ),
        (
            lockstep_runs.one_skips,
            "rank 1 is sending features of its call 3 by other routes than rank 0: digests sha256:",
        ),
        (
            lockstep_runs.one_without_grad_mode,
            "rank 1 is sending features of its call 3 and brings float32 on cpu, width 3 without grad mode",
        ),
        (lockstep_runs.many_beside_few, "rank 1 has other routes than rank 0: digests sha256:"),
        (
            lockstep_runs.few_beside_many_gradients,
            "rank 1 is sending gradients of its call 1, and rank 0 is sending features of its call 2; ",
        ),
        (lockstep_runs.one_brings_another_ninth, "rank 1 brings float32 on cpu, 9 payloads of width 1, 1, "),
    ],
)
def test_ranks_that_take_different_steps_fail_together(run: Callable[[int], Any], message: str) -> None:
    """Sizes that agree would give wrong numbers on every rank, and others abort the process."""
    for one in end_ranks(2, run):
        assert one.error.startswith(f"PeersFailed: {message}"), one


def test_rows_that_fit_into_no_letter_arrive() -> None:
    """Where some rank has many rows, all must send theirs apart from their notes, also those with few."""
    first, second = run_ranks(2, lockstep_runs.many_rows)
    many, few = [feature(0, row) for row in range(100)], [feature(1, row) for row in range(2)]
    back = [[[factor * (row + 1.0) for row in range(rows)] for factor in (1, 2)] for rows in (100, 2)]
    assert first == (0, [(True, few, back[0][0]), (True, few, back[0][1])])
    assert second == (1, [(True, many, back[1][0]), (True, many, back[1][1])])


def test_same_steps_in_any_order_are_taken() -> None:
    """Activation checkpointing and gradient accumulation run backwards late, or again."""
    assert run_ranks(2, lockstep_runs.backward_twice) == [(0, [12.0]), (1, [12.0])]
