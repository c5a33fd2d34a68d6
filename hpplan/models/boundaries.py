"""Which modules of a model become boundaries: the styles sit on leaves, the boundary is the module above."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from hpplan.models.facts import ModelFacts, join, parent, upwards
from hpplan.models.regions import find_regions
from hpplan.models.styles import Role, style_of, styles_in_force

State = Literal["stream", "whole", "pending", "features"]
"""How a tensor lies: as between layers, whole on each rank, as a sum to be added up, split by features."""

BoundaryKind = Literal[
    "norm", "region", "copies", "routed", "owned", "summed", "embedding", "head", "split head",
    "gather", "split", "inner row", "inner gather", "inner split",
]  # fmt: skip


class Template(NamedTuple):
    """What a boundary redistributes, from and to; None where it leaves that side alone."""

    inputs: tuple[State, State] | None
    outputs: tuple[State, State] | None


TEMPLATES: Mapping[BoundaryKind, Template] = {
    "norm": Template(("stream", "stream"), ("stream", "stream")),
    # Attention, an MLP, a mixture of experts: columns and rows meet inside, and one sum is left to add up.
    "region": Template(("stream", "whole"), ("pending", "stream")),
    # The same where its leaves add up themselves, as transformers has them do.
    "copies": Template(("stream", "whole"), ("whole", "stream")),
    # A mixture of experts whose tokens travel to the experts.
    "routed": Template(("stream", "stream"), ("stream", "stream")),
    # Shared experts: part of the sum that the region around them leaves, or summed on their own among copies.
    "owned": Template(None, None),
    "summed": Template(("whole", "whole"), ("pending", "whole")),
    "embedding": Template(("whole", "whole"), ("pending", "stream")),
    # Logits stay split by vocabulary, as a loss takes them that is parallel too.
    "head": Template(("stream", "whole"), ("features", "features")),
    "split head": Template(("stream", "features"), ("pending", "whole")),
    # A linear layer that has no region around it, and one inside copies.
    "gather": Template(("stream", "whole"), ("features", "stream")),
    "split": Template(("stream", "features"), ("pending", "stream")),
    "inner row": Template(None, ("pending", "whole")),
    "inner gather": Template(None, ("features", "whole")),
    "inner split": Template(("whole", "features"), ("pending", "whole")),
}

_HEAD: Mapping[Role, BoundaryKind] = {"gather": "head", "split": "split head"}
_BETWEEN: Mapping[Role, BoundaryKind] = {"embedding": "embedding", "gather": "gather", "split": "split"}
_AMONG_COPIES: Mapping[Role, BoundaryKind] = {
    "experts": "inner row",
    "row": "inner row",
    "gather": "inner gather",
    "split": "inner split",
}
_IN_A_REGION: Mapping[Role, BoundaryKind] = {"gather": "inner gather"}
_NORM = re.compile(r"(?<!Batch)(?<!Group)(?<!Instance)Norm")

NO_RULE = "transformers has no rule for"
NO_BOUNDARY = "hpplan has no boundary for what transformers does with"


@dataclass
class Boundaries:
    """FQN to the kind of each boundary, and what is left out: FQN of a module or parameter to why."""

    kinds: dict[str, BoundaryKind] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def find_boundaries(model: ModelFacts, *, ep: bool) -> Boundaries:
    """Return the boundaries of a model, with its experts spread over `ep` or not."""
    return _Finder(model, ep=ep).boundaries


class _Finder:
    """Walks a model from the top, with what is around each module."""

    def __init__(self, model: ModelFacts, *, ep: bool) -> None:
        self._model = model
        self._roles: dict[str, Role] = {}
        self._ruled: set[str] = set()
        self._unknown: set[str] = set()
        """Modules with something below them that has a style of which no plan of ours says anything."""
        for name, (axis, text) in styles_in_force(model, ep=ep).items():
            style = style_of(axis, text)
            self._ruled.update(upwards(name))
            if style is None:
                self._unknown.update(upwards(name))
            elif name in model.modules:
                self._roles[name] = style.role
        self._filled = {above for name in model.parameters for above in upwards(name)}
        self._regions, self._blocks, without = find_regions(model, self._roles)
        self.boundaries = Boundaries(left_out=dict.fromkeys(without, NO_BOUNDARY))
        self._walk("", None)

    def _walk(self, fqn: str, around: BoundaryKind | None) -> None:
        if around is None:
            direct = (join(fqn, name) for name in self._model.modules[fqn].parameters)
            self.boundaries.left_out |= dict.fromkeys(direct, NO_RULE)
        for child in self._model.children[fqn]:
            if child in self._filled and child not in self.boundaries.left_out:
                self._visit(child, around)

    def _visit(self, fqn: str, around: BoundaryKind | None) -> None:
        if self._is_norm(fqn) and (around is not None or parent(fqn) in self._ruled):
            self.boundaries.kinds[fqn] = "norm"
        elif around is None and fqn not in self._ruled:
            self.boundaries.left_out[fqn] = NO_RULE
        elif self._has_no_boundary(fqn, around):
            self.boundaries.left_out[fqn] = NO_BOUNDARY
        else:
            kind = self._kind(fqn, around)
            if kind is not None:
                self.boundaries.kinds[fqn] = kind
            # Of what a forward owns or adds up by itself, no leaf does so again.
            self._walk(fqn, "region" if kind in {"owned", "summed"} else kind or around)

    def _kind(self, fqn: str, around: BoundaryKind | None) -> BoundaryKind | None:
        region = self._blocks.get(fqn) or self._regions.get(fqn)
        if region is None:
            leaves = {None: _BETWEEN, "copies": _AMONG_COPIES}.get(around, _IN_A_REGION)
            return (_HEAD if fqn == self._model.head else leaves).get(self._roles.get(fqn, "none"))
        if around == "region":
            return "owned"
        return "summed" if around == "copies" and region == "region" else region

    def _has_no_boundary(self, fqn: str, around: BoundaryKind | None) -> bool:
        """Whether transformers does something here, between layers, that no template says."""
        if fqn in self._regions or fqn in self._blocks:
            return fqn in self._unknown
        alone = around is None and not self._model.children[fqn]
        return alone and self._kind(fqn, around) is None

    def _is_norm(self, fqn: str) -> bool:
        """Whether a module looks at the features of one token at a time, and holds only their scales."""
        module = self._model.modules[fqn]
        flat = all(len(parameter.shape) == 1 for parameter in module.parameters.values())
        alone = not any(child in self._filled for child in self._model.children[fqn])
        return bool(module.parameters) and flat and alone and bool(_NORM.search(module.class_name))
