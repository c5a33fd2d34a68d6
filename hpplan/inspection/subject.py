"""What the checks of a plan share: computed once, whoever asks first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hpplan.documents.disk.streams import typed
from hpplan.passes.facts import EpRule, Facts
from hpplan.passes.pipeline import Normalized, normalize
from hpplan.passes.resolution import resolve_rules
from hpplan.plan.model import Entry, Plan, is_boundary
from hpplan.plan.rules import Rule, RuleSet, model_type_for
from hpplan.plan.strategies import Strategy, StrategyTable
from hpplan.routing.mesh import AXES, Mesh

if TYPE_CHECKING:
    from pathlib import Path

    from hpplan.models.facts import ModelFacts

RESOLUTION = ("model_type", "source", "boundary_classes", "normalization", "strategies")
"""What decides which strategy a rule stands for, and which modules are of its class."""

CONTRACT_FIELDS = ("in_src", "in_dst", "out_src", "out_dst")
"""The fields of an entry that hold placements of tensors."""

SIDES = (("in_src", "in_dst"), ("out_src", "out_dst"))
"""What a boundary redistributes from and to, on the way in and on the way out."""


@dataclass(frozen=True)
class Subject:
    """A plan with everything that checks look at beside it.

    `mesh` is that of `--mesh`, and `model` that of `--model`, if given. `folder` is where the plan's document
    lies, if it lies in one. `whole` says that nothing was left out of plan and
    rules; `unsure` are the FQNs of which something was.
    """

    plan: Plan
    rules: RuleSet
    strategies: StrategyTable
    model_type: str | None = None
    mesh: Mesh | None = None
    folder: Path | None = None
    whole: bool = True
    unsure: frozenset[str] = frozenset()
    model: ModelFacts | None = None
    options: tuple[str, ...] = ()
    """Those of the rules, as a command line has them."""

    @cached_property
    def normalized(self) -> Normalized:
        """The plan after the passes, with the changes and the warnings about the rules."""
        return normalize(self.plan, self.rules, self.strategies, model_type=self.model_type)

    @cached_property
    def facts(self) -> Facts:
        """Remembered classes, indices and resolved rules."""
        return resolve_rules(self.plan, self.rules.rules, self.strategies, self.chosen_model_type)[0]

    def resolve(self, rule: Rule) -> Strategy | None:
        """Return the strategy of a rule's local compute target."""
        target = rule.local_compute_target
        return None if target is None else self.strategies.resolve(target, self.chosen_model_type)

    def matched(self, patterns: Iterable[str]) -> list[str]:
        """Return the FQNs of the plan that patterns match, each as often as it is matched."""
        return [fqn for pattern in patterns for fqn in self.facts.names.matching(pattern)]

    def targets(self, ep_rule: EpRule) -> list[str]:
        """Return the FQNs that a rule matches and whose class is its strategy's, stripped ones too."""
        classes = self.facts.classes
        wanted = ep_rule.strategy.target_class
        return [fqn for fqn in self.matched(ep_rule.rule.patterns) if classes.get(fqn) == wanted]

    @property
    def typed(self) -> str:
        """The plan and the options of its rules, to be typed behind a command."""
        from shlex import join

        return join([typed(self.plan.place.document), *self.options])

    @property
    def chosen_model_type(self) -> str | None:
        """The model type that strategies are resolved for."""
        return model_type_for(self.plan, self.rules, self.model_type)

    @cached_property
    def boundaries(self) -> dict[str, Entry]:
        """FQN to entry, for the entries that are boundaries."""
        return {fqn: entry for fqn, entry in self.plan.param_plan.items() if is_boundary(entry)}

    @property
    def active_axes(self) -> frozenset[str]:
        """The axes over which boundaries redistribute.

        Those of the mesh, else `mesh_dim_names`, else the sizes above 1 in
        `parallel_dims`. Where nothing says which axes are active, every axis
        that a contract names is. `ep` is none: expert groups reshape the ranks.
        """
        return self._axes[0]

    @property
    def axes_from(self) -> str:
        """What says which axes are active."""
        return self._axes[1]

    @cached_property
    def _axes(self) -> tuple[frozenset[str], str]:
        if self.mesh is not None:
            return frozenset(axis for axis, size in self.mesh.axes.items() if size > 1), "--mesh"
        data = self.plan.data
        if "mesh_dim_names" in data:
            return frozenset(data["mesh_dim_names"]) - {"ep"}, "mesh_dim_names"
        if "parallel_dims" in data:
            sized = (axis for axis in AXES if self.plan.size(axis) > 1)
            return frozenset(sized), "parallel_dims"
        named = frozenset(axis for _, _, _, layout in self.contracts() for axis in layout)
        return named - {"ep"}, "the placements, as the plan names no active axes"

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the axes: of the mesh, which need not say `ep`, else those in `parallel_dims`."""
        mesh = self.mesh
        if mesh is None:
            return {axis: self.plan.size(axis) for axis in (*AXES, "ep")}
        return {**mesh.axes, "ep": mesh.ep if mesh.ep > 1 else self.plan.size("ep")}

    def contracts(self) -> Iterator[tuple[str, str, str, Mapping[str, str]]]:
        """Yield FQN, field, tensor and placements of everything in the four contract fields."""
        for fqn, entry in self.plan.param_plan.items():
            for field in CONTRACT_FIELDS:
                for tensor, layout in entry.get(field, {}).items():
                    yield fqn, field, tensor, layout

    def layouts(self) -> Iterator[tuple[str, str, str, Mapping[str, str]]]:
        """Yield FQN, field, name and placements of parameters and of everything in the contracts."""
        for fqn, entry in self.plan.param_plan.items():
            for name, layout in entry.get("params", {}).items():
                yield fqn, "params", name, layout
        yield from self.contracts()
