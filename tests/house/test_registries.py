"""Things that come in kinds: a file without its line, or a line without its case, is named here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpplan import checks
from hpplan.checks import foreign_routes
from hpplan.models import codes as model_codes
from hpplan.passes.pipeline import PASSES
from hpplan.plan.model import PLAN
from hpplan.reports.findings.formats import FORMATS as FINDING_FORMATS
from hpplan.reports.route.formats import FORMATS as ROUTE_FORMATS
from hpplan.routing.assignment import POLICIES
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.modes import MODES
from hpplan.validation.registry import CHECKS, RULES_CHECKS
from hpplan.workload.families import FAMILIES, family_named
from hpplan.workload.families.base import Size
from hpplan.workload.layouts import LAYOUTS

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
FAMILY_CASES: list[dict[str, Any]] = yaml.safe_load((CASES / "families.yaml").read_text(encoding="utf-8"))


def _files(folder: str, *others: str) -> set[str]:
    files = {file.stem for file in (ROOT / "hpplan" / folder).glob("*.py")}
    return files - {"__init__", *others}


def _homes(things: Any) -> set[str]:  # noqa: ANN401 - any registry
    return {(getattr(thing, "__module__", None) or thing.__name__).rpartition(".")[2] for thing in things}


def test_every_check_is_in_its_tuple() -> None:
    """A check that is written and never run."""
    listed = {check.__name__.rpartition(".")[2] for check in (*CHECKS, *RULES_CHECKS, foreign_routes)}
    assert _files("checks") == listed
    assert checks.__doc__


def test_every_check_says_what_it_reads() -> None:
    """A check that says something untrue of a plan in which a field that it reads is broken."""
    parts = {*PLAN.names, "rules", "strategies", "placements"}
    for check in CHECKS:
        unknown = set(check.READS) - parts
        assert not unknown, f"{check}: READS names {unknown}, and there are {parts}"


def test_every_code_of_a_check_has_its_cases() -> None:
    """A check that nothing trips, so that it may find nothing at all."""
    with_cases = {file.stem for file in (CASES / "checks").glob("*.yaml")}
    elsewhere = {code.name for code in model_codes.CODES}
    for check in CHECKS:
        assert check.CODES, check
        for code in check.CODES:
            tested = code.name in with_cases | elsewhere or code.id >= "HP4"
            assert tested, f"{code.name}: add tests/cases/checks/{code.name}.yaml"


def test_every_pass_is_in_its_tuple() -> None:
    """A pass that is written and never run, or whose changes nobody can count."""
    machinery = ("change", "facts", "pipeline", "record", "resolution", "strip", "normalized_file")
    assert _files("passes", *machinery) == {step.name.replace("-", "_") for step in PASSES}
    for step in PASSES:
        assert step.did.verb
        assert step.did.past
        cases = (CASES / "normalize.yaml").read_text(encoding="utf-8")
        assert step.name in cases or step.name.split("-")[0] in cases, f"{step.name}: add a case"


def test_every_policy_is_in_its_tuple_and_in_the_help() -> None:
    """A policy that nobody can choose."""
    names = {policy.name.replace("-", "_") for policy in POLICIES}
    assert _files("routing/assignment", "base") == names
    help_text = (ROOT / "README.md").read_text(encoding="utf-8")
    for policy in POLICIES:
        assert policy.summary
        assert policy.name in help_text, f"{policy.name}: run the README's `hpplan route --help` again"


def test_every_layout_is_in_its_tuple() -> None:
    """A layout that no workload can name."""
    assert _files("workload/layouts", "base") == {layout.name for layout in LAYOUTS}
    cases = (CASES / "routing.yaml").read_text(encoding="utf-8")
    for layout in LAYOUTS:
        assert f"cp_layout: {layout.name}" in cases, f"{layout.name}: add a case to tests/cases/routing.yaml"


def test_every_family_is_in_its_tuple_with_cases() -> None:
    """A family whose arithmetic was invented."""
    assert _files("workload/families", "base", "resize") == {family.name for family in FAMILIES}
    for family in FAMILIES:
        kinds = {field.kind for field in family.grid_fields.values()}
        for kind in kinds:
            ways = {
                way for case in FAMILY_CASES if case["family"] == family.name for way in case.get(kind, {})
            }
            assert {"grid", "size"} <= ways, f"{family.name}, {kind}: add cases to tests/cases/families.yaml"


@pytest.mark.parametrize("case", FAMILY_CASES, ids=lambda case: f"{case['family']}: {case['why']}")
def test_family_case(case: dict[str, Any]) -> None:
    """Rows of an image or a video are not those of the family's processor."""
    family = family_named(case["family"])(**case.get("options", {}))
    kind: Any = "image" if "image" in case else "video"
    given = case[kind]
    if "grid" in given:
        assert family.from_grid(kind, tuple(given["grid"])) == tuple(case["runs"])
    else:
        size = Size(*given["size"], frames=given.get("frames", 1))
        assert family.from_size(kind, size) == tuple(case["runs"])


@pytest.mark.parametrize(
    "spelled", ["dp=4", "cp=2", "tp=2", "tp=2,sp", "cp=2,tp=2", "cp=2,tp=2,sp", "dp=4,cp=2"]
)
@pytest.mark.parametrize("pool", [1, "all"])
def test_exactly_one_mode_fits(spelled: str, pool: int | str) -> None:
    """Two modes for one mesh, of which the order of the table decides; or none."""
    mesh = parse_mesh(spelled).pooled(pool)
    assert sum(mode.fits(mesh) for mode in MODES) == 1


def test_every_mode_is_explained() -> None:
    """A mode that the README's reader cannot look up, or that no worked case has."""
    cases = (CASES / "routing.yaml").read_text(encoding="utf-8")
    pools = (ROOT / "tests" / "routing" / "test_pools.py").read_text(encoding="utf-8")
    for mode in MODES:
        assert mode.why
        assert mode.name in cases or mode.name in pools, f"{mode.name}: add a routing case"


def test_every_format_has_its_file() -> None:
    """A format that is offered and cannot be rendered, or written and never offered."""
    assert _files("reports/findings", "base", "formats", "counts") == set(FINDING_FORMATS.values())
    for name, module in FINDING_FORMATS.items():
        assert callable(import_module(f"hpplan.reports.findings.{module}").render), name
        assert (ROOT / "tests" / "reports" / "snapshots" / f"plan.{name}.txt").exists(), (
            f"{name}: add a snapshot"
        )
    tests = "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "cli").glob("test_route*.py")
    )
    for one in ROUTE_FORMATS:
        assert f'"{one.name}"' in tests, f"{one.name}: add a test to tests/cli/test_route.py"
