"""Boundary forms and the collectives of each side, over the active axes."""

from __future__ import annotations

from typing import Any

import pytest

from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.inspection.forms import Form, Forms, Redistribution
from hpplan.inspection.subject import Subject
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet, load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable
from hpplan.routing.mesh import parse_mesh

Layout = dict[str, str]


def subject_of(
    entry: dict[str, Any], rules: str | None = None, mesh: str | None = None, **fields: object
) -> Subject:
    """Return the subject of a plan with one boundary, at `m` of class M."""
    plan = Plan({"boundary_classes": {"m": "M"}, "param_plan": {"m": entry}, **fields}, Place("p"))
    loaded = load_rules(parse_document(rules.encode(), "r")) if rules else RuleSet(())
    table = StrategyTable(BUILT_IN, loaded.strategies)
    return Subject(plan, loaded, table, mesh=parse_mesh(mesh) if mesh else None)


def form_of(subject: Subject) -> Form:
    """Return the form of the boundary at `m`."""
    return Forms(subject).form("m", subject.plan.param_plan["m"])


def out(before: Layout, after: Layout) -> dict[str, Any]:
    """Return an entry that redistributes one output."""
    return {"out_src": {"y": before}, "out_dst": {"y": after}, "is_boundary": True}


@pytest.mark.parametrize(
    ("before", "after", "form", "operation", "what"),
    [
        ({"tp": "S(1)"}, {"tp": "R"}, "tp_collective", "all-gather", "dim 1"),
        ({"tp": "S(-1)"}, {}, "tp_collective", "all-gather", "dim 0 uneven"),
        ({"tp": "P(sum)"}, {"tp": "R"}, "tp_collective", "all-reduce", ""),
        ({"tp": "P(sum)"}, {"tp": "S(2)"}, "tp_collective", "reduce-scatter", "dim 2"),
        ({"tp": "P(avg)"}, {"tp": "R"}, "generic", "all-reduce", "avg"),
        ({"tp": "P(max)"}, {"tp": "S(1)"}, "generic", "reduce-scatter", "max dim 1"),
        ({"tp": "R"}, {"tp": "S(1)"}, "generic", "slice", "dim 1"),
        ({"tp": "S(0)"}, {"tp": "S(1)"}, "generic", "all-to-all", "dim 0 to dim 1"),
        ({"tp": "SS(0,2)"}, {"tp": "R"}, "generic", "redistribute", "SS(0,2) to R"),
        ({"tp": "R"}, {"tp": "P(sum)"}, "generic", "redistribute", "R to P(sum)"),
        ({"cp": "S(1)"}, {"cp": "R"}, "generic", "all-gather", "dim 1"),
        ({"ep": "S(0)"}, {"ep": "R"}, "generic", "all-gather", "dim 0"),
    ],
)
def test_one_change(before: Layout, after: Layout, form: Form, operation: str, what: str) -> None:
    """A change that is named wrongly would be costed, and wrapped, as another collective."""
    entry = out(before, after)
    subject = subject_of(entry, mesh_dim_names=["cp", "tp"])
    (axis,) = before
    assert Forms(subject).steps(entry) == [
        Redistribution("out", "y", axis, operation, what, before[axis], after.get(axis, "R"))
    ]
    assert form_of(subject) == form


def test_nothing_changes() -> None:
    """A missing axis is `R`, so these are the same placements."""
    entry = out({"cp": "S(1)", "tp": "R"}, {"cp": "S(1)"})
    assert form_of(subject_of(entry, mesh_dim_names=["cp", "tp"])) == "identity"


def test_a_change_beside_tp_is_generic() -> None:
    """Only a boundary where tp alone changes is one of the three collectives."""
    entry = out({"cp": "S(1)", "tp": "S(1)"}, {"tp": "R"})
    assert form_of(subject_of(entry, mesh_dim_names=["cp", "tp"])) == "generic"
    assert form_of(subject_of(entry, mesh_dim_names=["tp"])) == "tp_collective"


def test_without_an_active_axis_only_ep_counts() -> None:
    """On one rank there is nothing to redistribute, unless experts really move."""
    assert form_of(subject_of(out({"tp": "S(1)"}, {"tp": "R"}), mesh_dim_names=[])) == "identity"
    assert form_of(subject_of(out({"ep": "S(0)"}, {"ep": "S(0)"}), mesh_dim_names=[])) == "identity"
    assert form_of(subject_of(out({"ep": "S(0)"}, {"ep": "R"}), mesh_dim_names=[])) == "generic"


@pytest.mark.parametrize(
    ("fields", "mesh", "axes"),
    [
        ({"mesh_dim_names": ["cp"], "parallel_dims": {"tp_size": 2}}, "dp=2,tp=4,cp=1", {"dp", "tp"}),
        ({"mesh_dim_names": ["cp"], "parallel_dims": {"tp_size": 2}}, None, {"cp"}),
        ({"parallel_dims": {"tp_size": 2, "cp_size": 1, "ep_size": 8}}, None, {"tp"}),
        ({}, None, {"tp", "cp"}),
    ],
)
def test_where_active_axes_come_from(fields: dict[str, Any], mesh: str | None, axes: set[str]) -> None:
    """The mesh wins over the plan's names, those over its sizes; then every axis that is named counts."""
    entry = out({"tp": "S(1)", "ep": "S(0)"}, {"cp": "S(1)"})
    assert subject_of(entry, mesh=mesh, **fields).active_axes == axes


def test_local_compute_is_a_region() -> None:
    """Whatever its placements are, a region decides on its own communication."""
    entry = out({"tp": "S(1)"}, {"tp": "R"})
    rules = "rules: [{match: '*', local_compute_fn: mycompany.f}]\n"
    strategy = "strategies: [{target: mycompany.f, kind: moe_ep_routed, target_class: %s}]\n"
    assert form_of(subject_of({**entry, "region_dispatch": True})) == "region"
    assert form_of(subject_of(entry, rules)) == "region"
    assert form_of(subject_of(entry, rules + strategy % "M")) == "region"
    assert form_of(subject_of(entry, rules + strategy % "Other")) == "tp_collective"


def test_an_inner_wrapper_is_generic() -> None:
    """The wrapper inside changes what the boundary would have to do outside."""
    entry = out({"tp": "S(1)"}, {"tp": "R"})
    rule = "rules: [{match: m, when: %s, inner_wrapper: hyper_parallel.models.a.adapter.w}]\n"
    dims = {"cp_size": 2, "tp_size": 2}
    assert form_of(subject_of(entry, rule % "cp", parallel_dims=dims)) == "generic"
    assert form_of(subject_of(entry, rule % "ep", parallel_dims=dims)) == "tp_collective"


def test_one_sided_tensors_are_left_alone() -> None:
    """Of a redistribution with one end, nobody knows the other."""
    entry = {"in_src": {"x": {"tp": "S(1)"}}, "is_boundary": True}
    assert form_of(subject_of(entry)) == "identity"
