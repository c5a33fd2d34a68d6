"""Frozen plans: those of the samples, and what is easily got wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from model_configs import SMALL, WITH_EXPERTS, facts

from hpplan.checks.experts_without_rule import EXPERTS_WITHOUT_RULE
from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_yaml
from hpplan.errors import InvalidInput
from hpplan.models.codes import NO_PARALLEL_PLAN
from hpplan.models.freeze import Frozen, freeze
from hpplan.passes.pipeline import normalize
from hpplan.plan.model import KEY_ORDER, Plan
from hpplan.plan.rules import RuleSet
from hpplan.plan.strategies import BUILT_IN, StrategyTable
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.run import CheckRun

SAMPLES = Path(__file__).parents[2] / "sample_plans"

MESHES = ("tp=4,sp", "tp=4", "cp=2,tp=2,sp", "dp=4")
CASES = [
    *((name, mesh) for name in SMALL for mesh in MESHES),
    *((name, mesh) for name in WITH_EXPERTS for mesh in ("cp=2,tp=4,ep=8,sp", "dp=4,ep=4")),
]


def frozen(name: str, mesh: str, **other: Any) -> Frozen:  # noqa: ANN401 - values of the configuration
    """Freeze a model."""
    return freeze(facts(name, **other), parse_mesh(mesh), Place("config.json"))


def entries(name: str, mesh: str, **other: Any) -> dict[str, Any]:  # noqa: ANN401 - the same
    """Return the entries of a frozen plan."""
    found: dict[str, Any] = frozen(name, mesh, **other).data["param_plan"]
    return found


def contract(entry: dict[str, Any]) -> dict[str, str]:
    """Return what an entry says along tp, side by side: `x: S(1) to R`."""
    found = {}
    for side in ("in", "out"):
        for tensor, before in entry.get(f"{side}_src", {}).items():
            found[tensor] = f"{before['tp']} to {entry[f'{side}_dst'][tensor]['tp']}"
    return found


@pytest.mark.parametrize(
    ("mesh", "styles", "said"),
    [
        ("tp=2", {}, "no tensor-parallel plan for LlamaForCausalLM"),
        ("dp=4", {}, "no tensor-parallel plan for LlamaForCausalLM"),  # nothing would be left to write
        ("dp=4,ep=4", {"model.layers.*.mlp.up_proj": "colwise"}, "no expert-parallel plan for Llama"),
    ],
)
def test_placements_are_not_guessed(mesh: str, styles: dict[str, str], said: str) -> None:
    """A plan of a model that transformers has none for says nothing, or something that nobody knows."""
    model = replace(facts("llama"), tp_styles=styles, ep_styles={})
    with pytest.raises(InvalidInput, match=said) as failure:
        freeze(model, parse_mesh(mesh), Place("config.json"))
    assert [item.code for item in failure.value.diagnostics] == [NO_PARALLEL_PLAN]


@pytest.mark.parametrize("name", ["qwen3_moe_30b_a3b", "qwen3_vl_30b_a3b"])
def test_the_samples_entry_by_entry(name: str) -> None:
    """The samples were written by hand; a plan that differs in an entry shards a weight another way."""
    wanted = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    sizes = ",".join(f"{axis}={wanted['parallel_dims'][f'{axis}_size']}" for axis in ("dp", "cp", "tp", "ep"))
    found = frozen(name, f"{sizes},sp").data
    assert len(found["param_plan"]) == 291
    wanted.pop("feature_exchange", None)
    assert {field: found.get(field) for field in wanted} == wanted


@pytest.mark.parametrize(("name", "mesh"), CASES)
def test_plans_pass_every_check_also_when_they_are_normalized(name: str, mesh: str) -> None:
    """A plan that hpplan itself finds fault with is none to start from."""
    data = frozen(name, mesh).data
    plan = parse_document(dump_yaml(data, KEY_ORDER).encode(), "plan.yaml")
    done = normalize(Plan(plan.data, plan.place), RuleSet(()), StrategyTable(BUILT_IN)).plan
    normalized = parse_document(dump_yaml(dict(done.data), KEY_ORDER).encode(), "normalized.yaml")
    run = CheckRun(model=facts(name))
    run.check(plan)
    run.check(normalized)
    run.finish()
    # Which strategy runs the experts, no model says: the rules are for whoever has the plan.
    assert [one for one in (*run.blocking, *run.findings) if one.code is not EXPERTS_WITHOUT_RULE] == []


def test_a_dense_model() -> None:
    """Each boundary of a layer, with the tensors as its forward calls them."""
    found = entries("llama", "tp=4,sp")
    layer = {fqn: contract(found[f"model.layers.0.{fqn}"]) for fqn in ("self_attn", "mlp", "input_layernorm")}
    assert layer == {
        "self_attn": {"hidden_states": "S(1) to R", "output": "P(sum) to S(1)"},
        "mlp": {"x": "S(1) to R", "output": "P(sum) to S(1)"},
        "input_layernorm": {"hidden_states": "S(1) to S(1)", "output": "S(1) to S(1)"},
    }
    assert found["model.layers.0.mlp"]["params"] == {
        "gate_proj.weight": {"tp": "S(0)"},
        "up_proj.weight": {"tp": "S(0)"},
        "down_proj.weight": {"tp": "S(1)"},
    }
    ends = {fqn: contract(found[fqn]) for fqn in ("model.embed_tokens", "lm_head")}
    assert ends == {
        "model.embed_tokens": {"input": "R to R", "output": "P(sum) to S(1)"},
        "lm_head": {"input": "S(1) to R", "output": "S(2) to S(2)"},
    }


def test_without_sequence_parallelism_layers_hand_on_whole_tensors() -> None:
    """An output that is scattered where nobody gathers it is a part of the sequence."""
    found = {contract(entry)["output"].partition(" to ")[2] for entry in entries("llama", "tp=4").values()}
    assert found == {"R", "S(2)"}


def test_whole_logits_are_asked_for() -> None:
    """A loss that is not parallel needs the whole vocabulary."""
    found = freeze(facts("llama"), parse_mesh("tp=4,sp"), Place(""), gather_logits=True).data["param_plan"]
    assert contract(found["lm_head"])["output"] == "S(2) to R"


def test_without_axes_nothing_is_placed() -> None:
    """Data parallelism is outside the plan: a placement along an axis of size one is along none."""
    entry = entries("llama", "dp=4")["model.layers.0.mlp"]
    assert entry["params"]["up_proj.weight"] == entry["in_src"]["x"] == entry["out_dst"]["output"] == {}


def test_biases() -> None:
    """A bias of columns is cut with them; one of rows is added once, after the sum."""
    entry = entries("llama", "tp=4", attention_bias=True)["model.layers.0.self_attn"]
    assert {name: layout for name, layout in entry["params"].items() if name.endswith("bias")} == {
        "q_proj.bias": {"tp": "S(0)"},
        "k_proj.bias": {"tp": "S(0)"},
        "v_proj.bias": {"tp": "S(0)"},
        "o_proj.bias": {"tp": "R"},
    }
    assert entry["deferred_bias_params"] == ["o_proj.bias"]
    assert (
        "deferred_bias_params"
        not in entries("llama", "cp=4", attention_bias=True)["model.layers.0.self_attn"]
    )


def test_experts_that_are_cut() -> None:
    """Gate and up are packed in one weight, so that each half is cut; the router is whole."""
    entry = entries("mixtral", "tp=4,sp")["model.layers.0.mlp"]
    assert entry["params"] == {
        "experts.gate_up_proj": {"tp": "SS(1,2)"},
        "experts.down_proj": {"tp": "S(2)"},
        "gate.weight": {"tp": "R"},
    }
    assert contract(entry) == {"hidden_states": "S(1) to R", "output": "P(sum) to S(1)"}


def test_experts_that_are_spread() -> None:
    """Their tokens travel, so nothing is gathered for them, and the class orchestrates itself."""
    found = frozen("mixtral", "tp=4,ep=4,sp").data
    entry = found["param_plan"]["model.layers.0.mlp"]
    assert entry["params"]["experts.gate_up_proj"] == entry["params"]["experts.down_proj"] == {"ep": "S(0)"}
    assert contract(entry) == {"hidden_states": "S(1) to S(1)", "output": "S(1) to S(1)"}
    assert found["external_state_classes"] == ["MixtralSparseMoeBlock"]


def test_experts_whose_weights_are_the_other_way_round() -> None:
    """Those of gpt_oss are [expert, in, out], and transformers cuts them along no other dimension."""
    spread = frozen("gpt_oss", "tp=4,ep=4").data
    params = spread["param_plan"]["model.layers.0.mlp"]["params"]
    assert {name for name, layout in params.items() if layout == {"ep": "S(0)"}} == {
        "experts.gate_up_proj",
        "experts.gate_up_proj_bias",
        "experts.down_proj",
        "experts.down_proj_bias",
    }
    assert spread["not_covered"] == [f"model.layers.{layer}.self_attn" for layer in (0, 1)]
    assert frozen("gpt_oss", "tp=4").data["not_covered"] == ["model.layers"]


def test_shared_experts_are_part_of_the_sum_of_the_experts_around_them() -> None:
    """Added up on their own they would count once more on each rank; layer 0 has an MLP of their class."""
    found = frozen("deepseek_v3", "tp=4,sp").data
    plan = found["param_plan"]
    shared = plan["model.layers.1.mlp.shared_experts"]
    assert shared["is_boundary"] is False
    assert contract(shared) == {}
    assert "model.layers.1.mlp.shared_experts" not in found["boundary_classes"]
    assert contract(plan["model.layers.1.mlp"])["output"] == "P(sum) to S(1)"
    assert plan["model.layers.0.mlp"]["skip_source_lowering"] is True
    spread = entries("deepseek_v3", "tp=4,ep=4,sp")
    assert contract(spread["model.layers.1.mlp.shared_experts"])["output"] == "P(sum) to S(1)"
    assert "skip_source_lowering" not in spread["model.layers.0.mlp"]


def test_a_shared_expert_that_is_not_cut_is_not_part_of_a_sum() -> None:
    """That of Qwen2-MoE is whole on each rank: the experts add up before it joins them."""
    found = entries("qwen2_moe", "tp=4,sp")
    block, experts = (found[f"model.layers.0.mlp{below}"] for below in ("", ".experts"))
    assert contract(block) == {"hidden_states": "S(1) to R", "output": "R to S(1)"}
    assert contract(experts) == {"output": "P(sum) to R"}
    assert block["params"]["shared_expert.down_proj.weight"] == {"tp": "R"}


def test_leaves_that_gather_and_split() -> None:
    """Phi-3 slices what its packed projections give, so they are gathered where they end."""
    found = entries("phi3", "tp=4,sp")
    contracts = {
        below: contract(found[f"model.layers.0.self_attn{below}"]) for below in ("", ".qkv_proj", ".o_proj")
    }
    assert contracts == {
        "": {"hidden_states": "S(1) to R", "output": "R to S(1)"},
        ".qkv_proj": {"output": "S(2) to R"},
        ".o_proj": {"input": "R to S(2)", "output": "P(sum) to R"},
    }
    # They are of the class of lm_head, and of one contract each.
    assert {found[fqn].get("skip_source_lowering") for fqn in found if "proj" in fqn or fqn == "lm_head"} == {
        True
    }


def test_what_transformers_has_no_rule_for_is_left_out() -> None:
    """An attention or a vision tower that is guessed at trains on something else than the model."""
    left_out = {
        name: frozen(name, "tp=4,sp").left_out for name in ("deepseek_v3", "qwen3_vl_moe", "qwen2_5_vl")
    }
    why = "transformers has no rule for"
    assert left_out == {
        "deepseek_v3": {f"model.layers.{layer}.self_attn": why for layer in (0, 1)},
        "qwen3_vl_moe": {"model.visual": why},
        "qwen2_5_vl": {"model.visual": why},
    }


def test_tied_weights_are_a_pair() -> None:
    """Two names of one weight that nobody ties are trained as two."""
    assert frozen("llama", "tp=4").data["tied_pairs"] == [["lm_head.weight", "model.embed_tokens.weight"]]
    assert "tied_pairs" not in frozen("qwen2", "tp=4").data


def test_axes_are_named_in_the_order_of_the_mesh() -> None:
    """Groups are built in the order that the plan gives, and `tp` need not be the innermost."""
    data = frozen("llama", "dp=2,tp=4,cp=2,sp").data
    assert data["mesh_dim_names"] == ["dp", "tp", "cp"]
    assert data["parallel_dims"] == {
        "dp_size": 2,
        "cp_size": 2,
        "tp_size": 4,
        "ep_size": 1,
        "pp_size": 1,
        "sequence_parallel": True,
    }
