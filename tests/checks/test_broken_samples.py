"""Valid samples have no finding; a broken one has exactly the one that it is named after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.reader import read_document
from hpplan.documents.source import Sources
from hpplan.errors import InvalidInput
from hpplan.models.config import load_config
from hpplan.models.describe import facts_of
from hpplan.plan.model import load_plan
from hpplan.validation.catalog import all_codes
from hpplan.validation.registry import CHECKS
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from hpplan.documents.reader import Document

SAMPLES = Path(__file__).parents[2] / "sample_plans"
BROKEN = sorted((SAMPLES / "broken").iterdir())
PLANS = [
    path
    for path in BROKEN
    if path.suffix in {".yaml", ".json"}
    and not {".rules", ".config", ".routes"}.intersection(path.suffixes)
    # Workloads have tests of their own, and foreign routes are found in two files.
    and not path.name.startswith(("workload-", "foreign-routes"))
]


def findings(plan: Path, rules: Path | None = None) -> list[tuple[str, str, int, int]]:
    """Return file, name, line and column of each finding in a plan, with its rules and its model, if any."""
    sources = Sources()
    run = CheckRun()

    def use_model(document: Document) -> None:
        run.model = facts_of(load_config(document))

    config = plan.with_name(f"{plan.stem}.config.json")
    for path, step in ((rules, run.use_rules), (config, use_model), (plan, run.check)):
        if path is not None and path.exists():
            try:
                step(read_document(str(path), sources))
            except InvalidInput as failure:
                run.blocking.extend(failure.diagnostics)
    run.finish()
    resolved = sources.resolve([*run.blocking, *run.findings])
    return [(Path(item.place.document).name, item.code.name, *position) for item, position in resolved]


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.name)
def test_a_broken_sample_has_the_finding_it_is_named_after(plan: Path) -> None:
    """A sample with another finding would teach the wrong thing, and hide a check that fires too often."""
    rules = plan.with_name(f"{plan.stem}.rules.yaml")
    found = findings(plan, rules)
    assert [name for _, name, _, _ in found] == [plan.stem]
    assert found[0][2:] > (0, 0)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.name)
def test_every_check_yields_codes_it_declares(plan: Path) -> None:
    """`--select` and what waits for a correction know a check's codes only if it declares them."""
    try:
        subject = CheckRun().subject(load_plan(read_document(str(plan))))
    except InvalidInput:
        return
    for check in CHECKS:
        assert {item.code for item in check.check(subject)} <= set(check.CODES)


def test_every_broken_sample_is_a_sample_of_something() -> None:
    """A sample that no test reads may have any finding, or none."""
    codes = {code.name for code in all_codes()}
    assert {path.name.partition(".")[0].removeprefix("workload-") for path in BROKEN} <= codes


def names_of(plan: Path, rules: Path | None) -> list[str]:
    """Return what each finding in a plan is called."""
    return [name for _, name, _, _ in findings(plan, rules)]


@pytest.mark.parametrize("name", ["llama3_8b", "qwen3_moe_30b_a3b", "deepseek_v3", "qwen3_vl_30b_a3b"])
def test_a_valid_sample_has_no_finding(name: str) -> None:
    """A check that fires on a plan in order is one that people learn to ignore."""
    plan, rules = SAMPLES / f"{name}.normalized.yaml", SAMPLES / f"{name}.rules.yaml"
    assert findings(plan, rules) == []
    assert findings(plan, None) == []
    assert findings(rules, None) == []


@pytest.mark.parametrize(
    ("name", "with_rules", "without"),
    [
        ("llama3_8b", [], []),
        ("qwen3_moe_30b_a3b", ["not-normalized"], ["experts-without-rule", "not-normalized"]),
        ("deepseek_v3", ["not-normalized"], ["experts-without-rule", "not-normalized"]),
        ("qwen3_vl_30b_a3b", ["not-normalized"], ["not-normalized"]),  # its strategy is in the rules file
    ],
)
def test_a_sample_that_is_not_normalized(name: str, with_rules: list[str], without: list[str]) -> None:
    """A plan passes that redistributes inputs twice, or more is wrong with it than that."""
    plan, rules = SAMPLES / f"{name}.yaml", SAMPLES / f"{name}.rules.yaml"
    assert names_of(plan, rules) == with_rules
    assert names_of(plan, None) == without


def test_a_plan_as_hyperparallel_freezes_it() -> None:
    """The rules in the plan itself count as well as those in a file."""
    assert names_of(SAMPLES / "deepseek_v3.codegen_meta.json", None) == ["not-normalized"]


def test_a_routing_table_beside_another_plan() -> None:
    """What is wrong here is in neither file alone."""
    plan, table = (SAMPLES / "broken" / f"foreign-routes.{name}" for name in ("yaml", "routes.json"))
    assert findings(plan, None) == findings(table, None) == []
    run = CheckRun()
    for path in (plan, table):
        run.check(read_document(str(path)))
    run.finish()
    assert [item.code.name for item in (*run.blocking, *run.findings)] == ["foreign-routes"]
