"""class-contracts-differ: one class, two contracts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hpplan.diagnostics import Code, Diagnostic
from hpplan.documents.natural import natural_key
from hpplan.inspection.contracts import Contract, contract_of, differing_fields
from hpplan.inspection.subject import Subject
from hpplan.plan.model import Plan, is_boundary

CLASS_CONTRACTS_DIFFER = Code(
    "HP211",
    "class-contracts-differ",
    "error",
    """\
## What it finds
Two boundaries of one class whose entries differ in something other than `params`. Entries with
`skip_source_lowering: true` are left out, since the runtime wraps each of them alone. Contracts are
compared by what they mean: a missing axis is `R`. The boundaries that share a contract are reported once,
against the contract that most boundaries of the class have. The message says whether normalizing would
settle it, by taking a boundary away or by marking it.

## Why it hurts
Source lowering writes one wrapper into the class, and every instance inherits it. The instances with the
other contract then redistribute tensors that they should leave alone, or do not redistribute those that
they should.

## Example
```yaml
boundary_classes: {model.layers.0.mlp: LlamaMLP, model.layers.1.mlp: LlamaMLP}
param_plan:
  model.layers.0.mlp: {in_src: {x: {tp: S(1)}}, in_dst: {x: {tp: R}}}
  model.layers.1.mlp: {in_src: {x: {tp: R}}, in_dst: {x: {tp: R}}}
```

## What to do
Give both the same contract, or say `skip_source_lowering: true` on the exception. Where the message says
that normalizing settles it, run `hpplan normalize`.
""",
)

CODES: tuple[Code, ...] = (CLASS_CONTRACTS_DIFFER,)
READS: tuple[str, ...] = ("placements",)


class _Group(NamedTuple):
    """The boundaries of one class that have one contract, in natural order."""

    contract: Contract
    members: list[str]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each contract of a class that is not the one most of its boundaries have."""
    plan = subject.plan
    normalized = subject.normalized.plan
    for class_name, groups in _groups(plan, subject.unsure).items():
        if len(groups) == 1:
            continue
        usual, *others = groups
        total = sum(len(group.members) for group in groups)
        fqn = usual.members[0]
        usual_stays = _stays(normalized, class_name, usual)
        for other in others:
            fields = differing_fields(usual.contract, other.contract)
            exception = other.members[0]
            field = next((name for name in fields if name in plan.param_plan[exception]), None)
            keys = (exception,) if field is None else (exception, field)
            more = len(other.members) - 1
            settled = not (usual_stays and _stays(normalized, class_name, other))
            outlook = f"; normalizing {'settles this' if settled else 'does not settle this'}"
            both = f"'{exception}'{f' (and {more} more)' if more else ''} and '{fqn}' are both {class_name}"
            yield Diagnostic(
                CLASS_CONTRACTS_DIFFER,
                f"{both} and differ in {', '.join(f'`{name}`' for name in fields)}"
                f"{outlook if subject.whole else ''}",
                plan.place.key("param_plan", *keys),
                hint="run `hpplan normalize`"
                if settled and subject.whole
                else "give them one contract, or mark the exception with `skip_source_lowering: true`",
                related=(
                    plan.place.key("param_plan", fqn).noted(
                        f"{len(usual.members)} of {total} {class_name} have this contract"
                    ),
                ),
            )


def _groups(plan: Plan, unsure: frozenset[str]) -> dict[str, list[_Group]]:
    """Return the contracts of each class, the most frequent first; those of `unsure` FQNs are not known."""
    by_text: dict[str, dict[str, _Group]] = {}
    for fqn, class_name in plan.boundary_classes.items():
        entry = plan.param_plan.get(fqn)
        if (
            entry is None
            or fqn in unsure
            or entry.get("skip_source_lowering") is True
            or not is_boundary(entry)
        ):
            continue
        # Entries that are written alike have one contract; working out each one would take most of the time.
        text = repr([pair for pair in entry.items() if pair[0] != "params"])
        group = by_text.setdefault(class_name, {}).get(text)
        if group is None:
            by_text[class_name][text] = _Group(contract_of(entry), [fqn])
        else:
            group.members.append(fqn)
    return {class_name: _merged(of_class.values()) for class_name, of_class in by_text.items()}


def _merged(groups: Iterable[_Group]) -> list[_Group]:
    merged: dict[str, _Group] = {}
    for group in groups:
        key = json.dumps(group.contract, sort_keys=True)
        merged.setdefault(key, _Group(group.contract, [])).members.extend(group.members)
    for group in merged.values():
        group.members.sort(key=natural_key)
    return sorted(merged.values(), key=lambda group: (-len(group.members), natural_key(group.members[0])))


def _stays(normalized: Plan, class_name: str, group: _Group) -> bool:
    """Whether a contract is still written into the class after the passes."""
    return any(
        normalized.boundary_classes.get(fqn) == class_name
        and normalized.param_plan[fqn].get("skip_source_lowering") is not True
        for fqn in group.members
    )
