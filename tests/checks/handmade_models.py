"""Facts of models that are written by hand: what a check needs, and no model around it."""

from __future__ import annotations

from typing import Any

from hpplan.models.facts import ModelFacts, Module, Parameter, Parts, join, parent, upwards
from hpplan.models.styles import resolved


def handmade_model(data: dict[str, Any]) -> ModelFacts:
    """Return facts from FQN to class, or to a mapping with `class`, shapes by parameter, and more.

    `buffers` are names, `frozen` those of parameters that are not trained,
    `parts` a parameter's dimension, number and noun. Modules above are added.
    `tp` and `ep` are transformers' plans, `tied` groups of names.
    """
    data = dict(data)
    plans = {axis: data.pop(axis, {}) for axis in ("tp", "ep")}
    tied = tuple(tuple(group) for group in data.pop("tied", []))
    modules: dict[str, Module] = {}
    for fqn, value in data.items():
        for above in sorted(upwards(parent(fqn))):
            modules.setdefault(above, Module("Container"))
        modules[fqn] = _module(value)
    names = [*modules, *(join(fqn, name) for fqn, module in modules.items() for name in module.parameters)]
    styles = {axis: resolved(plan, names, modules) for axis, plan in plans.items()}
    return ModelFacts("handmade", "Handmade", modules, styles["tp"], styles["ep"], tied)


def _module(value: str | dict[str, Any]) -> Module:
    if isinstance(value, str):
        return Module(value, ("hidden_states",))
    value = dict(value)
    name, buffers, frozen = value.pop("class"), value.pop("buffers", []), value.pop("frozen", [])
    parts = {
        parameter: {dim: Parts(number, noun)}
        for parameter, (dim, number, noun) in value.pop("parts", {}).items()
    }
    return Module(
        name,
        ("hidden_states",),
        {
            parameter: Parameter(tuple(shape), parameter not in frozen, parts.get(parameter, {}))
            for parameter, shape in value.items()
        },
        tuple(buffers),
    )
