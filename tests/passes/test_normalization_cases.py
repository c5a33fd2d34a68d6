"""The worked normalization cases, and the promises that hold on each of them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from naive_passes import naive_normalize

from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.passes.pipeline import PASSES, Normalized, normalize
from hpplan.passes.record import with_record
from hpplan.plan.model import Plan
from hpplan.plan.rules import load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "normalize.yaml").read_text(encoding="utf-8"))
each_case = pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])


def run(plan: dict[str, Any], rules: list[dict[str, Any]]) -> Normalized:
    """Normalize plain data with the built-in strategies."""
    document = Document(Source("rules", "", "yaml"), {"rules": rules})
    return normalize(Plan(plan, Place("plan")), load_rules(document), StrategyTable(BUILT_IN))


@each_case
def test_case(case: dict[str, Any]) -> None:
    """A pass departs from the worked answer."""
    assert run(case["plan"], case["rules"]).plan.data == case["expect"]


@each_case
def test_model_agrees_with_case(case: dict[str, Any]) -> None:
    """The model that the property tests rely on departs from the worked answer."""
    found = naive_normalize(case["plan"], case["rules"])
    assert found == case["expect"], "write a new pass down in tests/passes/naive_passes.py too"


@each_case
def test_input_is_untouched(case: dict[str, Any]) -> None:
    """A pass writes into the plan it was given."""
    before = deepcopy(case["plan"])
    run(case["plan"], case["rules"])
    assert case["plan"] == before


@each_case
def test_own_output_is_left_alone(case: dict[str, Any]) -> None:
    """Normalizing a normalized plan, with its record or bare, changes it again."""
    first = run(case["plan"], case["rules"])
    recorded = with_record(Plan(case["plan"], Place("plan")), first)
    for plan in (first.plan, recorded):
        again = run(dict(plan.data), case["rules"])
        assert again.changes == ()
        assert with_record(plan, again).data == plan.data


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.name)
@each_case
def test_each_pass_is_idempotent(step: Any, case: dict[str, Any]) -> None:  # noqa: ANN401 - a member of PASSES
    """A single pass finds something to do in its own output."""
    document = Document(Source("rules", "", "yaml"), {"rules": case["rules"]})
    rules, table = load_rules(document), StrategyTable(BUILT_IN)
    once = normalize(Plan(case["plan"], Place("plan")), rules, table, passes=[step])
    twice = normalize(once.plan, rules, table, passes=[step])
    assert twice.changes == ()
    assert twice.plan is once.plan


def test_changes_say_which_rule_and_pattern() -> None:
    """A change is blamed on another rule or pattern than the one that caused it."""
    changes = run(CASES[0]["plan"], CASES[0]["rules"]).changes
    told = [
        (c.fqn, c.field, c.before, c.after, c.cause.pass_name, c.cause.pattern, c.cause.below)
        for c in changes
    ]
    shared = "model.layers.1.mlp.shared_experts"
    assert told == [
        ("model.layers.1.mlp", "boundary_classes", "DeepseekV3MoE", None, "ep-strip", "*.mlp", None),
        ("model.layers.1.mlp", "is_boundary", True, False, "ep-strip", "*.mlp", None),
        (
            shared,
            "boundary_classes",
            "DeepseekV3MLP",
            None,
            "ep-strip",
            "shared_experts",
            "model.layers.1.mlp",
        ),
        (shared, "is_boundary", True, False, "ep-strip", "shared_experts", "model.layers.1.mlp"),
        (
            "model.layers.0.mlp",
            "skip_source_lowering",
            None,
            True,
            "shared-class-mark",
            "DeepseekV3MLP",
            None,
        ),
    ]
    assert all(change.cause.why.endswith(".") for change in changes)


def test_record_names_class_pass_rule_and_pattern() -> None:
    """The normalization record lacks what is needed to find shared classes again."""
    plan = Plan(CASES[0]["plan"], Place("plan"))
    block = with_record(plan, run(CASES[0]["plan"], CASES[0]["rules"])).data["normalization"]
    recipe = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
    assert block["stripped"] == {
        "model.layers.1.mlp": {
            "class": "DeepseekV3MoE",
            "pass": "ep-strip",
            "pattern": "*.mlp",
            "rule": recipe,
        },
        "model.layers.1.mlp.shared_experts": {
            "class": "DeepseekV3MLP",
            "pass": "ep-strip",
            "pattern": "shared_experts",
            "rule": recipe,
            "below": "model.layers.1.mlp",
        },
    }
    assert block["passes"] == [step.name for step in PASSES]


def test_record_lets_shared_classes_be_found_again() -> None:
    """A module that joins a normalized plan is not marked, because the stripped classes were forgotten."""
    plan = Plan(CASES[0]["plan"], Place("plan"))
    data = deepcopy(dict(with_record(plan, run(CASES[0]["plan"], CASES[0]["rules"])).data))
    data["boundary_classes"]["model.layers.2.mlp"] = "DeepseekV3MLP"
    data["param_plan"]["model.layers.2.mlp"] = {"is_boundary": True}
    after = run(data, CASES[0]["rules"])
    assert [(c.fqn, c.field) for c in after.changes] == [("model.layers.2.mlp", "skip_source_lowering")]
