"""What can still be said of a plan whose schema or rules are not in order.

A fault hides as little as possible: the checks run on a copy without what is
broken, and what they find there counts as far as no correction of the fault
could make it untrue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.checks import (
    competing_strategies,
    condition_never_holds,
    dangling_reference,
    deferred_bias_on_identity,
    experts_without_rule,
    far_reaching_pattern,
    mesh_contradicts_plan,
    mesh_dims_disagree,
    one_sided_contract,
    out_names_disagree,
    replicated_in_region,
    shadowed_pattern,
    target_class_not_external,
    uncovered_parameter,
    unmatched_strip_pattern,
    unreduced_output,
    unusable_parallel_dims,
)
from hpplan.errors import InvalidInput
from hpplan.plan.codes import MALFORMED_PLACEMENT, OTHER_CLASS, UNMATCHED_RULE, UNRESOLVED_TARGET
from hpplan.plan.model import LEFT_OUT, Plan
from hpplan.plan.rules import RuleSet
from hpplan.plan.strategies import MOE_EP_ROUTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hpplan.diagnostics import Code, Diagnostic, Path, Place
    from hpplan.validation.registry import Check

_BY_STRATEGIES: tuple[Code, ...] = (
    UNRESOLVED_TARGET,
    OTHER_CLASS,
    *competing_strategies.CODES,
    *deferred_bias_on_identity.CODES,
    *experts_without_rule.CODES,
    *far_reaching_pattern.CODES,
    *target_class_not_external.CODES,
    *unmatched_strip_pattern.CODES,
    *unreduced_output.CODES,
)
_BY_CLASSES: tuple[Code, ...] = (
    *_BY_STRATEGIES,
    UNMATCHED_RULE,
    *dangling_reference.CODES,
    *shadowed_pattern.CODES,
)

WAITING: dict[str, tuple[Code, ...]] = {
    "model_type": _BY_STRATEGIES,
    "source": _BY_STRATEGIES,
    "mesh_dim_names": (
        *unreduced_output.CODES,
        *deferred_bias_on_identity.CODES,
        *replicated_in_region.CODES,
    ),
    "parallel_dims": (
        *unreduced_output.CODES,
        *unmatched_strip_pattern.CODES,
        *deferred_bias_on_identity.CODES,
        *experts_without_rule.CODES,
        *mesh_contradicts_plan.CODES,
        *mesh_dims_disagree.CODES,
        *replicated_in_region.CODES,
        *unusable_parallel_dims.CODES,
        *condition_never_holds.CODES,
    ),
    "external_state_classes": target_class_not_external.CODES,
    "boundary_classes": _BY_CLASSES,
    "normalization": _BY_CLASSES,
    **dict.fromkeys(LEFT_OUT, (*dangling_reference.CODES, *uncovered_parameter.CODES, UNMATCHED_RULE)),
    "rules": (
        *unreduced_output.CODES,
        *unmatched_strip_pattern.CODES,
        *deferred_bias_on_identity.CODES,
        *experts_without_rule.CODES,
    ),
    "strategies": _BY_STRATEGIES,
}
"""The codes that could say something untrue while a part of the input is broken, and so wait.

`rules` and `strategies` stand for those of the run, wherever they come from.
"""

_NEVER_READ_PLACEMENTS: tuple[Check, ...] = (one_sided_contract, out_names_disagree)
"""Checks to which a placement that does not parse is as good as any."""


class Partial(NamedTuple):
    """A plan without what is broken in it, and what that was."""

    plan: Plan
    broken: frozenset[str] = frozenset()
    """Parts of the input that are broken, by the names of `WAITING`."""
    unsure: frozenset[str] = frozenset()
    """FQNs of whose entry or class something is broken."""
    misshapen: frozenset[str] = frozenset()
    """Those of them of which more than placements is."""
    records: frozenset[Path] = frozenset()
    """Where the plan's own rules are broken."""

    def hides(self, check: Check, item: Diagnostic) -> bool:
        """Whether a finding waits for a correction, or speaks of something broken: it may be untrue."""
        return any(item.code in WAITING.get(name, ()) for name in self.broken) or any(
            self._touched(check, place) for place in (item.place, *item.related)
        )

    def _touched(self, check: Check, place: Place) -> bool:
        if place.document != self.plan.place.document or not place.path:
            return False
        field, *below = place.path
        if field in {"param_plan", "boundary_classes"}:
            unsure = self.misshapen if check in _NEVER_READ_PLACEMENTS else self.unsure
            return bool(below) and below[0] in unsure
        return field in self.broken or place.path[:2] in self.records


def salvage(plan: Plan, problems: Iterable[Diagnostic]) -> Partial | None:
    """Return a plan without what `problems` (HP1xx) are about; None where no entries or classes are left."""
    data: dict[str, Any] = dict(plan.data)
    if not all(isinstance(data.get(field), dict) for field in ("param_plan", "boundary_classes")):
        return None
    entries, classes = dict(data["param_plan"]), dict(data["boundary_classes"])
    data |= {"param_plan": entries, "boundary_classes": classes}
    broken: set[str] = set()
    unsure: set[str] = set()
    misshapen: set[str] = set()
    paths: dict[str, list[list[str]]] = {}
    for item in problems:
        field, *below = map(str, item.place.path)
        if field in {"param_plan", "boundary_classes"}:
            fqn = below[0]
            unsure.add(fqn)
            if item.code is not MALFORMED_PLACEMENT:
                misshapen.add(fqn)
        if field == "param_plan":
            paths.setdefault(fqn, []).append(below[1:])
        elif field == "boundary_classes":
            classes.pop(fqn, None)
            broken.add(field)
        else:
            data.pop(field, None)
            broken.add(field)
    entries |= {fqn: _without(entries[fqn], found) for fqn, found in paths.items()}
    return Partial(Plan(data, plan.place), frozenset(broken), frozenset(unsure), frozenset(misshapen))


def _without(node: Any, paths: list[list[str]]) -> Any:  # noqa: ANN401 - what a broken plan has there
    """Return a copy of an entry without some nodes of it; of a list, without all of it."""
    if [] in paths:
        return {}
    below: dict[str, list[list[str]]] = {}
    for key, *rest in paths:
        below.setdefault(key, []).append(rest)
    left = {name: value for name, value in node.items() if name not in below}
    for key, rests in below.items():
        if all(rests) and isinstance(node.get(key), dict):
            left[key] = _without(node[key], rests)
    return left


class SoundRules(NamedTuple):
    """The rules that are in order, and what is wrong with the others."""

    rules: RuleSet
    problems: tuple[Diagnostic, ...] = ()
    broken: frozenset[str] = frozenset()
    """Fields of which something is missing."""
    records: frozenset[Path] = frozenset()
    """Where the broken records are."""


def _inert(field: str, index: int) -> dict[str, Any]:
    """Return what stands in for a broken record, so that those behind it keep their places."""
    if field == "strategies":
        return {"target": f"<broken {index}>", "kind": MOE_EP_ROUTED}
    return {"match": [], "replace_module": "-"}


def sound_rules(
    load: Callable[[dict[str, Any]], RuleSet], data: Mapping[str, Any], lists: tuple[str, ...]
) -> SoundRules:
    """Load rules, and load them again without the broken records until what is left is in order.

    `lists` are the fields of `data` that hold records; `load` raises InvalidInput.
    """
    left = dict(data)
    problems: list[Diagnostic] = []
    broken: set[str] = set()
    records: set[Path] = set()
    while True:
        rules, found = _attempt(load, left)
        if not found:
            break
        problems += found
        for path in (item.place.path for item in found):
            field = str(path[0])
            broken.add(field)
            if field not in lists:
                left.pop(field, None)
            elif len(path) == 1:
                left[field] = []
            elif path[:2] not in records:
                if left[field] is data[field]:
                    left[field] = list(data[field])
                records.add(path[:2])
                left[field][path[1]] = _inert(field, int(path[1]))
    sound = rules._replace(
        rules=tuple(rule for rule in rules.rules if rule.place.path[:2] not in records),
        strategies=tuple(
            one for one in rules.strategies if one.place is None or one.place.path[:2] not in records
        ),
    )
    return SoundRules(sound, tuple(problems), frozenset(broken), frozenset(records))


def _attempt(
    load: Callable[[dict[str, Any]], RuleSet], data: dict[str, Any]
) -> tuple[RuleSet, tuple[Diagnostic, ...]]:
    try:
        return load(data), ()
    except InvalidInput as failure:
        return RuleSet(()), failure.diagnostics
