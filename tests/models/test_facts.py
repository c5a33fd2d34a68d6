"""Facts say of a model what transformers says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from model_configs import REAL, SMALL, configuration, facts

from hpplan.models.build import build
from hpplan.models.facts import VOCABULARY, Parts

STRUCTURES = Path(__file__).parents[1] / "samples" / "model_structures"
SAMPLES = {name: name.removesuffix("_671b") for name in REAL}


@pytest.mark.parametrize("name", REAL)
def test_modules_and_shapes_of_real_models(name: str) -> None:
    """Plans name modules and cut shapes: one that is overlooked, or seen elsewhere, is not in them."""
    expected = {}
    for line in (STRUCTURES / f"{SAMPLES[name]}.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            fqn, class_name, rest = line.split("\t")
            shapes = re.findall(r"(\w+):([0-9x]+)", rest)
            expected[fqn] = (
                class_name,
                {parameter: tuple(map(int, shape.split("x"))) for parameter, shape in shapes},
            )
    found = {
        fqn: (module.class_name, {key: parameter.shape for key, parameter in module.parameters.items()})
        for fqn, module in facts(name).modules.items()
    }
    assert found == expected


@pytest.mark.parametrize("name", SMALL)
def test_every_parameter_is_there_once_for_each_of_its_names(name: str) -> None:
    """A tied weight has two names, and both may be in a plan."""
    model = build(configuration(name))
    expected = {key: tuple(value.shape) for key, value in model.named_parameters(remove_duplicate=False)}
    assert {key: parameter.shape for key, parameter in facts(name).parameters.items()} == expected


def test_tied_weights() -> None:
    """Two names of one weight that are taken for two weights are cut as two."""
    assert facts("llama").tied == (("model.embed_tokens.weight", "lm_head.weight"),)
    assert facts("qwen2").tied == ()


@pytest.mark.parametrize(
    ("name", "parameter", "parts"),
    [
        ("llama", "lm_head.weight", {0: Parts(256, VOCABULARY)}),
        ("llama", "model.layers.0.self_attn.q_proj.weight", {0: Parts(8, "heads")}),
        ("llama", "model.layers.0.self_attn.k_proj.weight", {0: Parts(4, "key-value heads")}),
        ("llama", "model.layers.0.self_attn.o_proj.weight", {1: Parts(8, "heads")}),
        ("llama", "model.layers.0.mlp.up_proj.weight", {}),
        ("qwen2", "model.layers.0.self_attn.v_proj.bias", {0: Parts(4, "key-value heads")}),
        # Latent attention: the low ranks are no heads, and what they are projected to is.
        ("deepseek_v3", "model.layers.0.self_attn.q_a_proj.weight", {}),
        ("deepseek_v3", "model.layers.0.self_attn.kv_b_proj.weight", {0: Parts(8, "heads")}),
        ("deepseek_v3", "model.layers.1.mlp.experts.down_proj", {0: Parts(8, "experts")}),
        ("deepseek_v3", "model.layers.1.mlp.gate.weight", {}),
        ("gpt_oss", "model.layers.0.mlp.experts.down_proj_bias", {0: Parts(8, "experts")}),
        ("qwen3_vl_moe", "model.visual.pos_embed.weight", {}),
    ],
)
def test_what_dimensions_are_made_of(name: str, parameter: str, parts: dict[int, Parts]) -> None:
    """A mesh that is refused for heads that are none, or accepted although it cuts one, is the wrong mesh."""
    assert facts(name).parameters[parameter].parts == parts


def test_the_first_input_of_a_forward() -> None:
    """A contract of a tensor that forward does not have is carried out by nobody."""
    modules = facts("llama").modules
    found = {fqn: modules[fqn].inputs[:1] for fqn in ("lm_head", "model.layers.0.mlp", "model.layers")}
    assert found == {"lm_head": ("input",), "model.layers.0.mlp": ("x",), "model.layers": ()}


def test_a_buffer_is_no_parameter() -> None:
    """The bias that corrects scores is not trained, and no plan lists it."""
    gate = facts("deepseek_v3").modules["model.layers.1.mlp.gate"]
    assert "e_score_correction_bias" in gate.buffers
    assert [*gate.parameters] == ["weight"]
