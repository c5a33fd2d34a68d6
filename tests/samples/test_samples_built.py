"""The sample plans are what the builder makes of the module lists, and they are plausible plans."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from build_samples import HERE, SAMPLE_PLANS, build, build_plan
from sample_models import SAMPLES, Sample

from hpplan.documents.reader import read_document
from hpplan.plan.model import load_plan
from hpplan.plan.rules import load_rules, rules_of_plan
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@pytest.fixture(scope="module")
def built() -> dict[str, str]:
    """Build every file once."""
    return build()


def shapes_of(sample: Sample) -> dict[str, tuple[int, ...]]:
    """Read the shape of each parameter of a model, by its full name, without the builder's reader."""
    shapes = {}
    text = Path(HERE, "model_structures", f"{sample.name}.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        fqn, _, rest = line.partition("\t")
        for name, shape in re.findall(r"(\w+):([0-9x]+)", rest.partition("\t")[2]):
            shapes[f"{fqn}.{name}"] = tuple(int(size) for size in shape.split("x"))
    return {name: shape for name, shape in shapes.items() if not name.startswith("model.visual.")}


def placed_parameters(plan: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """List the full name and the placements of each parameter that a plan places."""
    return [
        (f"{fqn}.{name}", placements)
        for fqn, entry in plan["param_plan"].items()
        for name, placements in entry["params"].items()
    ]


def test_committed_samples_are_what_the_builder_makes(built: dict[str, str]) -> None:
    """A failure means that a sample or the builder was changed without the other."""
    stale = [
        name for name, text in built.items() if (SAMPLE_PLANS / name).read_text(encoding="utf-8") != text
    ]
    assert stale == []


def test_no_sample_is_left_from_another_builder(built: dict[str, str]) -> None:
    """A failure means that a file beside the samples is neither built nor the result of normalizing one."""
    results = {f"{sample.name}.normalized.yaml" for sample in SAMPLES}
    found = {path.name for path in SAMPLE_PLANS.iterdir() if path.is_file()}
    assert found == built.keys() | results


@each_sample
def test_samples_load_without_a_finding(sample: Sample) -> None:
    """A failure means that hpplan does not take its own sample for a plan, or its rules for rules."""
    plan = load_plan(read_document(str(SAMPLE_PLANS / f"{sample.name}.yaml")))
    rules = load_rules(read_document(str(SAMPLE_PLANS / f"{sample.name}.rules.yaml")))
    assert plan.data == build_plan(sample)
    assert len(rules.rules) == (0 if sample.name == "llama3_8b" else 1)


def test_codegen_meta_holds_the_same_plan_with_an_injection_per_mixture_of_experts() -> None:
    """A failure means that the two spellings of the DeepSeek-V3 sample have drifted apart."""
    plan = load_plan(read_document(str(SAMPLE_PLANS / "deepseek_v3.codegen_meta.json")))
    written = load_plan(read_document(str(SAMPLE_PLANS / "deepseek_v3.yaml")))
    assert plan.param_plan == written.param_plan
    assert plan.boundary_classes == written.boundary_classes
    assert plan.model_type == written.model_type == "deepseek_v3"
    patterns = [pattern for rule in rules_of_plan(plan).rules for pattern in rule.patterns]
    assert patterns == [f"model.layers.{layer}.mlp" for layer in range(3, 61)]


@each_sample
def test_every_parameter_is_placed_once_in_dimensions_that_divide(sample: Sample) -> None:
    """A failure means that a weight is missing, placed twice, or cannot be cut evenly over the mesh."""
    plan, shapes = build_plan(sample), shapes_of(sample)
    placed = placed_parameters(plan)
    assert sorted(name for name, _ in placed) == sorted(shapes)
    for name, placements in placed:
        for axis, placement in placements.items():
            dim = re.fullmatch(r"S\((\d)\)", placement)
            if dim:
                size = plan["parallel_dims"][f"{axis}_size"]
                assert shapes[name][int(dim[1])] % size == 0, (name, axis, placement)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # 65 norms: two a layer and the last one.
        (
            "llama3_8b",
            {"Embedding": 1, "LlamaAttention": 32, "LlamaMLP": 32, "LlamaRMSNorm": 65, "Linear": 1},
        ),
        # 193 norms: two a layer, two in each attention, and the last one.
        (
            "qwen3_moe_30b_a3b",
            {
                "Embedding": 1,
                "Linear": 1,
                "Qwen3MoeAttention": 48,
                "Qwen3MoeRMSNorm": 193,
                "Qwen3MoeSparseMoeBlock": 48,
            },
        ),
        # 61 MLPs: three dense layers, and the shared experts of the other 58.
        (
            "deepseek_v3",
            {
                "DeepseekV3Attention": 61,
                "DeepseekV3MLP": 61,
                "DeepseekV3MoE": 58,
                "DeepseekV3RMSNorm": 245,
                "Embedding": 1,
                "Linear": 1,
            },
        ),
        (
            "qwen3_vl_30b_a3b",
            {
                "Embedding": 1,
                "Linear": 1,
                "Qwen3VLMoeTextAttention": 48,
                "Qwen3VLMoeTextRMSNorm": 193,
                "Qwen3VLMoeTextSparseMoeBlock": 48,
            },
        ),
    ],
)
def test_boundaries_by_class(name: str, counts: dict[str, int]) -> None:
    """A failure means that the builder overlooks boundaries, or takes other modules for some."""
    (sample,) = (sample for sample in SAMPLES if sample.name == name)
    plan = build_plan(sample)
    classes = list(plan["boundary_classes"].values())
    assert {name: classes.count(name) for name in sorted(set(classes))} == counts
    assert plan["boundary_classes"].keys() == plan["param_plan"].keys()


@each_sample
def test_boundaries_of_one_class_have_one_contract(sample: Sample) -> None:
    """A failure means that source lowering, which rewrites classes, could not serve every instance."""
    plan = build_plan(sample)
    contracts: dict[str, list[Any]] = {}
    for fqn, class_name in plan["boundary_classes"].items():
        entry = {field: value for field, value in plan["param_plan"][fqn].items() if field != "params"}
        contracts.setdefault(class_name, []).append(entry)
    assert all(entry == entries[0] for entries in contracts.values() for entry in entries)


def test_feature_exchange_of_qwen3_vl_runs_on_the_mesh_of_its_plan() -> None:
    """A failure means that the sample cannot be routed: its length does not divide, or its items clash."""
    plan = load_plan(read_document(str(SAMPLE_PLANS / "qwen3_vl_30b_a3b.yaml")))
    workload = load_workload(plan.data["feature_exchange"], plan.place.at("feature_exchange"))
    table = plan_routes(parse_mesh("dp=2,cp=2,tp=4,sp"), workload)
    assert table.mode.name == "parent_variable_a2a"
    assert table.warnings == ()
    # 391 = 34 * 46 / 4 and so on: four images, and a video of four frames with 192 rows each.
    rows = {item.item_id: item.rows for batch in workload.batches for item in batch.items}
    assert rows == {0: 391, 1: 768, 2: 196, 3: 4 * 192, 4: 1200}


def test_placements_of_one_deepseek_layer() -> None:
    """A failure means that a projection of DeepSeek-V3 is sharded the wrong way round."""
    (sample,) = (sample for sample in SAMPLES if sample.name == "deepseek_v3")
    entries = build_plan(sample)["param_plan"]
    column, row, whole = {"cp": "R", "tp": "S(0)"}, {"cp": "R", "tp": "S(1)"}, {"cp": "R", "tp": "R"}
    split = {"hidden_states": {"cp": "S(1)", "tp": "S(1)"}}
    assert entries["model.layers.3.self_attn"] == {
        "params": {
            "q_a_proj.weight": whole,
            "q_b_proj.weight": column,
            "kv_a_proj_with_mqa.weight": whole,
            "kv_b_proj.weight": column,
            "o_proj.weight": row,
        },
        "in_src": split,
        "in_dst": {"hidden_states": {"cp": "S(1)", "tp": "R"}},
        "out_src": {"output": {"cp": "S(1)", "tp": "P(sum)"}},
        "out_dst": {"output": {"cp": "S(1)", "tp": "S(1)"}},
        "is_boundary": True,
    }
    assert entries["model.layers.3.mlp"]["params"] == {
        "experts.gate_up_proj": {"cp": "R", "ep": "S(0)"},
        "experts.down_proj": {"cp": "R", "ep": "S(0)"},
        "gate.weight": whole,
    }
    assert entries["model.layers.3.mlp"]["in_src"] == entries["model.layers.3.mlp"]["in_dst"] == split
    assert entries["model.layers.3.mlp.shared_experts"]["params"] == {
        "gate_proj.weight": column,
        "up_proj.weight": column,
        "down_proj.weight": row,
    }
