"""Things that come in kinds: a file without its line, or a line without its case, is named here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
import yaml

import hpplan
from hpplan.checks import foreign_routes
from hpplan.passes.pipeline import PASSES
from hpplan.plan.model import PLAN
from hpplan.reports.findings.formats import FORMATS as FINDING_FORMATS
from hpplan.reports.route.formats import FORMATS as ROUTE_FORMATS
from hpplan.routing.assignment import POLICIES
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.modes import MODES, Collective
from hpplan.validation.catalog import all_codes
from hpplan.validation.registry import CHECKS, RULES_CHECKS
from hpplan.workload.families import FAMILIES, family_named
from hpplan.workload.families.base import Size
from hpplan.workload.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
ROUTING_CASES: list[dict[str, Any]] = yaml.safe_load((CASES / "routing.yaml").read_text(encoding="utf-8"))
FAMILY_CASES: list[dict[str, Any]] = yaml.safe_load((CASES / "families.yaml").read_text(encoding="utf-8"))


NAME = "    name: ClassVar[str] ="
"""What a file has that defines one of a kind."""


def _text(*pattern: str) -> str:
    """Return what stands in all files below tests/ that a pattern matches."""
    files = sorted((ROOT / "tests").glob("/".join(pattern)))
    files = sorted((ROOT / "tests").glob("/".join(pattern)))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def _agree(listed: Iterable[str], folder: str, line: str, having: str = "") -> None:
    """Compare names in a tuple with the files of a folder, of these only those that have a text."""
    places = (ROOT / "hpplan" / folder).glob("*.py")
    files = {file.stem for file in places if having in file.read_text(encoding="utf-8")}
    files -= {"__init__", "base", "formats"}
    wanted = {name.replace("-", "_") for name in listed}
    assert not files - wanted, f"hpplan/{folder}: {sorted(files - wanted)} without a line in {line}"
    assert not wanted - files, f"{line}: {sorted(wanted - files)} without a file in hpplan/{folder}"


def test_every_check_is_in_its_tuple() -> None:
    """A check that is written and never run."""
    listed = {check.__name__.rpartition(".")[2] for check in (*CHECKS, *RULES_CHECKS, foreign_routes)}
    _agree(listed, "checks", "CHECKS of validation/registry.py")


def test_every_check_says_what_it_reads() -> None:
    """A check that says something untrue of a plan in which a field that it reads is broken."""
    parts = {*PLAN.names, "rules", "strategies", "placements"}
    for check in CHECKS:
        unknown = set(check.READS) - parts
        assert not unknown, f"{check}: READS names {unknown}, and there are {parts}"


def test_every_code_is_tested() -> None:
    """A code that nothing trips, so that it may stand for nothing at all.

    `tests/checks` looks that each of plans and rules has cases, and samples show what they are named after.
    """
    tests = _text("**", "*.py") + _text("cases", "**", "*.yaml")
    names = {file.stem for file in (CASES / "checks").glob("*.yaml")}
    names |= {file.stem.removeprefix("workload-") for file in (ROOT / "sample_plans" / "broken").iterdir()}
    for code in all_codes():
        constant = code.name.replace("-", "_").upper()
        found = code.name in names or re.search(rf"\b({code.id}|{code.name}|{constant})\b", tests)
        assert found, f"{code.id} {code.name}: add cases or a test that names it"


def test_every_pass_is_in_its_tuple() -> None:
    """A pass that is written and never run, or whose changes nobody can count."""
    _agree((step.name for step in PASSES), "passes", "PASSES of passes/pipeline.py", NAME)
    for step in PASSES:
        assert step.did.verb, f"{step.name}: say what it does to a module"
        assert step.did.past, f"{step.name}: say what it did to a module"
        for part in ("Before: ", "After: "):
            assert part in (step.__doc__ or ""), f"{step.name}: its docstring has no '{part}'"


def test_every_pass_has_a_case() -> None:
    """A pass that does nothing, or anything."""
    changing = set()
    for case in yaml.safe_load((CASES / "normalize.yaml").read_text(encoding="utf-8")):
        plan, rules = hpplan.load_plan(case["plan"]), hpplan.load_rules({"rules": case["rules"]})
        changing |= {change.cause.pass_name for change in hpplan.normalize(plan, rules).changes}
    for step in PASSES:
        assert step.name in changing, f"{step.name}: add a case to tests/cases/normalize.yaml that it changes"


def test_every_policy_is_in_its_tuple_and_in_the_help() -> None:
    """A policy that nobody can choose."""
    _agree((policy.name for policy in POLICIES), "routing/assignment", "POLICIES of routing/assignment")
    tests = _text("routing", "test_assignment.py")
    for policy in POLICIES:
        assert policy.summary, f"{policy.name}: say in words what it does"
        assert f'"{policy.name}"' in tests, f"{policy.name}: add tests to tests/routing/test_assignment.py"


def test_every_layout_is_in_its_tuple() -> None:
    """A layout that no workload can name."""
    _agree((layout.name for layout in LAYOUTS), "workload/layouts", "LAYOUTS of workload/layouts")
    cases = {case["workload"]["sequence"].get("cp_layout") for case in ROUTING_CASES}
    for layout in LAYOUTS:
        assert layout.__doc__, f"{layout.name}: say what it does with an example"
        assert layout.name in cases, f"{layout.name}: add a case to tests/cases/routing.yaml"


def test_every_family_is_in_its_tuple_with_cases() -> None:
    """A family whose arithmetic was invented."""
    _agree((family.name for family in FAMILIES), "workload/families", "FAMILIES of workload/families", NAME)
    for family in FAMILIES:
        assert family.summary, f"{family.name}: say in words what its rows are"
        kinds = {field.kind for field in family.grid_fields.values()}
        assert kinds, f"{family.name}: say what its processor has beside input_ids"
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


def test_every_mode_is_explained_and_has_a_case() -> None:
    """A mode that a preview names without a word, or whose routes nobody worked out."""
    cases = {case["expect"]["mode"] for case in ROUTING_CASES}
    pools = _text("routing", "test_pools.py")
    for mode in MODES:
        assert mode.why, f"{mode.name}: say in words why a mesh has it"
        assert mode.collective in get_args(Collective), f"{mode.name}: {mode.collective} is no collective"
        tested = mode.name in cases or f'"{mode.name}"' in pools
        assert tested, f"{mode.name}: add a case to tests/cases/routing.yaml"


def test_every_format_has_its_file() -> None:
    """A format that is offered and cannot be rendered, or written and never offered."""
    modules = (row.module for row in FINDING_FORMATS.values())
    _agree(modules, "reports/findings", "FORMATS of reports/findings/formats.py", "\ndef render(")
    for name in FINDING_FORMATS:
        for fixture in ("plan", "cut_short"):
            snapshot = ROOT / "tests" / "reports" / "snapshots" / f"{fixture}.{name}.txt"
            assert snapshot.exists(), f"{name}: add the snapshot {snapshot.name}"


def test_every_format_of_routes_has_its_row() -> None:
    """A format that is written and never offered, or that no test looks at."""
    modules = (row.module for row in ROUTE_FORMATS)
    _agree(modules, "reports/route", "FORMATS of reports/route/formats.py", "\ndef render(view")
    tests = _text("cli", "test_route*.py")
    for row in ROUTE_FORMATS:
        assert f'"{row.name}"' in tests, f"{row.name}: add a test to tests/cli/test_route.py"
