"""What a collective leaves behind."""

from __future__ import annotations

import pytest
import transport_runs
from ranks import run_ranks


@pytest.mark.parametrize("mesh", ["cp=2", "tp=2"])
def test_threads_of_torch_let_go_of_tensors_before_a_collective_is_over(mesh: str) -> None:
    """One that lets go last needs the interpreter, and aborts the process where that ends meanwhile."""
    assert run_ranks(2, transport_runs.still_held, mesh) == [0, 0]
