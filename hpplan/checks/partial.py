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
    far_reaching_pattern,
    mesh_dims_disagree,
    one_sided_contract,
    out_names_disagree,
    rule_without_effect,
    shadowed_pattern,
    target_class_not_external,
    unmatched_strip_pattern,
    unreduced_output,
    unusable_parallel_dims,
)
from hpplan.errors import InvalidInput
from hpplan.plan.codes import MALFORMED_PLACEMENT
from hpplan.plan.model import Plan
from hpplan.plan.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hpplan.checks.registry import Check
    from hpplan.diagnostics import Diagnostic, Path, Place

_BY_RULES: tuple[Check, ...] = (
    rule_without_effect,
    competing_strategies,
    deferred_bias_on_identity,
    far_reaching_pattern,
    target_class_not_external,
    unmatched_strip_pattern,
    unreduced_output,
)
_BY_CLASSES: tuple[Check, ...] = (*_BY_RULES, dangling_reference, shadowed_pattern)

WAITING: dict[str, tuple[Check, ...]] = {
    "model_type": _BY_RULES,
    "source": _BY_RULES,
    "mesh_dim_names": (unreduced_output, deferred_bias_on_identity),
    "parallel_dims": (
        unreduced_output,
        unmatched_strip_pattern,
        deferred_bias_on_identity,
        mesh_dims_disagree,
        unusable_parallel_dims,
        condition_never_holds,
    ),
    "external_state_classes": (target_class_not_external,),
    "boundary_classes": _BY_CLASSES,
    "normalization": _BY_CLASSES,
    "not_covered": (dangling_reference,),
    "remote_siblings": (dangling_reference,),
    "rules": (unreduced_output, unmatched_strip_pattern, deferred_bias_on_identity),
    "strategies": _BY_RULES,
}
"""The checks that could say something untrue while a part of the input is broken, and so wait.

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

    def waits(self, check: Check) -> bool:
        """Whether a check cannot tell anything before the fault is corrected."""
        return any(check in WAITING.get(name, ()) for name in self.broken)

    def hides(self, check: Check, item: Diagnostic) -> bool:
        """Whether a finding speaks of something broken, so that it may be untrue."""
        return any(self._touched(check, place) for place in (item.place, *item.related))

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
    for item in problems:
        field, *below = map(str, item.place.path)
        if field in {"param_plan", "boundary_classes"}:
            fqn = below[0]
            unsure.add(fqn)
            if item.code is not MALFORMED_PLACEMENT:
                misshapen.add(fqn)
        if field == "param_plan":
            entries[fqn] = _without(entries[fqn], below[1:])
        elif field == "boundary_classes":
            classes.pop(fqn)
            broken.add(field)
        else:
            data.pop(field, None)
            broken.add(field)
    return Partial(Plan(data, plan.place), frozenset(broken), frozenset(unsure), frozenset(misshapen))


def _without(node: Any, path: list[str]) -> Any:  # noqa: ANN401 - what a broken plan has there
    """Return a copy of an entry without a node of it; of a list, without all of it."""
    if not path:
        return {}
    key, *below = path
    rest = {name: value for name, value in node.items() if name != key}
    if below and isinstance(node.get(key), dict):
        rest[key] = _without(node[key], below)
    return rest


class SoundRules(NamedTuple):
    """The rules that are in order, and what is wrong with the others."""

    rules: RuleSet
    problems: tuple[Diagnostic, ...] = ()
    broken: frozenset[str] = frozenset()
    """Fields of which something is missing."""
    records: frozenset[Path] = frozenset()
    """Where the broken records are."""


_INERT = {"match": [], "replace_module": "-"}
"""Stands in for a broken record, so that those behind it keep their places."""


def sound_rules(
    load: Callable[[dict[str, Any]], RuleSet], data: Mapping[str, Any], lists: tuple[str, ...]
) -> SoundRules:
    """Load rules, and load them again without the broken records until what is left is in order.

    `lists` are the fields of `data` that hold the records; `load` raises
    InvalidInput. Without any of them there are no rules.
    """
    left = dict(data)
    problems: list[Diagnostic] = []
    broken: set[str] = set()
    records: set[Path] = set()
    rules = RuleSet(())
    while any(field in left for field in lists):
        rules, found = _attempt(load, left)
        if not found:
            break
        problems += found
        for path in (item.place.path for item in found):
            field = str(path[0])
            broken.add(field)
            if field in lists and len(path) > 1 and field in left:
                records.add(path[:2])
                left[field] = [
                    _INERT if (field, index) in records else record
                    for index, record in enumerate(left[field])
                ]
            else:
                left.pop(field, None)
    kept = tuple(rule for rule in rules.rules if rule.place.path[:2] not in records)
    return SoundRules(rules._replace(rules=kept), tuple(problems), frozenset(broken), frozenset(records))


def _attempt(
    load: Callable[[dict[str, Any]], RuleSet], data: dict[str, Any]
) -> tuple[RuleSet, tuple[Diagnostic, ...]]:
    try:
        return load(data), ()
    except InvalidInput as failure:
        return RuleSet(()), failure.diagnostics
