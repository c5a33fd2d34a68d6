"""shadowed-pattern: a pattern that adds nothing to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.roles import ROLES, role_target
from hpplan.inspection.subject import Subject
from hpplan.plan.rules import Rule

SHADOWED_PATTERN = Code(
    "HP312",
    "shadowed-pattern",
    "warning",
    """\
## What it finds
A pattern of a rule each of whose matches is matched by one other pattern with the same target and arguments,
under the same condition or under none. Of two that match the same, the later one is reported.

## Why it hurts
It changes nothing today, and misleads whoever edits it: narrowing it has no effect, and neither has
removing it.

## Example
```yaml
rules:
  - match: ["*.mlp", model.layers.3.mlp]
    local_compute_fn: hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn
```

## What to do
Remove the pattern that adds nothing, or narrow the one that covers it.
""",
)

CODES: tuple[Code, ...] = (SHADOWED_PATTERN,)
READS: tuple[str, ...] = ("boundary_classes", "normalization")


class _Pattern(NamedTuple):
    text: str
    rule: Rule
    place: Place
    matches: frozenset[str]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each pattern that another with the same target covers."""
    by_target: dict[tuple[str | None, ...], list[_Pattern]] = {}
    for rule in subject.rules.rules:
        if not rule.holds(subject.plan):
            continue
        arguments = json.dumps(rule.arguments, sort_keys=True)
        targets = (*(role_target(rule, role) for role in ROLES), arguments)
        for text, place in zip(rule.patterns, rule.pattern_places, strict=True):
            matches = frozenset(subject.facts.names.matching(text))
            if matches:
                by_target.setdefault(targets, []).append(_Pattern(text, rule, place, matches))
    for patterns in by_target.values():
        yield from _shadowed(patterns)


def _shadowed(patterns: list[_Pattern]) -> Iterator[Diagnostic]:
    # The widest first, of equally wide ones those that always hold, and of those the first that is written:
    # what covers comes before the rest.
    covering: dict[str, list[_Pattern]] = {}
    for pattern in sorted(patterns, key=lambda each: (-len(each.matches), each.rule.when is not None)):
        rarest = min(pattern.matches, key=lambda fqn: (len(covering.get(fqn, ())), fqn))
        covers = (each for each in covering.get(rarest, ()) if pattern.matches <= each.matches)
        wider = next((each for each in covers if each.rule.when in {None, pattern.rule.when}), None)
        if wider is None:
            for fqn in pattern.matches:
                covering.setdefault(fqn, []).append(pattern)
            continue
        yield Diagnostic(
            SHADOWED_PATTERN,
            f"the pattern '{pattern.text}' matches nothing that '{wider.text}' does not match as well",
            pattern.place,
            hint="remove it, or narrow the other",
            related=(wider.place.noted("the pattern that covers it"),),
        )
