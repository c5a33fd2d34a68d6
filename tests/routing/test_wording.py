"""Numbers in sentences."""

from __future__ import annotations

import doctest

from hpplan import wording
from hpplan.wording import listed


def test_the_examples_run() -> None:
    """What the docstrings show is not what is spelled."""
    assert doctest.testmod(wording) == (0, 3)


def test_a_list_that_fits_is_whole() -> None:
    """A list of just so many says that there are more."""
    assert listed("rank", range(8)) == "ranks 0, 1, 2, 3, 4, 5, 6, 7"
    assert listed("rank", range(9)) == "ranks 0, 1, 2, 3, 4, 5, 6, 7, …"
