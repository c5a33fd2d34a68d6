"""Every placement of a parameter is the one that transformers itself gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from model_configs import SMALL, WITH_EXPERTS, configuration, facts
from torch_placements import fake_ranks, placements

from hpplan.diagnostics import Place
from hpplan.models.build import build
from hpplan.models.freeze import freeze
from hpplan.routing.mesh import parse_mesh

if TYPE_CHECKING:
    from collections.abc import Iterator

RANKS = 4


@pytest.fixture(scope="module", autouse=True)
def ranks() -> Iterator[None]:
    """Have a process group, which all cases share."""
    with fake_ranks(RANKS):
        yield


def planned(name: str, mesh: str) -> tuple[dict[str, tuple[str, str]], tuple[str, ...]]:
    """Return axis and placement of each parameter in a plan, and how the names begin of what is left out."""
    data: dict[str, Any] = freeze(facts(name), parse_mesh(mesh), Place("")).data
    found = {}
    for fqn, entry in data["param_plan"].items():
        for parameter, layout in entry["params"].items():
            ((axis, placement),) = layout.items()
            found[f"{fqn}.{parameter}"] = (axis, placement)
    return found, tuple(f"{one}." for one in data.get("not_covered", []))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ep"), [*((name, 1) for name in SMALL), *((name, RANKS) for name in WITH_EXPERTS)]
)
def test_placements_are_those_of_transformers(name: str, ep: int) -> None:
    """A weight that is cut otherwise is loaded from the wrong part of the checkpoint."""
    found, left_out = planned(name, f"tp={RANKS},sp" + f",ep={ep}" * (ep > 1))
    # transformers places a tied weight while it still has one name.
    said = placements(build(configuration(name, tie_word_embeddings=False)), RANKS, ep)
    covered = {key: one for key, one in said.items() if not f"{key}.".startswith(left_out or ("-",))}
    assert found == covered
    # What is left out has no rule, and no placement either.
    assert {placement for key, (_, placement) in said.items() if key not in covered} <= {"R"}
