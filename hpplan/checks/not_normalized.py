"""not-normalized: a plan that its rules would change."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.checks import experts_without_rule
from hpplan.diagnostics import Code, Diagnostic
from hpplan.documents.disk.streams import STDIN_NAME
from hpplan.documents.natural import natural_key
from hpplan.inspection.subject import Subject
from hpplan.passes.shared_class_mark import SharedClassMark
from hpplan.wording import plural

NOT_NORMALIZED = Code(
    "HP222",
    "not-normalized",
    "error",
    """\
## What it finds
A plan that `hpplan normalize` would change: with its rules, those of `--rules` or its own, boundaries would
be stripped or marked. Nothing is said where what it is normalized into today is validated in the same run.

## Why it hurts
Where this is the plan that gets trained, modules keep a boundary around a forward that carries its own
orchestration. Their inputs are redistributed twice, and that shows at train time.

## Example
```sh
hpplan validate plan.yaml --rules plan.rules.yaml        # boundaries of plan.yaml are still to be stripped
```

## What to do
Normalize the plan, and train and validate what that gives. Where a plan is kept beside its normalized one,
validate both: `hpplan validate plan.yaml plan.normalized.yaml --rules plan.rules.yaml`.
""",
)

CODES: tuple[Code, ...] = (NOT_NORMALIZED,)
READS: tuple[str, ...] = ()


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield one finding, at the first module that normalizing changes."""
    changes = subject.normalized.changes if subject.whole else ()
    if not changes:
        return
    marked = {change.fqn for change in changes if change.cause.pass_name == SharedClassMark.name}
    stripped = {change.fqn for change in changes} - marked
    first = min(stripped or marked, key=natural_key)
    plan = subject.plan
    field = "param_plan" if first in plan.param_plan else "boundary_classes"
    does = [f"strips {plural(len(stripped), 'boundary', 'boundaries')}"] if stripped else []
    does += [f"marks {len(marked):,}"] if marked else []
    write = "-o FILE" if plan.place.document == STDIN_NAME else "--write"
    # Without the rules of its experts, normalizing would do half of what it has to.
    rules = " --rules FILE" if not subject.rules.rules and any(experts_without_rule.check(subject)) else ""
    yield Diagnostic(
        NOT_NORMALIZED,
        f"this plan is not normalized: normalizing {' and '.join(does)}, '{first}' first",
        plan.place.key(field, first),
        hint=f"type `hpplan normalize {subject.typed}{rules} {write}`, or give its -o FILE here as well",
    )
