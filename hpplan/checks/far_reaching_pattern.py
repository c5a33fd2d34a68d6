"""far-reaching-pattern: a `*` that crosses more dots than its author may think."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.roles import ROLES, effective, role_target
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.plan.fqn import ancestors, matcher

FAR_REACHING_PATTERN = Code(
    "HP316",
    "far-reaching-pattern",
    "info",
    """\
## What it finds
A pattern with `*` that takes effect in modules its author may not have thought of, because `*` crosses
dots: in a module and in another one below it; in modules on the level that the pattern spells out and in
deeper ones; or in modules whose last name is what follows `*` and in others whose last name only ends
with it. A rule for a strategy with a target class takes effect in modules of that class alone.

## Why it hurts
A wrapper or a replacement goes around modules inside modules that already have it.

## Example
```yaml
rules:
  - match: model.layers.*        # model.layers.0.mlp, and model.layers.0.mlp.shared_experts
    inner_wrapper: mycompany.attention.wrap
```

## What to do
Spell out the last part of the name, such as `model.layers.*.mlp`, or list the modules. Leave it as it is if
everything that the message names is meant.
""",
)

CODES: tuple[Code, ...] = (FAR_REACHING_PATTERN,)
READS: tuple[str, ...] = RESOLUTION


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each pattern that reaches further than it seems to, once."""
    for rule in subject.rules.rules:
        if not rule.holds(subject.plan):
            continue
        for text, place in zip(rule.patterns, rule.pattern_places, strict=True):
            if "*" not in text:
                continue
            for role in ROLES:
                if role_target(rule, role) is None:
                    continue
                surprise = _surprise(text, sorted(effective(subject, rule, role, (text,))))
                if surprise is not None:
                    expected, surprising = surprise
                    yield Diagnostic(
                        FAR_REACHING_PATTERN,
                        f"`*` crosses dots: '{text}' takes effect in '{expected}' and in '{surprising}'",
                        place,
                        hint="spell out the last part of the name if only the first is meant",
                        related=(
                            subject.plan.place.key("param_plan", surprising).noted("also in this module"),
                        ),
                    )
                    break


def _surprise(pattern: str, matched: list[str]) -> tuple[str, str] | None:
    """Return a match that the author certainly meant and one that may come as a surprise."""
    members = set(matched)
    for fqn in matched:
        above = next((name for name in ancestors(fqn) if name in members), None)
        if above is not None:
            return above, fqn
    # A leading `*.` is the usual way to say "wherever it is".
    meant = next((fqn for fqn in matched if _on_one_level(pattern, fqn)), None)
    deeper = next((fqn for fqn in matched if not _on_one_level(pattern, fqn)), None)
    if meant is not None and deeper is not None:
        return meant, deeper
    ending = re.split(r"[*?\]]", pattern)[-1]
    if ending and "." not in ending:
        whole = next((fqn for fqn in matched if fqn.rpartition(".")[2] == ending), None)
        longer = next((fqn for fqn in matched if fqn.rpartition(".")[2] != ending), None)
        if whole is not None and longer is not None:
            return whole, longer
    return None


def _on_one_level(pattern: str, fqn: str) -> bool:
    """Whether the pattern would match if `*` stayed between two dots, apart from one that leads."""
    parts, names = pattern.split("."), fqn.split(".")
    fits = len(names) >= len(parts) if pattern.startswith("*") else len(names) == len(parts)
    return fits and all(matcher(part)(name) for part, name in zip(parts, names[-len(parts) :], strict=True))
