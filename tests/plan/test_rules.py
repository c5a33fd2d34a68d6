"""Inline rules: every spelling, every source, every fault."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet, load_rules, rules_of_plan

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"


def load(data: dict[str, Any]) -> RuleSet:
    """Load rules from plain data."""
    return load_rules(Document(Source("rules", "", "yaml"), data))


def faults(data: dict[str, Any]) -> list[tuple[str, tuple[str | int, ...]]]:
    """Return code and path of everything that is wrong with rules."""
    with pytest.raises(InvalidInput) as caught:
        load(data)
    return [(item.code.id, item.place.path) for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("record", "patterns"),
    [
        ({"match": "*.mlp"}, ("*.mlp",)),
        ({"match": ["a", "b"]}, ("a", "b")),
        ({"fqn": "a"}, ("a",)),
        ({"fqns": ["a"], "match": "b", "fqn": "c"}, ("a",)),
        ({"match": "b", "fqn": "c"}, ("b",)),
        ({"match": []}, ()),
        ({"fqns": [], "match": "b"}, ("b",)),
        ({"fqns": None, "match": None, "fqn": "c"}, ("c",)),
    ],
)
def test_match_spellings(record: dict[str, Any], patterns: tuple[str, ...]) -> None:
    """A spelling of the match is not understood, or the wrong one wins."""
    assert load({"rules": [{**record, "local_compute_fn": EP}]}).rules[0].patterns == patterns


@pytest.mark.parametrize(
    "target", [EP, {"_target_": EP}, {"target": EP}, {"_target_": EP, "target": "other", "k": 1}]
)
@pytest.mark.parametrize(
    ("field", "attribute"),
    [
        ("local_compute_fn", "local_compute_target"),
        ("local_compute_target", "local_compute_target"),
        ("inner_wrapper", "inner_wrapper_target"),
        ("inner_wrapper_target", "inner_wrapper_target"),
        ("replace_module", "replace_target"),
        ("replace_target", "replace_target"),
    ],
)
def test_target_spellings(field: str, attribute: str, target: object) -> None:
    """A spelling of a target is not understood."""
    rule = load({"rules": [{"match": "a", field: target}]}).rules[0]
    assert getattr(rule, attribute) == EP


def test_first_spelling_wins() -> None:
    """Where a record spells a target twice, its place is that of the other spelling."""
    rule = load({"rules": [{"match": "a", "local_compute_target": "x.y", "local_compute_fn": EP}]}).rules[0]
    assert rule.local_compute_target == EP
    assert rule.target_place("local_compute").path == ("rules", 0, "local_compute_fn")


def test_fields_of_a_projection_may_be_null() -> None:
    """What a record does not have, and says so with null, is taken for a fault or for a rule."""
    record = {
        "match": "a",
        "local_compute_fn": EP,
        "inner_wrapper": None,
        "when": None,
        "replace_module": None,
    }
    rule = load({"rules": [record]}).rules[0]
    assert (rule.local_compute_target, rule.inner_wrapper_target, rule.when) == (EP, None, None)


def test_training_yaml() -> None:
    """A HyperParallel training YAML is not taken as rules, or its other keys get in the way."""
    rules = load(
        {
            "model_type": {"nested": "of another meaning"},
            "optimizer": {"lr": 1e-4},
            "plan_overrides": [
                {"fqns": ["model.layers.1.mlp"], "local_compute_fn": {"_target_": EP}},
                {"fqns": ["model.layers.1.norm"], "precision": "fp32"},
            ],
        }
    )
    assert [(rule.patterns, rule.local_compute_target) for rule in rules.rules] == [
        (("model.layers.1.mlp",), EP)
    ]
    assert rules.model_type is None


def test_a_training_yaml_without_overrides() -> None:
    """`plan_overrides:` with nothing below it is a fault, although it says as much as an empty list."""
    assert load({"optimizer": {"lr": 1e-4}, "plan_overrides": None}) == RuleSet(())
    assert load({"rules": [{"match": "a", "local_compute_fn": EP}], "plan_overrides": None}).rules
    assert faults({"rules": None, "plan_overrides": []}) == [("HP102", ("rules",))]


def test_rules_of_a_plan() -> None:
    """The plan's own rules are missed or reordered, or records that carry none are taken for rules."""
    plan = Plan(
        {
            "param_plan": {},
            "boundary_classes": {},
            "injections": [
                {"match": "a", "ep_size": 4, "local_compute_fn": {"_target_": EP}},
                {"match": "b", "ep_size": 4},
                {"match": "c", "inner_wrapper": "x.y"},
            ],
            "module_overrides": [{"fqn": "d", "factory": {"_target_": "my.Module"}}],
        },
        Place("plan"),
    )
    rules = rules_of_plan(plan).rules
    assert [
        (rule.patterns, rule.replace_target, rule.local_compute_target, rule.inner_wrapper_target)
        for rule in rules
    ] == [(("d",), "my.Module", None, None), (("a",), None, EP, None), (("c",), None, None, "x.y")]
    assert [rule.place.path for rule in rules] == [
        ("module_overrides", 0),
        ("injections", 0),
        ("injections", 2),
    ]


@pytest.mark.parametrize(
    ("sizes", "when", "holds"),
    [
        ({"ep_size": 4}, "ep", True),
        ({"ep_size": 1}, "ep", False),
        ({}, "ep", False),
        ({"cp_size": 2}, "cp", True),
        ({"ep_size": 4}, "cp", False),
        ({}, None, True),
    ],
)
def test_when(sizes: dict[str, int], when: str | None, holds: bool) -> None:
    """A condition holds in a plan whose sizes say otherwise."""
    record = {"match": "a", "local_compute_fn": EP, **({"when": when} if when else {})}
    plan = Plan({"param_plan": {}, "boundary_classes": {}, "parallel_dims": sizes}, Place("plan"))
    assert load({"rules": [record]}).rules[0].holds(plan) is holds


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"rule": []}, [("HP304", ())]),
        ({"strategies": []}, [("HP304", ())]),
        ({"rules": {}}, [("HP102", ("rules",))]),
        ({"rules": [1]}, [("HP102", ("rules", 0))]),
        ({"rules": [{"match": 1, "local_compute_fn": EP}]}, [("HP102", ("rules", 0, "match"))]),
        ({"rules": [{"match": "a", "local_compute_fn": 1}]}, [("HP102", ("rules", 0, "local_compute_fn"))]),
        ({"rules": [{"match": "a"}]}, [("HP101", ("rules", 0))]),
        ({"rules": [{"local_compute_fn": EP}]}, [("HP101", ("rules", 0))]),
        ({"rules": [{"match": "a", "local_compute_fn": {}}]}, [("HP101", ("rules", 0, "local_compute_fn"))]),
        (
            {"rules": [{"match": "a", "local_compute_fn": EP, "when": "moe"}]},
            [("HP305", ("rules", 0, "when"))],
        ),
        (
            {"rules": [{"match": "a", "local_compute_fn": EP, "when": "low_precision"}]},
            [("HP305", ("rules", 0, "when"))],
        ),
        ({"rules": [{"match": "a"}, {"fqn": "b"}]}, [("HP101", ("rules", 0)), ("HP101", ("rules", 1))]),
        (
            {"rules": [], "strategies": [{"target": "a", "kind": "k"}, {"target": "a", "kind": "k"}]},
            [("HP306", ("strategies", 1, "target"))],
        ),
        ({"rules": [], "strategies": [{"target": "a"}]}, [("HP101", ("strategies", 0))]),
    ],
)
def test_faults(data: dict[str, Any], expected: list[tuple[str, tuple[str | int, ...]]]) -> None:
    """A fault in a rules file passes, or is reported at another place."""
    assert faults(data) == expected
