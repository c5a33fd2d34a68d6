"""Placements: the four forms, and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.plan.placement import PLACEMENT_PATTERN, Placement, parse_placement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R", Placement("R")),
        ("P(sum)", Placement("P", op="sum")),
        ("P(avg)", Placement("P", op="avg")),
        ("S(0)", Placement("S", dim=0)),
        ("S(12)", Placement("S", dim=12)),
        ("S(-1)", Placement("S", dim=0, uneven=True)),
        ("S(-3)", Placement("S", dim=2, uneven=True)),
        ("SS(1,4)", Placement("SS", dim=1, factor=4)),
        ("S(999999999)", Placement("S", dim=999_999_999)),
        ("SS(-1,2)", Placement("SS", dim=0, factor=2, uneven=True)),
    ],
)
def test_forms(text: str, expected: Placement) -> None:
    """A legal placement is refused or misread."""
    assert parse_placement(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "r", "P", "P()", "S", "S()", "S(x)", "S(0", "S(0) ", " R", "R\n", "S(1.0)", "S(-0)", "S(01)"),
        *("S(0,2)", "SS(0)", "SS(0,0)", "SS(0, 2)", "SS(0,-2)", "Shard(0)", "Replicate", "R R", "RS(0)"),
        *("S(٣)", "P(a b)", f"S({'9' * 5000})", f"SS(0,{'9' * 5000})"),
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    """Something that is no placement passes, and would be taken for R."""
    with pytest.raises(ValueError, match="is no placement"):
        parse_placement(text)


@given(st.text(alphabet="RPS()-,0123sum \n", max_size=10))
def test_schema_and_parser_agree(text: str) -> None:
    """The schema lets a placement through that the parser refuses, or the other way round."""
    try:
        parse_placement(text)
    except ValueError:
        parses = False
    else:
        parses = True
    # Python's $ also matches before a last line break; the validators' does not.
    assert parses == bool(re.match(PLACEMENT_PATTERN.replace("$", r"\Z"), text))
