"""Each kind of finding has cases that trip it, and cases that look alike and do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from handmade_models import handmade_model

from hpplan.checks.not_normalized import NOT_NORMALIZED
from hpplan.documents import configuration_codes
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.models import codes as model_codes
from hpplan.proof import codes as proof_codes
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.catalog import all_codes
from hpplan.validation.registry import CHECKS
from hpplan.validation.run import CheckRun

CASES = Path(__file__).parents[1] / "cases" / "checks"

OTHERWISE_TESTED = {
    "broken-strategy-plugin",
    *(code.name for code in (*configuration_codes.CODES, *model_codes.CODES, *proof_codes.CODES)),
}
"""Need an installed package, a configuration file or a model; tested with the strategies, and with those."""


def load_cases() -> list[Any]:
    """Return every case with the name of the code that its file is about."""
    return [
        pytest.param(file.stem, case, id=f"{file.stem}: {case['title']}")
        for file in sorted(CASES.glob("*.yaml"))
        for case in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]


def find(case: dict[str, Any], folder: Path) -> list[tuple[str, list[int]]]:
    """Run the checks on a case and return name, line and column of each finding."""
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = Sources()
    run = CheckRun(mesh=parse_mesh(case["mesh"]) if "mesh" in case else None)
    if "model" in case:
        run.model = handmade_model(case["model"])
    if "rules" in case:
        run.use_rules(parse_document(case["rules"].encode(), "rules.yaml", sources))
    if "strategies" in case:
        run.use_strategies(parse_document(case["strategies"].encode(), "strategies.yaml", sources))
    run.check(parse_document(case["plan"].encode(), str(folder / "plan.yaml"), sources))
    run.finish()
    resolved = sources.resolve([*run.blocking, *run.findings])
    return [(item.code.name, [*position]) for item, position in resolved]


@pytest.mark.parametrize(("name", "case"), load_cases())
def test_case(name: str, case: dict[str, Any], tmp_path: Path) -> None:
    """A check that misses its fault, fires on a look-alike, or points elsewhere would mislead in CI."""
    expected = [(name, place) for place in case["expect"]]
    # A fault may have more than one side; the case says what else is found then.
    expected += [(other, place) for other, places in case.get("also", {}).items() for place in places]
    found = find(case, tmp_path)
    if name != NOT_NORMALIZED.name:
        # Most plans here are as people write them; whether they are normalized, one file is about.
        found = [one for one in found if one[0] != NOT_NORMALIZED.name]
    assert sorted(found) == sorted(expected)


def test_every_code_of_plans_and_rules_has_cases() -> None:
    """A check without a tripping case and a look-alike could say anything."""
    files = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in CASES.glob("*.yaml")}
    wanted = {code.name for code in all_codes() if "HP1" <= code.id < "HP4"} - OTHERWISE_TESTED
    assert files.keys() == wanted
    for name, cases in files.items():
        assert any(case["expect"] for case in cases), f"{name}: no case trips it"
        assert any(not case["expect"] for case in cases), f"{name}: no case looks alike"


def test_every_check_yields_codes_it_declares() -> None:
    """`--select` and `explain` know a check's codes only if it declares them."""
    assert all(check.CODES for check in CHECKS)
    names = [check.__name__ for check in CHECKS]
    assert len(set(names)) == len(names)
