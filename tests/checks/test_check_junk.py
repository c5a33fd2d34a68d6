"""Whatever a document holds, the checks, reports and comparisons find words for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpplan.comparison.plans import compare_plans
from hpplan.documents.reader import Document, parse_document
from hpplan.documents.source import Sources
from hpplan.errors import InvalidInput
from hpplan.plan.model import ENTRY_FIELDS, TOP_LEVEL_FIELDS, load_plan
from hpplan.plan.rules import RULE
from hpplan.reports.changes.diff import render_text
from hpplan.reports.explain.fqn import render as explain_fqn
from hpplan.reports.explain.plan import render as explain_plan
from hpplan.reports.findings.formats import FORMATS, renderer
from hpplan.reports.terminal.screen import Screen
from hpplan.validation.kinds import kind_of_document
from hpplan.validation.run import CheckRun

NAMES = st.sampled_from(
    ["a", "a.b", "a.b.c", "l.0.mlp", "l.1.mlp", "*", "a.*", "[", "", "é\x1b", "tp", "ep", "x"]
)
PLACEMENTS = st.sampled_from(["R", "S(0)", "S(-1)", "S(1)", "SS(0,2)", "P(sum)", "P(avg)"])
LAYOUT = st.dictionaries(st.sampled_from(["tp", "cp", "ep", "dp", "tpp"]), PLACEMENTS, max_size=3)
LAYOUTS = st.dictionaries(st.sampled_from(["x", "y", "mask"]), LAYOUT, max_size=2)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | NAMES | PLACEMENTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("params", "in_src", "in_dst", "out_src", "out_dst"), LAYOUTS),
        **dict.fromkeys(
            ("out_names", "tp_divide_attrs", "deferred_bias_params"), st.lists(NAMES, max_size=2)
        ),
        **dict.fromkeys(("is_boundary", "region_dispatch", "skip_source_lowering"), st.booleans()),
    },
)
RECORD = st.dictionaries(st.sampled_from(["match", "fqn", *RULE.names]), NAMES, max_size=3)
SOUND = st.fixed_dictionaries(
    {
        "param_plan": st.dictionaries(NAMES, ENTRY, max_size=4),
        "boundary_classes": st.dictionaries(NAMES, st.sampled_from(["A", "B"]), max_size=4),
    },
    optional={
        "mesh_dim_names": st.lists(st.sampled_from(["tp", "cp", "dp"]), max_size=3),
        "parallel_dims": st.dictionaries(
            st.sampled_from(["tp_size", "ep_size", "dp_size"]), st.integers(1, 4)
        ),
        "external_state_classes": st.lists(st.sampled_from(["A", "B"]), max_size=1),
        "injections": st.lists(RECORD, max_size=2),
        "module_overrides": st.lists(RECORD, max_size=2),
        "special_handlers": st.dictionaries(NAMES, JUNK, max_size=2),
        "outputs": st.dictionaries(NAMES, JUNK, max_size=2),
        "tied_pairs": st.lists(NAMES | st.lists(NAMES) | st.dictionaries(NAMES, JUNK), max_size=2),
        "frozen_sharded_params": st.lists(NAMES, max_size=2),
        "feature_exchange": st.dictionaries(NAMES | st.sampled_from(["items", "sequence"]), JUNK, max_size=3),
    },
)
BROKEN = st.dictionaries(
    st.sampled_from([*TOP_LEVEL_FIELDS, "rules", "plan_overrides", "strategies", "hpplan_routes", "items"]),
    JUNK
    | st.dictionaries(NAMES, st.dictionaries(st.sampled_from(ENTRY_FIELDS), JUNK, max_size=2), max_size=2),
    max_size=4,
)
QUICK = settings(max_examples=150)


def read(data: dict[str, Any], sources: Sources) -> Document:
    """Read data as the document that a file with it would be."""
    return parse_document(json.dumps(data).encode(), "d.json", sources)


@QUICK
@given(SOUND | BROKEN)
def test_no_document_breaks_the_checks(data: dict[str, Any]) -> None:
    """A traceback for bad input hides what is wrong with it."""
    sources = Sources()
    document = read(data, sources)
    for step in ("check", "use_rules", "use_strategies"):
        run = CheckRun()
        getattr(run, step)(document)
        run.finish()
        for name in FORMATS:
            text = renderer(name)([*run.blocking, *run.findings], sources)
            assert "\x1b" not in text


@pytest.mark.slow
@QUICK
@given(SOUND, SOUND)
def test_no_plan_breaks_explain_and_diff(one: dict[str, Any], other: dict[str, Any]) -> None:
    """A plan that loads can be explained and compared."""
    sources = Sources()
    plans = [load_plan(read(data, sources)) for data in (one, other)]
    for plan in plans:
        try:
            subject = CheckRun().subject(plan)
        except InvalidInput:
            continue
        assert "\x1b" not in explain_plan(subject, Screen())
        for fqn in plan.param_plan:
            assert explain_fqn(subject, fqn, sources)
    comparison = compare_plans(*plans)
    assert comparison.equal == (render_text("a", "b", comparison) == "")
    assert compare_plans(plans[0], plans[0]).equal


@QUICK
@given(BROKEN)
def test_every_document_has_a_kind(data: dict[str, Any]) -> None:
    """A document without a kind would not be checked at all."""
    assert kind_of_document(data) in {"plan", "rules", "strategies", "workload", "routes"}
