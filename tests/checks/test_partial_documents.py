"""A fault in the schema hides nothing that is true whatever it is corrected to, and nothing else is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_check_junk import JUNK, SOUND

from hpplan.checks.run import CheckRun
from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.plan.model import check_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.diagnostics import Path

EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"

PLAN: dict[str, Any] = {
    "boundary_classes": {"a": "X", "ghost": "Y"},
    "param_plan": {
        "a": {"is_boundary": True, "in_src": {"h": {"tp": "R"}}},
        "b": {"is_boundary": True},
    },
    "tied_pairs": [["zzz.w", "yyy.w"]],
}
OTHERS = {
    "HP201 boundary_classes.ghost",
    "HP202 param_plan.b",
    "HP203 tied_pairs.0.0",
    "HP203 tied_pairs.0.1",
}
ONE_SIDED = "HP213 param_plan.a.in_src.h"


def found(data: object, rules: object = None) -> set[str]:
    """Return code and path of each finding, whether it blocks or not."""
    run = CheckRun()
    if rules is not None:
        run.use_rules(parse_document(json.dumps(rules).encode(), "r"))
    run.check(parse_document(json.dumps(data).encode(), "p"))
    run.finish()
    return {
        f"{item.code.id} {'.'.join(map(str, item.place.path))}" for item in (*run.blocking, *run.findings)
    }


def changed(data: Any, path: Path, value: object) -> Any:  # noqa: ANN401 - document data
    """Return data with another value at a path."""
    if not path:
        return value
    key, *below = path
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    copy[key] = changed(data[key] if below else None, tuple(below), value)
    return copy


@pytest.mark.parametrize(
    ("path", "value", "gone", "new"),
    [
        ((), PLAN, set(), set()),
        (("param_plan", "a", "in_src", "h", "tp"), "Q", set(), {"HP103 param_plan.a.in_src.h.tp"}),
        (("param_plan", "a", "in_src", "h"), 1, {ONE_SIDED}, {"HP102 param_plan.a.in_src.h"}),
        (("param_plan", "a", "out_names"), ["y", 1], {ONE_SIDED}, {"HP102 param_plan.a.out_names.1"}),
        (("param_plan", "a"), [], {ONE_SIDED}, {"HP102 param_plan.a"}),
        (
            ("param_plan", "b", "is_boundary"),
            "yes",
            {"HP202 param_plan.b"},
            {"HP102 param_plan.b.is_boundary"},
        ),
        # A name may be that of a class whose module only `boundary_classes` knows.
        (
            ("boundary_classes", "ghost"),
            3,
            {"HP201 boundary_classes.ghost", "HP203 tied_pairs.0.0", "HP203 tied_pairs.0.1"},
            {"HP102 boundary_classes.ghost"},
        ),
        (("model_name",), 3, set(), {"HP102 model_name"}),
        (("parallel_dims",), {"tp_size": "2"}, set(), {"HP102 parallel_dims.tp_size"}),
        (("not_covered",), "zzz", {"HP203 tied_pairs.0.0", "HP203 tied_pairs.0.1"}, {"HP102 not_covered"}),
        (("injections",), [{"local_compute_fn": EP}], set(), {"HP101 injections.0"}),
        (("injections",), [{"match": 1, "local_compute_fn": EP}], set(), {"HP102 injections.0.match"}),
    ],
)
def test_a_fault_hides_nothing_else(path: Path, value: object, gone: set[str], new: set[str]) -> None:
    """Whoever corrects one fault per run needs as many runs as there are faults."""
    assert found(changed(PLAN, path, value)) == (OTHERS | {ONE_SIDED}) - gone | new


@pytest.mark.parametrize("field", ["param_plan", "boundary_classes"])
def test_without_entries_or_classes_there_is_nothing_to_check(field: str) -> None:
    """Every module would be said to have no entry, or no class."""
    assert found({**PLAN, field: []}) == {f"HP102 {field}"}
    assert found({name: value for name, value in PLAN.items() if name != field}) == {"HP101 "}


def test_a_broken_rule_hides_no_other() -> None:
    """A rule without a pattern says nothing about the rule behind it, or about the plan."""
    rules = [
        {"match": 1, "local_compute_fn": EP},
        {"local_compute_fn": EP},
        {"match": "c", "local_compute_fn": EP},
    ]
    expected = {"HP102 rules.0.match", "HP101 rules.1", "HP302 rules.2"}
    assert found(PLAN, {"rules": rules}) == OTHERS | {ONE_SIDED} | expected
    broken = [*rules[:2], {"match": "a", "local_compute_fn": "no.such"}]
    expected = {"HP102 rules.0.match", "HP101 rules.1", "HP301 rules.2.local_compute_fn"}
    assert found({"rules": broken}) == expected


def test_what_depends_on_broken_rules_is_not_said() -> None:
    """A partial sum looks unreduced only because the rule that names its owner was not read."""
    plan = {
        "mesh_dim_names": ["tp"],
        "boundary_classes": {},
        "param_plan": {
            "l.mlp": {},
            "l.mlp.shared_experts": {
                "out_src": {"y": {"tp": "P(sum)"}},
                "out_dst": {"y": {"tp": "R"}},
                "is_boundary": False,
            },
        },
    }
    unreduced = "HP215 param_plan.l.mlp.shared_experts.out_src.y.tp"
    assert found(plan) == {unreduced}
    assert found(plan, {"rules": [{"match": "l.mlp", "local_compute_fn": EP}]}) == set()
    for rules in ([{"match": 1, "local_compute_fn": EP}], 3):
        assert unreduced not in found(plan, {"rules": rules})
    assert unreduced not in found({**plan, "injections": [{"match": 1, "local_compute_fn": EP}]})
    assert unreduced not in found(plan, {})


def test_the_form_of_a_boundary_is_not_known_without_all_rules() -> None:
    """A bias waits for nothing only where no rule makes the boundary a region."""
    plan = {
        "mesh_dim_names": ["tp"],
        "boundary_classes": {"a": "X"},
        "param_plan": {"a": {"is_boundary": True, "deferred_bias_params": ["bias"]}},
    }
    waits = "HP214 param_plan.a.deferred_bias_params"
    target = {"target": "t", "kind": "moe_ep_routed"}
    rule = {"match": "a", "local_compute_fn": "t"}
    assert found(plan) == {waits}
    assert waits not in found(plan, {"rules": [rule]})
    assert waits not in found({**plan, "injections": [None]})
    assert waits not in found(plan, {"rules": [{"match": 1, "local_compute_fn": "t"}]})
    assert waits in found(plan, {"rules": [rule], "strategies": [{**target, "target_class": "Y"}]})
    assert waits not in found(plan, {"rules": [rule], "strategies": [{**target, "target_class": 1}]})


def test_what_a_pattern_adds_is_not_known_without_all_classes() -> None:
    """A pattern looks covered by another when the module that only it matches has no class yet."""
    plan = {
        "boundary_classes": {"a.x": "X", "a.y": "Y"},
        "param_plan": {"a.x": {"is_boundary": True}, "a.y": {"is_boundary": True}},
        "injections": [{"match": ["a.y", "a.*"], "local_compute_fn": EP}],
    }
    assert "HP312 injections.0.match.0" in found(plan)
    told = found(changed(plan, ("boundary_classes", "a.x"), 3))
    assert not {text for text in told if text.startswith("HP312")}


def test_two_contracts_of_which_neither_is_broken() -> None:
    """The third module of the class is not known, and the other two differ all the same."""
    sides = {"in_src": {"x": {"tp": "S(1)"}}, "in_dst": {"x": {"tp": "R"}}}
    plan = {
        "boundary_classes": dict.fromkeys("abc", "M"),
        "param_plan": {"a": sides, "b": {**sides, "in_src": {"x": {"tp": "S(0)"}}}, "c": sides},
    }
    broken = changed(plan, ("param_plan", "c", "in_src", "x", "tp"), "shard")
    assert found(broken) == {"HP103 param_plan.c.in_src.x.tp", "HP211 param_plan.b.in_src"}
    broken = changed(plan, ("param_plan", "b", "in_src", "x", "tp"), "shard")
    assert found(broken) == {"HP103 param_plan.b.in_src.x.tp"}


def paths(data: object, path: Path = ()) -> Iterator[Path]:
    """Yield the path to each node below the top."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from paths(value, (*path, key))


NOT_ABOUT_THE_FAULT = {"HP211", "HP314"}
"""Where they are depends on what else there is: the contract most have, the first rule."""


def told(data: object) -> set[str]:
    """Return the findings apart from those about single fields, which are read off what is written."""
    return {
        text.partition(" ")[0] if text[:5] in NOT_ABOUT_THE_FAULT else text
        for text in found(data)
        if text[:3] != "HP1"
    }


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=300)
@given(SOUND, st.data(), JUNK)
def test_nothing_is_said_that_a_correction_makes_untrue(
    data: dict[str, Any], draw: st.DataObject, junk: object
) -> None:
    """Of the plan with the fault, no more is said than of the plan in which somebody corrected it."""
    places = sorted(paths(data), key=repr)
    path = draw.draw(st.sampled_from(places))
    broken = changed(data, path, junk)
    # Where the fault lies deeper than the change, what else was changed is no fault.
    if [item.place.path for item in check_plan(broken, Place("p"))] == [path]:
        assert told(broken) <= told(data)
