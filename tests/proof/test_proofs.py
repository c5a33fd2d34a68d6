"""What `hpplan prove` finds: nothing in plans that are right, and each planted fault where it was planted."""

from __future__ import annotations

from typing import Any

import pytest
from proofs import Case, prove_all

MESHES = ("tp=2,sp", "tp=2", "tp=4,sp", "tp=4")
TYPES = ("llama", "qwen2", "qwen3", "qwen3_moe", "mixtral")
"""On all of these meshes; the others on the first."""

OTHERS = ("glm4_moe", "deepseek_v2", "gpt_oss", "qwen2_moe", "qwen2_5_vl", "qwen3_vl_moe", "olmo2", "phi3")

MLP, ATTENTION = "model.layers.1.mlp", "model.layers.1.self_attn"


def _params(**layouts: str) -> dict[str, dict[str, str]]:
    return {f"{name}.weight": {"tp": placement} for name, placement in layouts.items()}


_MLP = {"gate_proj": "S(0)", "up_proj": "S(0)", "down_proj": "S(1)"}
_ATTENTION = {"q_proj": "S(0)", "k_proj": "S(0)", "v_proj": "S(0)", "o_proj": "S(1)"}

FAULTS: dict[str, tuple[tuple[tuple[str, str, Any], ...], tuple[str, ...], str]] = {
    "output without its sum": (
        ((MLP, "out_src", {"output": {"tp": "R"}}),),
        (MLP, "out_src", "output", "tp"),
        "P(sum) would be right, not R",
    ),
    "a row for a column": (
        ((ATTENTION, "params", _params(**{**_ATTENTION, "o_proj": "S(0)"})),),
        (ATTENTION, "params", "o_proj.weight", "tp"),
        "S(1) would be right, not S(0)",
    ),
    "two that changed places": (
        ((MLP, "params", _params(**{**_MLP, "gate_proj": "S(1)", "down_proj": "S(0)"})),),
        (MLP, "params", "gate_proj.weight", "tp"),
        "S(0) would be right, not S(1) and `params.down_proj.weight.tp` S(1) would be right, not S(0)",
    ),
    "input that is not gathered": (
        ((MLP, "in_dst", {"x": {"tp": "S(1)"}}),),
        (MLP, "in_dst", "x", "tp"),
        "R would be right, not S(1)",
    ),
    "no word of inputs": (
        ((MLP, "in_src", None), (MLP, "in_dst", None)),
        (MLP, "in_dst", "x", "tp"),
        "R would be right, not S(1)",
    ),
    "stripped without a strategy": (
        ((MLP, "is_boundary", False),),
        (MLP, "is_boundary"),
        "true would be right, not false",
    ),
    "whole where it should be cut": (
        ((MLP, "params", _params(**{**_MLP, "down_proj": "R"})),),
        (MLP, "params", "down_proj.weight", "tp"),
        "S(1) would be right, not R",
    ),
    "not a word of a parameter": (
        ((ATTENTION, "params", _params(**{name: _ATTENTION[name] for name in list(_ATTENTION)[1:]})),),
        (ATTENTION, "params", "q_proj.weight", "tp"),
        "S(0) would be right, not R",
    ),
    "handed on otherwise than the next takes it": (
        ((ATTENTION, "out_dst", {"output": {"tp": "R"}}),),
        (ATTENTION, "out_dst", "output", "tp"),
        "S(1) would be right, not R",
    ),
    "no word of how it arrives": (
        ((ATTENTION, "in_src", None),),
        (ATTENTION, "in_src", "hidden_states", "tp"),
        "S(1) would be right, not R",
    ),
    "taken otherwise than it arrives": (
        ((ATTENTION, "in_src", {"hidden_states": {"tp": "R"}}),),
        (ATTENTION, "in_src", "hidden_states", "tp"),
        "S(1) would be right, not R",
    ),
}

NORM = f"{ATTENTION}.q_norm"
BELOW: dict[str, tuple[tuple[tuple[str, str, Any], ...], tuple[str, ...], str]] = {
    "a norm of heads that leaves a sum": (
        ((NORM, "out_src", {"output": {"tp": "P(sum)"}}),),
        (NORM, "out_src", "output", "tp"),
        "R would be right, not P(sum)",
    ),
    "a norm of heads that is right by itself": (
        ((NORM, "out_dst", {"output": {"tp": "S(1)"}}),),
        (NORM, "out_dst", "output", "tp"),
        "R would be right, not S(1)",
    ),
}
"""Faults of qwen3, of a boundary in another one."""

MIXTURE = "model.layers.1.mlp"
SHARED = f"{MIXTURE}.shared_experts"
OF_MIXTURES: dict[str, tuple[tuple[tuple[str, str, Any], ...], tuple[str, ...], str]] = {
    "a mixture stripped without a strategy": (
        ((MIXTURE, "is_boundary", False),),
        (MIXTURE, "is_boundary"),
        "true would be right, not false",
    ),
    "a shared expert that is whole": (
        ((SHARED, "params", _params(**{**_MLP, "down_proj": "R"})),),
        (SHARED, "params", "down_proj.weight", "tp"),
        "S(1) would be right, not R",
    ),
}
"""Faults of deepseek_v3, whose shared experts are a part of the sum around them."""

NAMED = {**FAULTS, **BELOW, **OF_MIXTURES}

_IN_LAYERS = (
    "input_layernorm",
    "post_attention_layernorm",
    "self_attn",
    "self_attn.q_norm",
    "self_attn.k_norm",
)
BESIDE_MLPS = (
    *(f"model.layers.{layer}.{name}" for layer in (0, 1) for name in _IN_LAYERS),
    *("model.embed_tokens", "model.norm", "lm_head"),
)

RIGHT = {
    "sp": Case("qwen3", "tp=2,sp"),
    "no sp": Case("qwen3", "tp=2"),
    "experts": Case("qwen3_moe", "tp=2,sp"),
    "no attention": Case("deepseek_v3", "tp=2,sp"),
    "two halves of a tie": Case(
        "llama",
        "tp=2,sp",
        (
            ("lm_head", "params", {"weight": {"tp": "R"}}),
            ("lm_head", "out_src", {"output": {"tp": "R"}}),
            ("lm_head", "out_dst", {"output": {"tp": "R"}}),
        ),
    ),
    "MLPs alone": Case(
        "qwen3",
        "tp=2,sp",
        tuple((fqn, "", None) for fqn in BESIDE_MLPS),
    ),
    "half a head": Case("llama", "tp=4,sp", other={"num_key_value_heads": 2}),
}


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    """Return the reports of faults and of what is right, by their names."""
    faults = {name: Case("llama", "tp=2,sp", changes) for name, (changes, *_) in FAULTS.items()}
    below = {name: Case("qwen3", "tp=2", changes) for name, (changes, *_) in BELOW.items()}
    mixtures = {name: Case("deepseek_v3", "tp=2,sp", changes) for name, (changes, *_) in OF_MIXTURES.items()}
    cases = {**faults, **below, **mixtures, **RIGHT}
    return dict(zip(cases, prove_all(list(cases.values())), strict=True))


@pytest.mark.parametrize("name", NAMED)
def test_a_fault_is_named(reports: dict[str, dict[str, Any]], name: str) -> None:
    """Whoever reads the report looks elsewhere, or writes a placement that is wrong as well."""
    _, path, hint = NAMED[name]
    (finding,) = reports[name]["findings"]
    assert (
        finding[:-1] == ["HP251", "param_plan", *path[: len(finding) - 3]] == ["HP251", "param_plan", *path]
    )
    assert finding[-1] == f"`{'.'.join(path[1:])}` {hint}"
    assert reports[name]["proven"] is False
    wrong = [one["fqn"] for one in reports[name]["boundaries"] if one["status"] == "differs"]
    assert path[0] in wrong
    assert all(path[0].startswith(fqn) for fqn in wrong)


def test_what_is_right_is_proven(reports: dict[str, dict[str, Any]]) -> None:
    """Norms have a part of the tokens under sp, and norms of heads a part of the heads: sums over tp.

    Facts of FREEZE's prototype: logits of llama and qwen3 within 1.7e-16, and these sums alone.
    """
    norms = ["input_layernorm", "post_attention_layernorm"]
    layers = [f"model.layers.{{0,1}}.{name}.weight" for name in norms]
    heads = [f"model.layers.{{0,1}}.self_attn.{name}.weight" for name in ("q_norm", "k_norm")]
    for name, sums in (("sp", [*layers, *heads, "model.norm.weight"]), ("no sp", heads), ("experts", None)):
        report = reports[name]
        assert (report["proven"], report["findings"]) == (True, [])
        assert report["logits"] < 1e-14
        (summed,) = report["sums"]
        assert summed["axes"] == ["tp"]
        assert sums is None or sorted(summed["parameters"]) == sorted(sums)
    assert "model.layers.{0,1}.mlp.gate.weight" in reports["experts"]["sums"][0]["parameters"]


@pytest.mark.slow
def test_frozen_plans_are_proven() -> None:
    """A fault that is none costs somebody a day."""
    cases = [Case(model, mesh) for model in TYPES for mesh in MESHES]
    cases += [Case(model, MESHES[0]) for model in OTHERS]
    for case, report in zip(cases, prove_all(cases), strict=True):
        assert report["findings"] == [], case
        assert report["logits"] < 1e-6, case
        ran = [one for one in report["boundaries"] if one["status"] == "proven"]
        assert len(ran) >= (3 if case.model == "gpt_oss" else 9), case


@pytest.mark.slow
def test_normalizing_changes_nothing_that_a_plan_computes() -> None:
    """Experts are a strategy's, before normalizing as after it; all else must come out alike."""
    before, after = prove_all(
        [Case("qwen3_moe", "cp=2,tp=2,ep=4,sp", normalized=normalized) for normalized in (False, True)]
    )
    assert before == after
    assert before["proven"] is True
    assumed = {one["fqn"]: one["assumed"] for one in before["boundaries"] if one["status"] == "assumed"}
    for layer in (0, 1):
        assert "qwen3moe_ep_compute_fn" in assumed.pop(f"model.layers.{layer}.mlp")
        assert "on cp it runs on the whole sequence" in assumed.pop(f"model.layers.{layer}.self_attn")
    assert not assumed


def test_heads_that_the_mesh_cuts_are_named(reports: dict[str, dict[str, Any]]) -> None:
    """Two key-value heads on four ranks: a rank has half of one, and nothing that can be tried mends it."""
    report = reports["half a head"]
    assert report["proven"] is False
    uneven = [finding for finding in report["findings"] if finding[0] == "HP244"]
    assert {finding[4] for finding in uneven} == {"k_proj.weight", "v_proj.weight"}
    assert any("key-value heads" in said for said in report["uneven"])
    assert [one[1:3] for one in report["findings"] if one[0] == "HP251"] == [
        ["param_plan", f"model.layers.{layer}.self_attn"] for layer in (0, 1)
    ]


def test_what_no_entry_speaks_of_is_assumed(reports: dict[str, dict[str, Any]]) -> None:
    """DeepSeek-V3's attention has no rule in transformers: it runs whole, and the rest is proven."""
    report = reports["no attention"]
    assert report["proven"] is True
    assumed = [one for one in report["boundaries"] if one["status"] == "assumed"]
    assert [one["fqn"] for one in assumed] == ["model.layers.0.self_attn", "model.layers.1.self_attn"]
    assert all(one["assumed"] == "the plan does not cover it" for one in assumed)


def test_modules_that_a_plan_leaves_out_run_whole(reports: dict[str, dict[str, Any]]) -> None:
    """Whoever writes a plan by hand begins with MLPs: an embedding is given ids that nothing splits."""
    report = reports["MLPs alone"]
    assert (report["proven"], report["findings"]) == (True, [])
    proven = [one["fqn"] for one in report["boundaries"] if one["status"] == "proven"]
    assert proven == ["model.layers.0.mlp", "model.layers.1.mlp"]


def test_a_model_that_is_not_the_sum_of_its_modules(reports: dict[str, dict[str, Any]]) -> None:
    """Head and embedding are one parameter here: each is right by itself, cut by rows and whole."""
    report = reports["two halves of a tie"]
    assert [one["status"] for one in report["boundaries"]] == ["proven"] * 11
    assert report["proven"] is False
    ((code, *_, hint),) = report["findings"]
    assert (code, hint) == ("HP252", "look at what one module hands on and the next one takes")
