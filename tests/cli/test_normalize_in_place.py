"""`hpplan normalize --write` on plans as people write them: the right plan, in their own layout, once."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from random_layouts import Maker

from hpplan.documents.reader import read_document

if TYPE_CHECKING:
    from conftest import Runner

ROOT = Path(__file__).parents[2]
CASES = yaml.safe_load((ROOT / "tests" / "cases" / "normalize.yaml").read_text(encoding="utf-8"))
SAMPLES = sorted(ROOT.glob("sample_plans/*.rules.yaml"))


def comments(text: str) -> list[str]:
    """Return the comments of a text in which no scalar has a `#`."""
    return [line[line.index("#") :] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_cases(hpplan: Runner, tmp_path: Path, case: dict[str, Any]) -> None:
    """A plan in another layout is normalized to something else, or changes when it is normalized again."""
    plan, rules = tmp_path / "plan.yaml", tmp_path / "rules.yaml"
    rules.write_text(json.dumps({"rules": case["rules"]}), encoding="utf-8")
    maker = Maker(Random(case["title"]), shared=True)  # noqa: S311 - layouts, no secrets
    for layout in (maker.yaml_layout, maker.json_layout):
        raw = layout(case["plan"]).raw
        plan.write_bytes(raw)
        assert hpplan("normalize", "-w", "--rules", str(rules), str(plan)).status == 0
        found = read_document(str(plan)).data
        record = found.pop("normalization", None)
        assert (found, record is not None) == (case["expect"], case["expect"] != case["plan"])
        once = plan.read_bytes()
        assert (once == raw) == (record is None)
        for option in ("--check", "--diff"):
            assert hpplan("normalize", option, "--rules", str(rules), str(plan))[:2] == (0, "")
        assert hpplan("normalize", "-w", "--rules", str(rules), str(plan)).status == 0
        assert plan.read_bytes() == once


@pytest.mark.parametrize("rules", SAMPLES, ids=[path.name for path in SAMPLES])
def test_samples(hpplan: Runner, tmp_path: Path, rules: Path) -> None:
    """A sample plan with a comment in every tenth line comes out otherwise, or loses them."""
    name = rules.name.replace(".rules", "")
    normalized = rules.with_name(name.replace(".yaml", ".normalized.yaml")).read_text(encoding="utf-8")
    lines = rules.with_name(name).read_text(encoding="utf-8").splitlines()
    for index in range(len(lines) - 1, 0, -10):
        lines.insert(index, f"      # comment {index}")
    plan = tmp_path / name
    plan.write_text("\n".join(lines), encoding="utf-8")
    before = comments(plan.read_text(encoding="utf-8"))
    assert hpplan("normalize", "-w", "--rules", str(rules), str(plan)).status == 0
    text = plan.read_text(encoding="utf-8")
    assert comments(text) == before
    # Without them, the samples are in canonical form.
    assert [line for line in text.splitlines() if "# comment" not in line] == normalized.splitlines()


def test_what_hyperparallel_writes(hpplan: Runner, root: Path, tmp_path: Path) -> None:
    """A plan in HyperParallel's own layout leaves it, or would look otherwise in hpplan's."""
    plan = tmp_path / "codegen_meta.json"
    plan.write_bytes((root / "sample_plans" / "deepseek_v3.codegen_meta.json").read_bytes())
    canonical = hpplan("normalize", str(plan)).stdout
    assert hpplan("normalize", "-w", str(plan)).status == 0
    assert plan.read_text(encoding="utf-8") == canonical
