"""From a model on the meta device to facts; past this file, nobody sees torch."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from hpplan.documents.collector import collector_paused
from hpplan.models.build import build
from hpplan.models.config import ModelConfig
from hpplan.models.facts import VOCABULARY, ModelFacts, Module, Parameter, Parts, join, last_part, parent
from hpplan.models.library import transformers
from hpplan.models.styles import resolved

HEADS = {"q_proj": 0, "q_b_proj": 0, "kv_b_proj": 0, "o_proj": 1, "k_proj": 0, "v_proj": 0}
"""Projections of attention to the dimension of their weight that is made of heads; latent attention too."""

OF_KEYS_AND_VALUES = ("k_proj", "v_proj")
"""Those of them that grouped-query attention has fewer heads in."""


def facts_of(configuration: ModelConfig) -> ModelFacts:
    """Return the facts of the model that a configuration describes; raises as `build` does."""
    # Nothing of transformers' modules and of the model is garbage.
    with collector_paused():
        model = describe(build(configuration), configuration.model_type)
    return replace(model, place=configuration.place)


def describe(model: Any, model_type: str) -> ModelFacts:  # noqa: ANN401 - a transformers model
    """Return the facts of a model; its weights are not looked at."""
    named = dict(model.named_modules(remove_duplicate=False))
    fqns: dict[int, str] = {}
    for fqn, module in named.items():
        fqns.setdefault(id(module), fqn)
    embedding, head = _embedding(model), model.get_output_embeddings()
    inputs: dict[type, tuple[str, ...]] = {}
    owners: dict[int, list[str]] = {}
    modules: dict[str, Module] = {}
    for fqn, module in named.items():
        kind = type(module)
        if kind not in inputs:
            inputs[kind] = _inputs(kind)
        parameters = {}
        for name, parameter in module._parameters.items():  # noqa: SLF001 - those of the module itself, tied ones too
            if parameter is not None:
                shape = tuple(parameter.shape)
                if module in (embedding, head):
                    parts = {0: Parts(shape[0], VOCABULARY)}
                else:
                    parts = _parts(module, named.get(parent(fqn)), last_part(fqn), name, shape)
                parameters[name] = Parameter(shape, parameter.requires_grad, parts)
                owners.setdefault(id(parameter), []).append(join(fqn, name))
        buffers = tuple(name for name, buffer in module._buffers.items() if buffer is not None)  # noqa: SLF001 - the same
        modules[fqn] = Module(kind.__name__, inputs[kind], parameters, buffers)
    names = [*modules, *(name for group in owners.values() for name in group)]
    return ModelFacts(
        model_type=model_type,
        model_class=type(model).__name__,
        modules=modules,
        tp_styles=resolved(model.tp_plan or {}, names, modules),
        ep_styles=resolved(model.ep_plan or {}, names, modules),
        tied=tuple(tuple(group) for group in owners.values() if len(group) > 1),
        embedding=fqns.get(id(embedding)),
        head=fqns.get(id(head)),
        library=f"transformers {transformers().__version__}",
    )


def _embedding(model: Any) -> Any:  # noqa: ANN401 - a torch module, or None
    try:
        return model.get_input_embeddings()
    except NotImplementedError:
        return None


def _inputs(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a class of torch modules
    """Return the names of the parameters of a class's forward; none where it has no forward of its own."""
    from torch.nn import Module as TorchModule

    if kind.forward is TorchModule.forward:
        return ()
    skipped = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    parameters = inspect.signature(kind.forward).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind not in skipped)[1:]


def _parts(
    module: Any,  # noqa: ANN401 - a torch module
    above: Any,  # noqa: ANN401 - the one around it
    called: str,
    name: str,
    shape: tuple[int, ...],
) -> dict[int, Parts]:
    """Return what the dimensions of a parameter are made of, where the mesh must not cut inside."""
    if shape and getattr(module, "num_experts", None) == shape[0] and _holds_experts(module):
        return {0: Parts(shape[0], "experts")}
    config = getattr(above, "config", None)
    if called not in HEADS or name not in {"weight", "bias"} or config is None:
        return {}
    dim = HEADS[called]
    if dim >= len(shape):
        return {}
    of_keys = called in OF_KEYS_AND_VALUES
    noun = "key-value heads" if of_keys else "heads"
    count = _number(config, "num_attention_heads")
    if of_keys:
        count = _number(config, "num_key_value_heads") or count
    # Some models have other numbers of them in some layers; what a layer has, its shapes say.
    width = getattr(above, "head_dim", None)
    if (of_keys or count is None) and isinstance(width, int) and width and shape[dim] % width == 0:
        count = shape[dim] // width
    return {} if count is None or shape[dim] % count else {dim: Parts(count, noun)}


def _holds_experts(module: Any) -> bool:  # noqa: ANN401 - a torch module
    """Whether a module holds the experts themselves; a router only has a number for each."""
    parameters = module._parameters.values()  # noqa: SLF001 - those of the module itself
    return any(parameter is not None and parameter.dim() > 2 for parameter in parameters)  # noqa: PLR2004 - a matrix for each expert


def _number(config: Any, name: str) -> int | None:  # noqa: ANN401 - a configuration of transformers
    try:
        number = getattr(config, name, None)
    except Exception:  # noqa: BLE001 - one that says it layer by layer raises whatever it likes
        return None
    return number if isinstance(number, int) and number > 0 else None
