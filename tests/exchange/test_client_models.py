"""Models of transformers under FSDP2 learn with the exchange what one process learns."""

from __future__ import annotations

import client_runs
import pytest
from ranks import run_ranks


@pytest.mark.parametrize("name", ["qwen2_5_vl", "qwen3_vl"])
@pytest.mark.slow
def test_losses_and_gradients_equal_one_process(name: str) -> None:
    """Someone trains a model with images, videos and text whose encoder learns something else."""
    for found in run_ranks(4, client_runs.differences, name, patience=300):
        for layout, of_losses, of_gradients, compared in found:
            assert of_losses < 1e-12, layout
            assert of_gradients < 1e-12, layout
            assert compared > 100, layout


@pytest.mark.slow
def test_ranks_with_nothing_to_encode_train_with_the_others() -> None:
    """A sharded encoder waits for a rank without images, or takes collectives of the exchange for its own."""
    for found in run_ranks(4, client_runs.idle_steps, "qwen3_vl", patience=300):
        for off, loss in found:
            assert off < 1e-12
            assert loss > 0
