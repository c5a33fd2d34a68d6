"""Boundary forms: how a boundary redistributes over the active axes, and with which collectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from hpplan.inspection.subject import SIDES, Subject
from hpplan.plan.model import Entry
from hpplan.plan.placement import REPLICATE, Placement, parse_placement

Form = Literal["region", "generic", "tp_collective", "identity"]

Side = Literal["in", "out"]

FORMS: tuple[Form, ...] = ("region", "generic", "tp_collective", "identity")
"""In the order in which they take precedence."""

TP_COLLECTIVES = frozenset({"all-gather", "all-reduce", "reduce-scatter"})


class Redistribution(NamedTuple):
    """What redistributing one tensor along one axis takes.

    `operation` is a collective, or `slice`, which every rank does alone.
    """

    side: Side
    tensor: str
    axis: str
    operation: str
    what: str
    """The dimension, and the reduction where it is not a sum, in words."""
    before: str
    after: str

    @property
    def is_tp_collective(self) -> bool:
        """Whether it is one of the three changes that make up the form `tp_collective`."""
        return (
            self.axis == "tp"
            and self.operation in TP_COLLECTIVES
            and (self.operation == "all-gather" or self.before == "P(sum)")
        )


class Forms:
    """The forms of a plan's boundaries, over the active axes of a subject."""

    def __init__(self, subject: Subject) -> None:
        """Remember the subject; rules are matched on the first question."""
        self._subject = subject
        # An expert axis is no axis of the mesh, so it counts whenever its placement really changes.
        self._axes = subject.active_axes | {"ep"}

    def form(self, fqn: str, entry: Entry) -> Form:
        """Return the form of the boundary at an FQN."""
        if entry.get("region_dispatch") or fqn in self._ruled["region"]:
            return "region"
        if fqn in self._ruled["generic"]:
            return "generic"
        steps = self.steps(entry)
        if not steps:
            return "identity"
        return "tp_collective" if all(step.is_tp_collective for step in steps) else "generic"

    def steps(self, entry: Entry) -> list[Redistribution]:
        """Return what a boundary does on the way in and on the way out, over the active axes.

        A tensor that only one of the two sides names is handed on as it is.
        """
        steps: list[Redistribution] = []
        for source, target in SIDES:
            before, after = entry.get(source, {}), entry.get(target, {})
            for tensor, layout in before.items():
                if tensor in after and layout != after[tensor]:
                    steps += self._steps("in" if source == "in_src" else "out", tensor, layout, after[tensor])
        return steps

    def _steps(
        self, side: Side, tensor: str, before: Mapping[str, str], after: Mapping[str, str]
    ) -> Iterator[Redistribution]:
        for axis in sorted((before.keys() | after.keys()) & self._axes):
            old, new = before.get(axis, "R"), after.get(axis, "R")
            if old != new:
                yield Redistribution(side, tensor, axis, *_operation(old, new), old, new)

    @cached_property
    def _ruled(self) -> dict[str, set[str]]:
        """The FQNs that a rule gives local compute, and those that one gives an inner wrapper."""
        subject = self._subject
        fqns: dict[str, set[str]] = {"region": set(), "generic": set()}
        for rule in subject.rules.rules:
            if not rule.holds(subject.plan):
                continue
            if rule.local_compute_target is not None:
                strategy = subject.resolve(rule)
                wanted = strategy.target_class if strategy is not None else None
                classes = subject.facts.classes
                fqns["region"].update(
                    fqn for fqn in subject.matched(rule.patterns) if wanted in {None, classes.get(fqn)}
                )
            if rule.inner_wrapper_target is not None:
                fqns["generic"].update(subject.matched(rule.patterns))
        return fqns


@lru_cache(maxsize=1024)
def _operation(before: str, after: str) -> tuple[str, str]:
    """Name what turns one placement into another along one axis, and the dimension it works on."""
    old, new = parse_placement(before), parse_placement(after)
    if old.kind == "S":
        if new == REPLICATE:
            return "all-gather", _dim(old)
        if new.kind == "S":
            return "all-to-all", f"{_dim(old)} to {_dim(new)}"
    elif old.kind == "P":
        reduction = "" if old.op == "sum" else f"{old.op} "
        if new == REPLICATE:
            return "all-reduce", reduction.strip()
        if new.kind == "S":
            return "reduce-scatter", f"{reduction}{_dim(new)}"
    elif old == REPLICATE and new.kind in {"S", "SS"}:
        return "slice", _dim(new)
    return "redistribute", f"{before} to {after}"


def _dim(placement: Placement) -> str:
    strided = f" strided by {placement.factor}" if placement.factor else ""
    uneven = " uneven" if placement.uneven else ""
    return f"dim {placement.dim}{strided}{uneven}"
