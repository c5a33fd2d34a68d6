"""What differs between the sample models: mesh, rules, and what their files say about themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

DEEPSEEK_EP = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
QWEN3_MOE_EP = "hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn"
QWEN3_VL_EP = "vlm_training.expert_parallel.qwen3vl_ep_compute_fn"


class Sample(NamedTuple):
    """One model: its module list's name, the plan's fields other than the modules', and its rules."""

    name: str
    about: str
    fields: dict[str, Any]
    about_rules: str
    rules: dict[str, Any]
    left_out: str | None = None
    as_codegen_meta: bool = False

    def leaves_out(self, fqn: str) -> bool:
        """Whether the plan has nothing to say about a module."""
        return self.left_out is not None and f"{fqn}.".startswith(f"{self.left_out}.")


def dims(*, dp: int, cp: int, tp: int, ep: int) -> dict[str, Any]:
    """Return `mesh_dim_names` and `parallel_dims` that agree with each other."""
    sizes = {"dp": dp, "cp": cp, "tp": tp}
    return {
        "mesh_dim_names": [axis for axis, size in sizes.items() if size > 1],
        "parallel_dims": {
            "dp_size": dp,
            "cp_size": cp,
            "tp_size": tp,
            "ep_size": ep,
            "pp_size": 1,
            "sequence_parallel": True,
        },
    }


def image_rows(frames: int, height: int, width: int) -> int:
    """Return the feature rows of a grid of patches; Qwen3-VL merges 2 x 2 patches into one row."""
    return frames * height * width // 4


def qwen3_vl_workload() -> dict[str, Any]:
    """Return two batch rows with four images and a video of four frames.

    The features of the vision tower's last layer and of its three DeepStack
    layers travel together: four payloads. Each frame of a video follows a
    time stamp of a few text tokens, so the video is four runs of tokens.
    """
    frame = image_rows(1, 24, 32)
    return {
        "feature_width": 2048,
        "dtype": "bfloat16",
        "payloads": 4,
        "encoder_cp_size": 1,
        "sequence": {"length": 4096, "cp_layout": "contiguous"},
        "items": [
            {"item_id": 0, "batch_index": 0, "decoder_token_start": 15, "output_rows": image_rows(1, 34, 46)},
            {
                "item_id": 1,
                "batch_index": 0,
                "decoder_token_start": 430,
                "output_rows": image_rows(1, 64, 48),
            },
            {
                "item_id": 2,
                "batch_index": 0,
                "decoder_token_start": 2010,
                "output_rows": image_rows(1, 28, 28),
            },
            {
                "item_id": 3,
                "batch_index": 1,
                "output_rows": image_rows(4, 24, 32),
                "spans": [{"token_start": 20 + number * (frame + 8), "rows": frame} for number in range(4)],
            },
            {
                "item_id": 4,
                "batch_index": 1,
                "decoder_token_start": 1500,
                "output_rows": image_rows(1, 80, 60),
            },
        ],
    }


LLAMA3_8B = Sample(
    name="llama3_8b",
    about="""\
Llama-3-8B, dense, on dp 2 x cp 2 x tp 4 with sequence parallelism.
Nothing in it needs normalizing: each class has one contract, and no class carries its own orchestration.""",
    fields={"model_type": "llama", **dims(dp=2, cp=2, tp=4, ep=1)},
    about_rules="Llama-3-8B needs no inline rules.",
    rules={"rules": []},
)

QWEN3_MOE_30B_A3B = Sample(
    name="qwen3_moe_30b_a3b",
    about="""\
Qwen3-MoE-30B-A3B on cp 2 x tp 4 with sequence parallelism, its 128 experts a layer over ep 8.
Every layer is a mixture of experts, whose forward carries its own orchestration.""",
    fields={
        "model_type": "qwen3_moe",
        **dims(dp=1, cp=2, tp=4, ep=8),
        "external_state_classes": ["Qwen3MoeSparseMoeBlock"],
    },
    about_rules="One strategy, built in, for every mixture of experts.",
    rules={"rules": [{"match": "model.layers.*.mlp", "when": "ep", "local_compute_fn": QWEN3_MOE_EP}]},
)

DEEPSEEK_V3 = Sample(
    name="deepseek_v3",
    about="""\
DeepSeek-V3, all 61 layers, on dp 2 x cp 2 x tp 8 with sequence parallelism, its 256 experts a layer
over ep 32. Layers 0 to 2 are dense. Their MLP has the class of the shared experts of the other
layers, so once those lose their boundary, the dense ones must be wrapped one by one.""",
    fields={
        "model_type": "deepseek_v3",
        **dims(dp=2, cp=2, tp=8, ep=32),
        "external_state_classes": ["DeepseekV3MoE"],
    },
    about_rules="""\
The pattern also matches the dense MLPs of layers 0 to 2; the strategy's class tells them apart.""",
    rules={"rules": [{"match": "*.mlp", "when": "ep", "local_compute_fn": DEEPSEEK_EP}]},
    as_codegen_meta=True,
)

QWEN3_VL_30B_A3B = Sample(
    name="qwen3_vl_30b_a3b",
    about="""\
Qwen3-VL-30B-A3B on dp 2 x cp 2 x tp 4 with sequence parallelism, its 128 experts a layer over ep 8.
Only the language model is sharded. The vision tower runs whole on each encoder rank, so none of its
modules is a boundary; what it produces reaches the language model through the feature exchange.
A feature row stands for 2 x 2 patches: an image of h x w patches has h * w / 4 rows.""",
    fields={
        "model_type": "qwen3_vl_moe",
        **dims(dp=2, cp=2, tp=4, ep=8),
        "external_state_classes": ["Qwen3VLMoeTextSparseMoeBlock"],
        "not_covered": ["model.visual"],
        "feature_exchange": qwen3_vl_workload(),
    },
    about_rules="""\
hpplan has no strategy for this class built in, so the file declares the one that the rule points at.""",
    rules={
        "rules": [
            {"match": "model.language_model.layers.*.mlp", "when": "ep", "local_compute_fn": QWEN3_VL_EP}
        ],
        "strategies": [
            {
                "target": QWEN3_VL_EP,
                "kind": "moe_ep_routed",
                "target_class": "Qwen3VLMoeTextSparseMoeBlock",
                "strip_boundary_subpatterns": [],
                "model_types": ["qwen3_vl_moe"],
            }
        ],
    },
    left_out="model.visual",
)

SAMPLES = (LLAMA3_8B, QWEN3_MOE_30B_A3B, DEEPSEEK_V3, QWEN3_VL_30B_A3B)
