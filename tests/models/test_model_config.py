"""Configurations: which are refused, and where they say what is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from model_configs import configuration, facts, path_of

from hpplan.documents.reader import parse_document
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.models import build as build_module
from hpplan.models.config import load_config
from hpplan.models.config import path_of as path_in
from hpplan.models.describe import facts_of

if TYPE_CHECKING:
    from pathlib import Path

    from hpplan.models.facts import ModelFacts

TINY: dict[str, Any] = json.loads(path_of("llama").read_text(encoding="utf-8"))
VISION: dict[str, Any] = json.loads(path_of("qwen2_5_vl").read_text(encoding="utf-8"))


def read(data: dict[str, Any]) -> ModelFacts:
    """Return the facts of the model that data describes."""
    return facts_of(load_config(parse_document(json.dumps(data).encode(), "config.json")))


@pytest.mark.parametrize(
    ("data", "code", "path", "said"),
    [
        ({}, "HP230", (), "there is no `model_type`"),
        ({"model_type": 3}, "HP230", ("model_type",), "`model_type` names no model"),
        ({"model_type": "lama"}, "HP231", ("model_type",), "the installed transformers has no 'lama'"),
        (
            {**TINY, "architectures": ["LamaForCausalLM"]},
            "HP231",
            ("architectures", 0),
            "the installed transformers has no 'LamaForCausalLM'",
        ),
        # A class of transformers that is no model.
        (
            {**TINY, "architectures": ["LlamaConfig"]},
            "HP231",
            ("architectures", 0),
            "the installed transformers has no 'LlamaConfig'",
        ),
        (
            {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}},
            "HP232",
            ("auto_map",),
            "'mine' is not in transformers but in code of its own (`auto_map`), which hpplan does not run",
        ),
        (
            {**TINY, "architectures": ["Mine"], "auto_map": {"AutoModel": "mine.Mine"}},
            "HP232",
            ("auto_map",),
            "'Mine' is not in transformers but in code of its own (`auto_map`), which hpplan does not run",
        ),
        (
            {**TINY, "num_attention_heads": "many"},
            "HP233",
            ("num_attention_heads",),
            "TypeError: Field 'num_attention_heads' expected int, got str (value: 'many')",
        ),
        (
            {**TINY, "hidden_size": 65},
            "HP233",
            (),
            "ValueError: The hidden size (65) is not a multiple of the number of attention heads (8).",
        ),
        (
            {**TINY, "num_hidden_layers": 10**9},
            "HP233",
            ("num_hidden_layers",),
            "1,000,000,000 layers are more than the 10,000 that hpplan builds",
        ),
        (
            {**VISION, "vision_config": {**VISION["vision_config"], "depth": 10**9}},
            "HP233",
            ("vision_config", "depth"),
            "1,000,000,000 layers are more than the 10,000 that hpplan builds",
        ),
        (
            {**TINY, "rope_scaling": {"type": "elastic"}},
            "HP233",
            (),
            "KeyError: 'elastic'",
        ),
    ],
)
def test_refused(data: dict[str, Any], code: str, path: tuple[str | int, ...], said: str) -> None:
    """A configuration that is misread gives a plan of another model, or a traceback."""
    with pytest.raises(InvalidInput) as failure:
        read(data)
    (item,) = failure.value.diagnostics
    if code == "HP233" and "hpplan" not in said:
        said = f"transformers makes no model of this: {said}"
    assert (item.code.id, item.place.path, item.message) == (code, path, said)


def test_nearest_name() -> None:
    """Whoever mistypes a name wants to know which it is."""
    with pytest.raises(InvalidInput) as failure:
        read({**TINY, "model_type": "lama", "architectures": []})
    assert failure.value.diagnostics[0].hint == "did you mean 'llama'?"


def test_code_beside_a_model_that_transformers_has_is_not_needed() -> None:
    """DeepSeek-V3 was published with code of its own, and transformers has had it since."""
    assert facts("deepseek_v3", auto_map_of=None).model_class == "DeepseekV3ForCausalLM"
    other = {**TINY, "auto_map": {"AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM"}}
    assert read(other).model_class == "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("name", "model_class"),
    [
        ("llama", "LlamaForCausalLM"),
        ("qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration"),
        ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"),
    ],
)
def test_without_architectures_it_is_the_class_for_training(name: str, model_class: str) -> None:
    """Some configurations leave the class to whoever loads them."""
    assert facts_of(configuration(name, architectures=None)).model_class == model_class


def test_a_folder_stands_for_the_configuration_in_it(tmp_path: Path) -> None:
    """A model that was downloaded is a folder."""
    assert path_in(str(tmp_path)) == str(tmp_path / "config.json")
    assert path_in(str(tmp_path / "x.json")) == str(tmp_path / "x.json")


def test_a_package_that_a_model_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is no fault of the configuration, and says what is missing."""

    def fail(*_: object) -> None:
        raise ImportError("\nmodels of this kind need timm: `pip install timm`\n")

    monkeypatch.setattr(build_module, "usual_class", fail)
    with pytest.raises(
        UnusableRequest, match="transformers cannot build 'llama' here: models of this kind need timm"
    ):
        facts_of(configuration("llama", architectures=None))
