"""What `hpplan exec` reports of what it measured."""

from __future__ import annotations

import pytest

from hpplan.job.execution_report import _bandwidth, _ratio


@pytest.mark.parametrize(
    ("size", "milliseconds", "expected"), [(123456, 900.0, 0.0001372), (0, 1.0, 0.0), (1, None, None)]
)
def test_small_bandwidths_keep_their_digits(size: int, milliseconds: float | None, expected: float) -> None:
    """A small exchange has a bandwidth too, and not 0.0001 GB/s."""
    assert _bandwidth(size, milliseconds) == expected


def test_a_ratio_is_the_quotient_of_the_times_beside_it() -> None:
    """The median of quotients is another number: 1.5 here, beside 2 ms and 4 ms."""
    ranks = [
        {"forward": [0.002, 0.001, 0.009], "plain_forward": [0.001, 0.004, 0.006]},
        {"forward": [0.001, 0.002, 0.001], "plain_forward": [0.001, 0.001, 0.001]},
    ]
    # The slowest rank of each iteration: 2, 2, 9 ms and 1, 4, 6 ms.
    assert _ratio(ranks, "forward") == 0.5
    assert _ratio([{"forward": [], "plain_forward": []}], "forward") is None
