"""The modules above the leaves that have styles: where columns and rows meet, and mixtures of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.models.facts import last_part, parent, upwards
from hpplan.models.styles import TP_STYLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from hpplan.models.facts import ModelFacts
    from hpplan.models.styles import Role

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
            elif all(any(above in others for above in upwards(one)) for one in linear.get(block, ())):
                blocks[block] = "routed"
            else:
                without.append(block)
    for block in (*blocks, *without):
        regions.pop(block, None)
    return Regions(regions, blocks, without)


def _linear_regions(
    model: ModelFacts, roles: Mapping[str, Role], below: Mapping[str, list[str]]
) -> dict[str, RegionKind]:
    rows = {fqn: {one for one in names if roles[one] in ROWS} for fqn, names in below.items()}
    columns = {fqn: {one for one in names if roles[one] == "column"} for fqn, names in below.items()}
    both = {fqn for fqn, names in below.items() if 0 < len(rows[fqn]) < len(names) and _callable(model, fqn)}
    inner = _below(both)
    found = set()
    for fqn in both:
        outer = (one for one in upwards(parent(fqn)) if one in both and rows[one] == rows[fqn])
        # Several sums are a layer's. Around one, columns that nothing else takes belong to it as well.
        one_sum = all(rows[one] == rows[fqn] and columns[one] < columns[fqn] for one in inner.get(fqn, ()))
        if one_sum and all(columns[one] == columns[fqn] for one in outer):
            found.add(fqn)
    around = _below(found)
    # Leaves that take and leave whole tensors leave what is around them whole as well.
    for fqn, names in below.items():
        near = fqn in around or any(above in found for above in upwards(fqn))
        alone = all(parent(one) == fqn and roles[one] in ALONE for one in names)
        if alone and not near and _callable(model, fqn):
            found.add(fqn)
    return {fqn: "region" if [roles[one] for one in rows[fqn]] == ["row"] else "copies" for fqn in found}


def _below(names: Iterable[str]) -> dict[str, list[str]]:
    """Return FQN to the names that lie below it, for every module above one of them."""
    found: dict[str, list[str]] = {}
    for name in names:
        for above in upwards(parent(name)) if name else ():
            found.setdefault(above, []).append(name)
    return found


def _summed(model: ModelFacts, regions: Mapping[str, RegionKind], block: str, experts: str) -> RegionKind:
    """Return the kind of a mixture whose experts are cut: whatever adds to its sum must be cut too."""
    others = (one for one in model.children[block] if model.parameters_below(one) and one != experts)
    cut = all(regions.get(one) == "region" or _is_gate(model, one) for one in others)
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
    return any(parts.noun.endswith("heads") for one in parameters for parts in one.parts.values())


def _is_gate(model: ModelFacts, fqn: str) -> bool:
    """Whether a module only says which experts take a token, or how much of one to take."""
    return "Router" in model.modules[fqn].class_name or last_part(fqn).endswith(("gate", "router"))
