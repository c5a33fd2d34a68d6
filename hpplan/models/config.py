"""A model's `config.json`, from a file or from the folder that has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.reader import Document
from hpplan.errors import InvalidInput
from hpplan.models.codes import NO_MODEL_CONFIG, UNUSABLE_MODEL_CONFIG

MOST_LAYERS: Final = 10_000
"""Layers of a model that hpplan builds; each takes memory even without weights."""

_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "depth")


class ModelConfig(NamedTuple):
    """What a configuration says, where it says it, and the names of its model."""

    data: dict[str, Any]
    place: Place
    model_type: str
    architecture: str | None
    """The first of `architectures`; None leaves the choice to transformers."""


def path_of(path: str) -> str:
    """Return the path of the configuration in a folder; that of a file as it is."""
    import os

    return os.path.join(path, "config.json") if os.path.isdir(path) else path  # noqa: PTH112, PTH118 - pathlib takes longer to import


def load_config(document: Document) -> ModelConfig:
    """Return the configuration in a document; raise InvalidInput where it is that of no model."""
    data, place = document.data, document.place
    model_type = data.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        where = place.at("model_type") if "model_type" in data else place
        message = "`model_type` names no model" if "model_type" in data else "there is no `model_type`"
        hint = "give the config.json of a Hugging Face model, or the folder that has it"
        raise InvalidInput([Diagnostic(NO_MODEL_CONFIG, message, where, hint)])
    if problems := list(_too_many_layers(data, place)):
        raise InvalidInput(problems)
    named = data.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    return ModelConfig(data, place, model_type, first if isinstance(first, str) else None)


def _too_many_layers(data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield each number of layers, of the model or of a part of it, that would fill the memory."""
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _too_many_layers(value, place.at(name))
        elif name in _LAYERS and isinstance(value, int) and value > MOST_LAYERS:
            message = f"{value:,} layers are more than the {MOST_LAYERS:,} that hpplan builds"
            yield Diagnostic(UNUSABLE_MODEL_CONFIG, message, place.at(name))
