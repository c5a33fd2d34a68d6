"""Steps leave nothing behind that would fill a machine in a week of training."""

from __future__ import annotations

import pytest
from ranks import run_ranks
from steps_rank import Held, Trainer

STEPS = 300


def _held(rank: int) -> list[Held]:
    trainer = Trainer(rank, 2)
    held = []
    for _ in range(3):
        for _ in range(STEPS):
            trainer.step()
        held.append(trainer.held())
    return held


@pytest.mark.slow
def test_a_step_leaves_nothing_behind() -> None:
    """Plans, buffers, threads or files of each batch add up, though each of them is small."""
    for _, before, after in run_ranks(2, _held, patience=120):
        assert after.objects - before.objects < STEPS
        assert after.memory - before.memory < STEPS * 10_000
        assert (after.threads, after.files) == (before.threads, before.files)
