"""A fault in the schema hides nothing that is true whatever it is corrected to, and nothing else is said."""

from __future__ import annotations

import json
from pathlib import Path as File
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from handmade_models import handmade_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_documents import JUNK, MESHES, MODEL, random_documents

from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.errors import InvalidInput
from hpplan.plan.model import Plan, check_plan
from hpplan.plan.rules import load_rules, rules_of_plan
from hpplan.plan.strategies import load_strategies
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hpplan.diagnostics import Diagnostic, Path
    from hpplan.models.facts import ModelFacts

    Documents = dict[str, Any]

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


def found(data: object, rules: object = None, strategies: object = None) -> set[str]:
    """Return code and path of each finding, whether it blocks or not."""
    run = CheckRun()
    if rules is not None:
        run.use_rules(parse_document(json.dumps(rules).encode(), "r"))
    if strategies is not None:
        run.use_strategies(parse_document(json.dumps(strategies).encode(), "s"))
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


def test_a_broken_strategy_hides_no_other() -> None:
    """A file with one mistyped field may have other strategies that clash."""
    one = {"target": "t", "kind": "moe_ep_routed"}
    strategies = [{**one, "target_class": 1}, one, {"target": "u"}, one, {**one, "kind": "odd"}]
    expected = {
        "HP102 strategies.0.target_class",
        "HP101 strategies.2",
        "HP306 strategies.3.target",
        "HP306 strategies.4.target",
        "HP319 strategies.4.kind",
    }
    assert found({"strategies": strategies}) == expected
    rules = [{"match": 1, "local_compute_fn": "t"}, {"match": "a"}]
    also = {"HP102 rules.0.match", "HP101 rules.1"}
    assert found({"rules": rules, "strategies": strategies}) == expected | also
    assert found({"rules": 1, "strategies": strategies}) == expected | {"HP102 rules"}


def test_what_depends_on_broken_strategies_is_not_said() -> None:
    """A target looks unresolved only because the strategy that has it was not read."""
    rules = {
        "rules": [{"match": "a", "local_compute_fn": "t"}, {"match": "zzz", "local_compute_fn": "u"}],
    }
    unresolved = {"HP301 rules.0.local_compute_fn", "HP301 rules.1.local_compute_fn"}
    unmatched = {"HP302 rules.1"}
    assert found(PLAN, rules) == OTHERS | {ONE_SIDED} | unresolved | unmatched
    broken = {"strategies": [{"target": 3, "kind": "moe_ep_routed"}]}
    assert found(PLAN, rules, broken) == OTHERS | {ONE_SIDED, "HP102 strategies.0.target"}
    assert found(rules) == unresolved
    assert found(rules, None, broken) == {"HP102 strategies.0.target"}
    # One that is in order may still give way to the broken one.
    sound = {"strategies": [{"target": "t", "kind": "moe_ep_routed"}]}
    assert found(rules, None, sound) == {"HP301 rules.1.local_compute_fn"}


def test_a_target_that_is_none_overrides_nothing() -> None:
    """Whether two spellings agree is not known before both name something."""
    both = {"match": "a", "local_compute_fn": {}, "local_compute_target": EP}
    assert found({"rules": [both]}) == {"HP101 rules.0.local_compute_fn"}
    both = {"match": "a", "local_compute_fn": EP, "local_compute_target": 3}
    assert found({"rules": [both]}) == {"HP102 rules.0.local_compute_target"}


def test_a_record_that_matches_by_something_else_names_nothing() -> None:
    """With rules from a file, the plan's own records are looked at for names alone."""
    plan = {**PLAN, "injections": [{"match": {"pattern": "zzz"}}, {"match": ["a", 1]}, {"match": "zzz"}]}
    assert found(plan, {"rules": []}) == OTHERS | {ONE_SIDED, "HP203 injections.2.match"}


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


WHERE_THEY_ARE_DEPENDS = {"HP211", "HP215", "HP314", *(f"HP24{number}" for number in range(7))}
"""Their place depends on what else there is: the contract most have, the first of some modules or rules."""

ABOUT_SHAPE = {"HP304", "HP305", "HP306"}
"""Findings about single fields and records, as those of HP1xx are: they are read off what is written."""


def told(documents: Documents, mesh: str | None, model: ModelFacts | None = MODEL) -> set[str]:
    """Return code, document and path of the findings that look at more than one field."""
    found = set()
    for item in run_of(documents, mesh, model):
        if item.code.id[:3] != "HP1" and item.code.id not in ABOUT_SHAPE:
            path = () if item.code.id in WHERE_THEY_ARE_DEPENDS else (item.place.document, *item.place.path)
            found.add(" ".join(map(str, (item.code.id, *path))))
    return found


def run_of(documents: Documents, mesh: str | None, model: ModelFacts | None) -> list[Diagnostic]:
    """Check a plan with rules and strategies, and the rules by themselves."""
    read = {name: parse_document(json.dumps(data).encode(), name) for name, data in documents.items()}
    run = CheckRun(mesh=parse_mesh(mesh) if mesh else None, model=model)
    if "rules" in read:
        run.use_rules(read["rules"])
    if "strategies" in read:
        run.use_strategies(read["strategies"])
    for name, document in read.items():
        if name != "strategies":
            run.check(document)
    run.finish()
    return [*run.blocking, *run.findings]


def faults(documents: Documents) -> list[tuple[str, Path]]:
    """Return document and path of everything that does not load."""
    plan = Plan(documents["plan"], Place("plan"))
    found = list(check_plan(documents["plan"], plan.place))
    loads: dict[str, Callable[[Any], object]] = {"rules": load_rules, "strategies": load_strategies}
    for name, load in loads.items():
        if name in documents:
            found += problems_of(load, parse_document(json.dumps(documents[name]).encode(), name))
    if not found:
        found += problems_of(rules_of_plan, plan)
    return [(item.place.document, item.place.path) for item in found]


def problems_of(load: Callable[[Any], object], argument: object) -> tuple[Diagnostic, ...]:
    """Return why something does not load."""
    try:
        load(argument)
    except InvalidInput as failure:
        return failure.diagnostics
    return ()


def without(data: Any, path: Path) -> Any:  # noqa: ANN401 - document data
    """Return data without a key of a mapping."""
    *above, last = path
    mapping = data
    for key in above:
        mapping = mapping[key]
    return changed(data, tuple(above), {key: value for key, value in mapping.items() if key != last})


def broken_somewhere(random: Random, documents: Documents) -> tuple[Documents, str, Path] | None:
    """Return documents with junk at one place, and where; None where that is no fault, or one elsewhere."""
    name = random.choice(sorted(documents))
    data = documents[name]
    top = random.choice(sorted(data))
    path = random.choice([path for path in paths(data) if path[0] == top])
    # Without its rules, a rules file would be a document of another kind.
    if isinstance(path[-1], str) and random.random() < 0.2 and (name == "plan" or len(path) > 1):
        broken, fault = {**documents, name: without(data, path)}, path[:-1]
    else:
        broken, fault = {**documents, name: changed(data, path, random.choice(JUNK))}, path
    # Where the fault lies deeper than the change, what else was changed is no fault.
    return (broken, name, fault) if set(faults(broken)) == {(name, fault)} else None


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), max_examples=200)
@given(st.randoms(use_true_random=True))
def test_nothing_is_said_that_a_correction_makes_untrue(random: Random) -> None:
    """Of documents with a fault, no more is said than of those in which somebody corrected it."""
    documents, mesh = random_documents(random), random.choice(MESHES)
    if faults(documents):
        return
    before = told(documents, mesh)
    for _ in range(6):
        broken = broken_somewhere(random, documents)
        if broken is not None:
            assert told(broken[0], mesh) <= before, (documents, *broken[1:], broken[0], mesh)


CASES = [
    pytest.param(case, id=f"{file.stem}: {case['title']}")
    for file in sorted((File(__file__).parents[1] / "cases" / "checks").glob("*.yaml"))
    for case in yaml.safe_load(file.read_text(encoding="utf-8"))
    if "files" not in case
]


@pytest.mark.parametrize("case", CASES)
def test_a_case_that_is_broken_somewhere(case: dict[str, Any]) -> None:
    """A check's `READS` leaves something out, so that a fault there has it say what is not true."""
    names = [name for name in ("plan", "rules", "strategies") if name in case]
    documents = {name: parse_document(case[name].encode(), name).data for name in names}
    mesh, model = case.get("mesh"), handmade_model(case["model"]) if "model" in case else None
    if faults(documents):
        return
    before = told(documents, mesh, model)
    random = Random(case["title"])  # noqa: S311 - no secret
    for _ in range(20):
        broken = broken_somewhere(random, documents)
        if broken is not None:
            assert told(broken[0], mesh, model) <= before, broken[1:]
