"""The modules above the leaves that have styles: where columns and rows meet, and mixtures of experts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from hpplan.models.facts import ModelFacts, last_part, parent, upwards
from hpplan.models.styles import TP_STYLES, Role

if TYPE_CHECKING:
    RegionKind = Literal["region", "copies", "routed"]

ROWS = frozenset({"row", "split"})
LINEAR = frozenset({"column", "gather"}) | ROWS
ALONE = frozenset({"gather", "split"})
"""Roles that leave tensors whole at one end, and so need no region around them."""


class Regions(NamedTuple):
    """FQN to the kind of each region and of each mixture of experts, and what has no boundary of ours."""

    regions: dict[str, RegionKind]
    blocks: dict[str, RegionKind]
    without: list[str]


def find_regions(model: ModelFacts, roles: Mapping[str, Role]) -> Regions:
    """Return the regions of a model whose modules have these roles.

    A region is the innermost module whose forward takes one sum of rows, with
    all the columns that go into it. `copies` are regions that add up at their
    leaves, `routed` mixtures send tokens to the experts.
    """
    linear = _below(name for name, role in roles.items() if role in LINEAR)
    regions = _linear_regions(model, roles, linear)
    inside = _below(regions)
    blocks: dict[str, RegionKind] = {}
    without = []
    for experts, role in roles.items():
        if role in {"experts", "dispatch"}:
            block = parent(experts)
            others = inside.get(block, ())
            if not _callable(model, block) or any(_is_attention(model, fqn) for fqn in others):
                without.append(experts)
            elif role == "experts":
                blocks[block] = _summed(model, regions, block, experts)
            elif all(any(above in others for above in upwards(name)) for name in linear.get(block, ())):
                blocks[block] = "routed"
            else:
                without.append(block)
    for block in (*blocks, *without):
        regions.pop(block, None)
    return Regions(regions, blocks, without)


def _linear_regions(
    model: ModelFacts, roles: Mapping[str, Role], below: Mapping[str, list[str]]
) -> dict[str, RegionKind]:
    rows = {fqn: {name for name in names if roles[name] in ROWS} for fqn, names in below.items()}
    columns = {fqn: {name for name in names if roles[name] == "column"} for fqn, names in below.items()}
    both = {fqn for fqn, names in below.items() if 0 < len(rows[fqn]) < len(names) and _callable(model, fqn)}
    inner = _below(both)
    regions = set()
    for fqn in both:
        outer = (near for near in upwards(parent(fqn)) if near in both and rows[near] == rows[fqn])
        # Several sums are a layer's. Around one, columns that nothing else takes belong to it as well.
        one_sum = all(rows[near] == rows[fqn] and columns[near] < columns[fqn] for near in inner.get(fqn, ()))
        if one_sum and all(columns[near] == columns[fqn] for near in outer):
            regions.add(fqn)
    around = _below(regions)
    # Leaves that take and leave whole tensors leave what is around them whole as well.
    for fqn, names in below.items():
        near = fqn in around or any(above in regions for above in upwards(fqn))
        alone = all(parent(name) == fqn and roles[name] in ALONE for name in names)
        if alone and not near and _callable(model, fqn):
            regions.add(fqn)
    return {fqn: "region" if [roles[name] for name in rows[fqn]] == ["row"] else "copies" for fqn in regions}


def _below(names: Iterable[str]) -> dict[str, list[str]]:
    """Return FQN to the names that lie below it, for every module above one of them."""
    below: dict[str, list[str]] = {}
    for name in names:
        for above in upwards(parent(name)) if name else ():
            below.setdefault(above, []).append(name)
    return below


def _summed(model: ModelFacts, regions: Mapping[str, RegionKind], block: str, experts: str) -> RegionKind:
    """Return the kind of a mixture whose experts are cut: whatever adds to its sum must be cut too."""
    others = (child for child in model.children[block] if model.parameters_below(child) and child != experts)
    cut = all(regions.get(child) == "region" or _is_gate(model, child) for child in others)
    late = any(adds_after_sum(model, name) for name in model.parameters_below(block))
    return "region" if cut and not late else "copies"


def adds_after_sum(model: ModelFacts, name: str) -> bool:
    """Whether a parameter is whole on each rank and must be added once, after the sum over `tp`."""
    style = TP_STYLES.get(model.tp_styles.get(name, ""))
    return style is not None and style.bias is not None and last_part(name) == "bias"


def _callable(model: ModelFacts, fqn: str) -> bool:
    return bool(fqn and model.modules[fqn].inputs)


def _is_attention(model: ModelFacts, fqn: str) -> bool:
    parameters = (model.parameters[name] for name in model.parameters_below(fqn))
    return any(parts.noun.endswith("heads") for parameter in parameters for parts in parameter.parts.values())


def _is_gate(model: ModelFacts, fqn: str) -> bool:
    """Whether a module only says which experts take a token, or how much of one to take."""
    return "Router" in model.modules[fqn].class_name or last_part(fqn).endswith(("gate", "router"))
