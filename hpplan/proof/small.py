"""A small instance of a model: the same classes, few layers, narrow, with weights of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hpplan.models.build import built_of, config_of
from hpplan.plan.fqn import ancestors
from hpplan.plan.model import BOUNDARY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.models.config import ModelConfig
    from hpplan.plan.model import Plan

_WIDTHS = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "vocab_size": 32,
}
"""Multiples of the tp size that widths become; what is left over of the real ones by that size stays."""

_AT_MOST = {
    "num_local_experts": 8,
    "num_experts": 8,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "head_dim": 8,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
}
_VISION_WIDTH = 64

_MOST_GROUPS = 4
"""Query heads that share a key-value head."""

_OF_EACH = 2
"""Layers of one kind that are run: the first and the last."""


class Small:
    """A model on the CPU in float64, and which of the plan's modules stand in it.

    `names` are FQNs of its modules to those of the plan; `alike` is how many
    more layers of the plan are as one that is in it, by FQN of the layer.
    """

    def __init__(self, configuration: ModelConfig, plan: Plan, tp: int) -> None:
        """Build it; raises what `hpplan.models.build` raises."""
        config = config_of(configuration)
        text = config.get_text_config()
        _narrow(text, tp)
        if text is not config and (vision := getattr(config, "vision_config", None)) is not None:
            _make_small(vision)
        self.model = built_of(configuration, config)
        self.vocabulary: int = text.vocab_size
        self.names: dict[str, str] = {}
        self.alike: dict[str, int] = {}
        for layers in _layer_lists(self.model, plan):
            self._keep(layers, _representatives(layers, plan, self.model), text)
        for fqn, _ in self.model.named_modules():
            self.names.setdefault(fqn, self._named(fqn))
        _fill(self.model)

    def _keep(self, layers: str, chosen: Mapping[int, int], config: Any) -> None:  # noqa: ANN401 - of transformers
        """Leave the chosen layers of a list in it; a configuration that lists the layers loses the others."""
        from torch.nn import ModuleList

        above, _, name = layers.rpartition(".")
        modules = self.model.get_submodule(layers)
        setattr(self.model.get_submodule(above), name, ModuleList(modules[at] for at in chosen))
        for field, value in list(vars(config).items()):
            if isinstance(value, list) and len(value) == len(modules):
                setattr(config, field, [value[at] for at in chosen])
        config.num_hidden_layers = len(chosen)
        for number, (at, alike) in enumerate(chosen.items()):
            self.names[f"{layers}.{number}"] = f"{layers}.{at}"
            self.alike[f"{layers}.{at}"] = alike

    def _named(self, fqn: str) -> str:
        """Return the plan's FQN of a module below a layer that was kept."""
        for above in ancestors(fqn):
            if above in self.names and self.names[above] != above:
                return self.names[above] + fqn[len(above) :]
        return fqn


def _narrow(config: Any, tp: int) -> None:  # noqa: ANN401 - a configuration of transformers
    """Make a model narrow; sizes that tp divides, or does not, stay so."""
    for name, unit in _WIDTHS.items():
        real = getattr(config, name, None)
        if isinstance(real, int):
            setattr(config, name, unit * tp + real % tp)
    heads = config.num_attention_heads
    of_keys = getattr(config, "num_key_value_heads", None) or heads
    groups = max(heads // of_keys, 1)
    few = tp if of_keys % tp == 0 else of_keys % tp
    shared = groups if groups <= _MOST_GROUPS else math.gcd(groups, _MOST_GROUPS)
    config.num_attention_heads = few * shared
    if getattr(config, "num_key_value_heads", None) is not None:
        config.num_key_value_heads = few
    head = getattr(config, "head_dim", None)
    for name, most in _AT_MOST.items():
        real = getattr(config, name, None)
        if isinstance(real, int):
            setattr(config, name, min(real, most))
    if head is None:
        config.head_dim = _AT_MOST["head_dim"]
    if (rope := getattr(config, "qk_rope_head_dim", None)) is not None:
        config.head_dim = rope
        config.qk_head_dim = config.qk_nope_head_dim + rope
    config.pad_token_id = None
    parameters = getattr(config, "rope_parameters", None)
    if isinstance(parameters, dict) and "mrope_section" in parameters:
        parameters["mrope_section"] = [2, 1, 1]


def _make_small(vision: Any) -> None:  # noqa: ANN401 - the same
    """Make a vision tower small: without images it does not run, and no plan covers it."""
    vision.depth = 1
    for name in ("hidden_size", "intermediate_size", "embed_dim", "out_hidden_size"):
        if isinstance(getattr(vision, name, None), int):
            setattr(vision, name, _VISION_WIDTH)
    if hasattr(vision, "deepstack_visual_indexes"):
        vision.deepstack_visual_indexes = [0]


def _layer_lists(model: Any, plan: Plan) -> list[str]:  # noqa: ANN401 - a torch module
    """Return the FQNs of the lists of layers that the plan speaks of."""
    from torch.nn import ModuleList

    spoken = {above for fqn in plan.param_plan for above in ancestors(fqn)}
    found = [fqn for fqn, module in model.named_modules() if isinstance(module, ModuleList) and fqn in spoken]
    return [fqn for fqn in found if not any(above in found for above in ancestors(fqn))]


def _representatives(layers: str, plan: Plan, model: Any) -> dict[int, int]:  # noqa: ANN401 - a torch module
    """Return a few layers of each kind, by number, and how many others are as they are."""
    contracts: dict[int, list[object]] = {number: [] for number in range(len(model.get_submodule(layers)))}
    for number in contracts:
        module = model.get_submodule(f"{layers}.{number}")
        contracts[number] = [(name, type(one).__name__) for name, one in module.named_modules()]
    for fqn, entry in sorted(plan.param_plan.items()):
        if fqn.startswith(f"{layers}."):
            layer, _, rest = fqn[len(layers) + 1 :].partition(".")
            if layer.isdigit() and int(layer) in contracts:
                contracts[int(layer)].append((rest, _contract(entry), fqn in plan.boundary_classes))
    kinds: dict[str, list[int]] = {}
    for number, contract in contracts.items():
        kinds.setdefault(repr(contract), []).append(number)
    chosen: dict[int, int] = {}
    for numbers in kinds.values():
        kept = sorted({numbers[0], numbers[-1]})[:_OF_EACH]
        for at, number in enumerate(kept):
            chosen[number] = len(numbers) - len(kept) if at == 0 else 0
    return dict(sorted(chosen.items()))


def _contract(entry: Mapping[str, Any]) -> object:
    fields = (*BOUNDARY_FIELDS, "params", "is_boundary", "deferred_bias_params", "tp_divide_attrs")
    return [(name, _sorted(entry.get(name))) for name in fields]


def _sorted(value: object) -> object:
    return sorted((name, _sorted(one)) for name, one in value.items()) if isinstance(value, dict) else value


def _fill(model: Any) -> None:  # noqa: ANN401 - a torch module
    """Give each parameter numbers of its own, the same in every process, of a size that keeps sums near 1."""
    import torch

    drawn = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = torch.randn(parameter.shape, generator=drawn, dtype=torch.float64)
            if parameter.ndim == 1:
                is_scale = name.endswith("weight")
                parameter.copy_(1 + numbers / 4 if is_scale else numbers / 4)
            else:
                parameter.copy_(numbers / math.sqrt(parameter.shape[-1]))
