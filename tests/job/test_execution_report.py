"""What `hpplan exec` reports of what it measured."""

from __future__ import annotations

import pytest

from hpplan.job.execution_report import _bandwidth


@pytest.mark.parametrize(
    ("size", "milliseconds", "expected"), [(123456, 900.0, 0.0001372), (0, 1.0, 0.0), (1, None, None)]
)
def test_small_bandwidths_keep_their_digits(size: int, milliseconds: float | None, expected: float) -> None:
    """A small exchange has a bandwidth too, and not 0.0001 GB/s."""
    assert _bandwidth(size, milliseconds) == expected
