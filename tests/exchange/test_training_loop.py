"""The README's training loop trains as one process does that puts all features in place itself."""

from __future__ import annotations

import pytest
import training_runs
from ranks import run_ranks


@pytest.mark.slow
def test_readme_loop_equals_one_process() -> None:
    """Losses or encoder weights that differ would mean that the loop people copy trains something else."""
    (losses, weights), (other_losses, other_weights) = run_ranks(2, training_runs.with_exchange)
    ((expected, expected_weights),) = run_ranks(1, training_runs.one_process)
    # Each rank has half the tokens, so the loss of the whole is the mean of the two.
    means = [(one + other) / 2 for one, other in zip(losses, other_losses, strict=True)]
    assert means == pytest.approx(expected, rel=1e-5)
    assert weights == other_weights
    for one, other in zip(weights, expected_weights, strict=True):
        assert one == pytest.approx(other, rel=1e-5)
