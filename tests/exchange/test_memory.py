"""Row memory is used again, and never while somebody can still see what is in it."""

from __future__ import annotations

import memory_runs
from ranks import run_ranks


def test_memory_is_used_again_when_the_last_view_is_gone() -> None:
    """Handed out too early, rows would change under their owner; never, each call touches fresh pages."""
    assert run_ranks(1, memory_runs.reused) == [[False, True, True, True]]


def test_what_autograd_saved_is_left_alone() -> None:
    """A trainer drops its own reference to the rows long before backward needs them."""
    assert run_ranks(1, memory_runs.saved_by_autograd) == [True]


def test_unused_memory_is_given_back() -> None:
    """Batches of ever new sizes must not pile up mappings: four unused ones are kept, with the new one."""
    assert run_ranks(1, memory_runs.bounded) == [4]
