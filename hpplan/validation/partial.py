"""What can still be said of a plan whose schema or rules are not in order.

A check runs where all that it reads is in order, on a copy without what is
broken; a finding about a module of which something is broken waits as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Path, Place
from hpplan.plan.codes import MALFORMED_PLACEMENT
from hpplan.plan.model import Plan
from hpplan.validation.registry import Check


class PartialPlan(NamedTuple):
    """A plan without what is broken in it, and what that was."""

    plan: Plan
    broken: frozenset[str] = frozenset()
    """What is broken of what checks read: top-level fields, and `rules` and `strategies` of the run."""
    unsure: frozenset[str] = frozenset()
    """FQNs of whose entry or class something is broken."""
    misshapen: frozenset[str] = frozenset()
    """Those of them of which more than placements is."""
    records: frozenset[Path] = frozenset()
    """Where the plan's own rules are broken."""

    @property
    def whole(self) -> bool:
        """Whether nothing is broken."""
        return not (self.broken or self.unsure)

    def findings(self, check: Check, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return what a check finds, without what a correction may make untrue."""
        if not self.broken.isdisjoint(check.READS):
            return []
        unsure = self.unsure if "placements" in check.READS else self.misshapen
        return [finding for finding in findings if not self._waits(finding, unsure)]

    def _waits(self, finding: Diagnostic, unsure: frozenset[str]) -> bool:
        return any(self._touched(place, unsure) for place in (finding.place, *finding.related))

    def _touched(self, place: Place, unsure: frozenset[str]) -> bool:
        if place.document != self.plan.place.document or not place.path:
            return False
        field, *below = place.path
        if not unsure.isdisjoint(below):
            return True
        by_module = field in {"param_plan", "boundary_classes"}
        return not by_module and (field in self.broken or place.path[:2] in self.records)


def salvage(plan: Plan, problems: Iterable[Diagnostic]) -> PartialPlan | None:
    """Return a plan without what `problems` (HP1xx) are about; None where no entries or classes are left."""
    data: dict[str, Any] = dict(plan.data)
    if not all(isinstance(data.get(field), dict) for field in ("param_plan", "boundary_classes")):
        return None
    entries, classes = dict(data["param_plan"]), dict(data["boundary_classes"])
    data |= {"param_plan": entries, "boundary_classes": classes}
    broken: set[str] = set()
    unsure: set[str] = set()
    misshapen: set[str] = set()
    for problem in problems:
        field, *below = map(str, problem.place.path)
        if field == "param_plan":
            entries[below[0]] = _without(entries[below[0]], below[1:])
        elif field == "boundary_classes":
            classes.pop(below[0], None)
            broken.add(field)
        else:
            data.pop(field, None)
            broken.add(field)
            continue
        unsure.add(below[0])
        if problem.code is not MALFORMED_PLACEMENT:
            misshapen.add(below[0])
    return PartialPlan(Plan(data, plan.place), frozenset(broken), frozenset(unsure), frozenset(misshapen))


def _without(node: Any, path: list[str]) -> Any:  # noqa: ANN401 - what a broken plan has there
    """Return a copy of an entry without a node of it; of a list, without all of it."""
    if not path or not isinstance(node, dict):
        return {}
    key, *below = path
    left = dict(node)
    if below and isinstance(left.get(key), dict):
        left[key] = _without(left[key], below)
    else:
        left.pop(key, None)
    return left
