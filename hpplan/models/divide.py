"""Dimensions of parameters that a mesh does not divide into equal and whole parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

from hpplan.models.facts import VOCABULARY, ModelFacts, Parameter, Parts, join
from hpplan.plan.model import Entry
from hpplan.plan.placement import Placement, parse_placement


class Uneven(NamedTuple):
    """A dimension of a parameter of an entry, what it is made of, and the axes that would cut it."""

    fqn: str
    name: str
    parts: Parts
    cuts: tuple[tuple[str, int], ...]

    @property
    def what(self) -> str:
        """Why it does not do: `tp=8 does not divide the 4 key-value heads`."""
        axes = " x ".join(f"{axis}={size}" for axis, size in self.cuts)
        return f"{axes} does not divide the {self.parts.number:,} {self.parts.noun}"

    @property
    def way_out(self) -> str:
        """The nearest sizes that would do: `tp may be 2 or 4`."""
        asked = prod(size for _, size in self.cuts)
        number = self.parts.number
        below = next(size for size in range(min(asked, number), 0, -1) if number % size == 0)
        above = next((size for size in range(asked + 1, number + 1) if number % size == 0), None)
        return f"{' x '.join(axis for axis, _ in self.cuts)} may be {below}{f' or {above}' if above else ''}"


def uneven_dimensions(
    model: ModelFacts, param_plan: Mapping[str, Entry], sizes: Mapping[str, int]
) -> Iterator[Uneven]:
    """Yield each dimension that placements cut into unequal parts, or inside what it is made of."""
    for fqn, entry in param_plan.items():
        for name, layout in entry.get("params", {}).items():
            parameter = model.parameters.get(join(fqn, name))
            if parameter is None:
                continue
            cuts: dict[int, list[tuple[str, int]]] = {}
            placements: dict[int, Placement] = {}
            for axis, text in layout.items():
                placement, size = parse_placement(text), sizes.get(axis, 1)
                if placement.dim is not None and placement.dim < len(parameter.shape) and size > 1:
                    cuts.setdefault(placement.dim, []).append((axis, size))
                    placements[placement.dim] = placement
            for dim, axes in cuts.items():
                parts = _parts(parameter, dim, placements[dim])
                if parts is not None and parts.number % prod(size for _, size in axes):
                    yield Uneven(fqn, name, parts, tuple(axes))


def _parts(parameter: Parameter, dim: int, placement: Placement) -> Parts | None:
    """Return what must divide; None where the plan itself says that the parts may be unequal."""
    parts = parameter.parts.get(dim)
    if placement.uneven and (parts is None or parts.noun == VOCABULARY):
        return None
    if parts is not None:
        return parts
    if placement.factor and parameter.shape[dim] % placement.factor == 0:
        each = parameter.shape[dim] // placement.factor
        return Parts(each, f"numbers in each of {placement.factor} parts along dimension {dim}")
    return Parts(parameter.shape[dim], f"numbers along dimension {dim}")
