"""A trainer that evaluates, freezes, checkpoints or compiles learns what one process learns."""

from __future__ import annotations

import habit_runs
import pytest
from ranks import run_ranks


@pytest.mark.slow
def test_steps_that_are_checkpointed_or_compiled_equal_one_process() -> None:
    """A backward that exchanges again takes another step than its peers, or skips one."""
    for found in run_ranks(2, habit_runs.learned, list(habit_runs.HABITS), patience=120):
        assert [name for name, off in found if off > 1e-12] == []


@pytest.mark.slow
def test_a_frozen_part_learns_nothing_and_hangs_nobody() -> None:
    """Gradients travel for a frozen encoder, or do not where the decoder alone is frozen."""
    for found in run_ranks(2, habit_runs.frozen):
        assert max(found) < 1e-12


@pytest.mark.slow
def test_evaluation_amid_training() -> None:
    """What was agreed without gradients holds for training, or rows of inference reach autograd."""
    for found in run_ranks(2, habit_runs.evaluated):
        for off, has_edge, of_training in found:
            assert off < 1e-12
            assert not has_edge
            assert of_training < 1e-12


@pytest.mark.slow
def test_a_step_is_compiled_once_for_all_batches() -> None:
    """A compiler that looks into the exchange fails on its buffers, or compiles each batch anew."""
    for off, graphs in run_ranks(2, habit_runs.compiled_once, patience=120):
        assert off < 1e-12
        # Encoder and decoder, for the first batch and for those of any size, with and without images.
        assert graphs <= 8
