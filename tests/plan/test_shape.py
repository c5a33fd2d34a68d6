"""Findings about the shape of data say what to write instead."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.diagnostics import Place
from hpplan.plan.model import check_plan
from hpplan.plan.placement import parse_placement


def hint(placement: str) -> str:
    """Return the hint of the finding about a placement."""
    entry = {"params": {"w": {"tp": placement}}}
    (finding,) = check_plan({"boundary_classes": {}, "param_plan": {"a": entry}}, Place("p"))
    return str(finding.hint)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Replicate()", "R"),
        ("Shard(0)", "S(0)"),
        ("Shard(1", None),
        ("SS(0, 2)", "SS(0,2)"),
        ("P( sum )", "P(sum)"),
        ("P(\n)", None),
        ("Partial()", None),
        ("S(\t)", None),
        ("s(x)", None),
    ],
)
def test_hints_for_placements(written: str, meant: str | None) -> None:
    """Whoever follows the hint must not run into the same finding again."""
    forms = "write R, P(op), S(d) or SS(d,f)"
    assert hint(written) == (forms if meant is None else f"did you mean '{meant}'? {forms}")


@given(st.text(alphabet="PRSshard(tial)0,- \n", max_size=9).map(lambda text: f" {text}"))
def test_every_guess_is_a_placement(written: str) -> None:
    """A guess that is none is worse than no guess."""
    guess = re.match("did you mean '(.*)'", hint(written), re.DOTALL)
    if guess is not None:
        parse_placement(guess[1])
