"""Folding FQNs over layers: exactly the names that went in come out."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.plan.folding import fold


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], []),
        (["lm_head"], ["lm_head"]),
        ([f"l.{n}.mlp" for n in range(3, 61)], ["l.{3..60}.mlp"]),
        (["l.0", "l.1"], ["l.{0,1}"]),
        (["l.10", "l.9", "l.2", "l.8"], ["l.{2,8..10}"]),
        (["l.7.a", "m.7.a"], ["l.7.a", "m.7.a"]),
        ([f"l.{a}.e.{b}" for a in range(3) for b in range(4)], ["l.{0..2}.e.{0..3}"]),
        (["l.0.e.0", "l.0.e.1", "l.1.e.0"], ["l.0.e.{0,1}", "l.1.e.0"]),
        (["l.01", "l.1", "l.2"], ["l.01", "l.{1,2}"]),
        (["10.a", "9.a"], ["{9,10}.a"]),
        (["l." + "9" * 30], ["l." + "9" * 30]),
    ],
)
def test_folded(names: list[str], folded: list[str]) -> None:
    """A diff of sixty layers must fit on a screen, and stand for these layers and no others."""
    assert fold(names) == folded


def unfold(pattern: str) -> set[str]:
    """Return the names that a pattern stands for, one set of braces after the other."""
    choices = []
    for part in re.split(r"(\{[^}]*\})", pattern):
        if not part.startswith("{"):
            choices.append([part])
            continue
        numbers: list[str] = []
        for run in part[1:-1].split(","):
            first, _, last = run.partition("..")
            numbers += map(str, range(int(first), int(last or first) + 1))
        choices.append(numbers)
    return {"".join(each) for each in product(*choices)}


NAMES = st.lists(st.sampled_from(["l", "mlp", "0", "1", "2", "3", "10", "007"]), min_size=1, max_size=4)


@given(st.sets(NAMES.map(".".join), max_size=30))
def test_nothing_is_lost_or_made_up(names: set[str]) -> None:
    """A name in no pattern would be missing from a diff; one in two would be in it twice."""
    patterns = fold(names)
    unfolded = [name for pattern in patterns for name in unfold(pattern)]
    assert sorted(unfolded) == sorted(names)
