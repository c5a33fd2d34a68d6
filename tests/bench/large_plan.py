"""The large plan that speed is measured on: DeepSeek-V3's 61 layers with each of its 256 experts a module.

15,153 entries. Layers 0 to 2 are dense; each of the other 58 has a mixture of
experts, whose experts are boundaries of their own, and a rule of its own.
"""

from __future__ import annotations

from typing import Any

LAYERS = 61
DENSE_LAYERS = 3
EXPERTS = 256

EP_TARGET = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"

_REPLICATED = {"cp": "R", "tp": "R"}
_COLUMN_WISE = {"cp": "R", "tp": "S(0)"}
_ROW_WISE = {"cp": "R", "tp": "S(1)"}
_SPLIT = {"cp": "S(1)", "tp": "S(1)"}
_WHOLE = {"cp": "S(1)", "tp": "R"}
_PENDING = {"cp": "S(1)", "tp": "P(sum)"}


def large_plan(layers: int = LAYERS, experts: int = EXPERTS) -> dict[str, Any]:
    """Return the plan as fresh data, without shared nodes, as a reader would return it."""
    classes = {"model.embed_tokens": "Embedding"}
    entries: dict[str, Any] = {
        "model.embed_tokens": _entry({"weight": _COLUMN_WISE}, (_WHOLE, _WHOLE, _PENDING, _SPLIT))
    }
    for layer in range(layers):
        _add_layer(f"model.layers.{layer}", classes, entries, experts if layer >= DENSE_LAYERS else 0)
    classes["model.norm"] = "DeepseekV3RMSNorm"
    entries["model.norm"] = _norm()
    classes["lm_head"] = "Linear"
    entries["lm_head"] = _entry({"weight": _COLUMN_WISE}, (_SPLIT, _WHOLE, _WHOLE, _WHOLE))
    return {
        "model_type": "deepseek_v3",
        "mesh_dim_names": ["cp", "tp"],
        "parallel_dims": {
            "dp_size": 1,
            "cp_size": 2,
            "tp_size": 8,
            "ep_size": 16,
            "pp_size": 1,
            "sequence_parallel": True,
        },
        "external_state_classes": ["DeepseekV3MoE"],
        "boundary_classes": classes,
        "param_plan": entries,
    }


def large_rules(layers: int = LAYERS) -> list[dict[str, Any]]:
    """Return one rule for each layer with a mixture of experts, as HyperParallel freezes them."""
    return [
        {"match": f"model.layers.{layer}.mlp", "local_compute_fn": {"_target_": EP_TARGET}}
        for layer in range(DENSE_LAYERS, layers)
    ]


def _add_layer(layer: str, classes: dict[str, str], entries: dict[str, Any], experts: int) -> None:
    attention = {
        "q_b_proj.weight": _COLUMN_WISE,
        "kv_b_proj.weight": _COLUMN_WISE,
        "o_proj.weight": _ROW_WISE,
    }
    classes[f"{layer}.input_layernorm"] = "DeepseekV3RMSNorm"
    entries[f"{layer}.input_layernorm"] = _norm()
    classes[f"{layer}.self_attn"] = "DeepseekV3Attention"
    entries[f"{layer}.self_attn"] = _entry(attention, (_SPLIT, _WHOLE, _PENDING, _SPLIT))
    classes[f"{layer}.post_attention_layernorm"] = "DeepseekV3RMSNorm"
    entries[f"{layer}.post_attention_layernorm"] = _norm()
    if not experts:
        classes[f"{layer}.mlp"] = "DeepseekV3MLP"
        entries[f"{layer}.mlp"] = _mlp()
        return
    classes[f"{layer}.mlp"] = "DeepseekV3MoE"
    entries[f"{layer}.mlp"] = _entry({"gate.weight": _REPLICATED}, (_SPLIT, _SPLIT, _SPLIT, _SPLIT))
    classes[f"{layer}.mlp.shared_experts"] = "DeepseekV3MLP"
    entries[f"{layer}.mlp.shared_experts"] = _mlp()
    for expert in range(experts):
        classes[f"{layer}.mlp.experts.{expert}"] = "DeepseekV3Expert"
        entries[f"{layer}.mlp.experts.{expert}"] = {
            "params": {
                name: {"cp": "R", "ep": "S(0)"}
                for name in ("gate_proj.weight", "up_proj.weight", "down_proj.weight")
            },
            "is_boundary": True,
        }


def _norm() -> dict[str, Any]:
    return _entry({"weight": _REPLICATED}, (_SPLIT, _SPLIT, _SPLIT, _SPLIT))


def _mlp() -> dict[str, Any]:
    params = {"gate_proj.weight": _COLUMN_WISE, "up_proj.weight": _COLUMN_WISE, "down_proj.weight": _ROW_WISE}
    return _entry(params, (_SPLIT, _WHOLE, _PENDING, _SPLIT))


def _entry(params: dict[str, dict[str, str]], sides: tuple[dict[str, str], ...]) -> dict[str, Any]:
    in_src, in_dst, out_src, out_dst = sides
    return {
        "params": {name: dict(layout) for name, layout in params.items()},
        "in_src": {"hidden_states": dict(in_src)},
        "in_dst": {"hidden_states": dict(in_dst)},
        "out_src": {"output": dict(out_src)},
        "out_dst": {"output": dict(out_dst)},
        "is_boundary": True,
    }
