"""The configurations beside this file: small ones of every kind of model, and four real ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpplan.documents.reader import parse_document
from hpplan.models.config import ModelConfig, load_config
from hpplan.models.describe import facts_of

if TYPE_CHECKING:
    from hpplan.models.facts import ModelFacts

HERE = Path(__file__).parent / "configs"

REAL = ("deepseek_v3_671b", "llama3_8b", "qwen3_moe_30b_a3b", "qwen3_vl_30b_a3b")
"""Models as they were published; the samples are about them."""

SMALL = tuple(sorted({path.stem for path in HERE.glob("*.json")} - {*REAL}))
"""One configuration of each model type, of two layers."""

WITH_EXPERTS = tuple(
    sorted({*SMALL} & {"deepseek_v2", "deepseek_v3", "glm4_moe", "gpt_oss", "mixtral"})
) + tuple(name for name in SMALL if name.startswith("qwen") and "moe" in name)
"""Those of them that transformers has an expert-parallel plan for."""


def path_of(name: str) -> Path:
    """Return the path of a configuration."""
    return HERE / f"{name}.json"


def configuration(name: str, **other: Any) -> ModelConfig:  # noqa: ANN401 - values of a configuration
    """Return a configuration, perhaps with other values in it."""
    data = json.loads(path_of(name).read_text(encoding="utf-8"))
    return load_config(parse_document(json.dumps({**data, **other}).encode(), str(path_of(name))))


@cache
def facts(name: str, **other: Any) -> ModelFacts:  # noqa: ANN401 - the same
    """Return the facts of a model; each is built once."""
    return facts_of(configuration(name, **other))
