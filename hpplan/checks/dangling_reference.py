"""dangling-reference: a field that speaks of something the plan does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Path, Place
from hpplan.inspection.subject import Subject
from hpplan.nearest import NearestFqn
from hpplan.plan.fqn import ancestors, is_within
from hpplan.plan.model import LEFT_OUT
from hpplan.plan.names import LONGEST_NAME
from hpplan.plan.rules import match_field, what_is_given

DANGLING_REFERENCE = Code(
    "HP203",
    "dangling-reference",
    "warning",
    """\
## What it finds
A name in `injections`, `module_overrides`, `special_handlers`, `tied_pairs` or `frozen_sharded_params`
that is no module and no parameter of the plan. Records that serve as inline rules are reported as
unmatched rules (HP302) instead. Modules that the plan says it leaves out, under `not_covered` and
`remote_siblings`, and everything below them may be named. So may a module above an entry, and, in
`special_handlers` and `tied_pairs`, a parameter of a module whose entry lists no parameters.

## Why it hurts
The record has no effect. A tied pair that is not found is trained as two parameters; an override that
is not found leaves the module as it was.

## Example
```yaml
tied_pairs: [[lm_head.weight, model.embed_token.weight]]     # embed_tokens
```

## What to do
Correct the name, or remove the record.
""",
)

CODES: tuple[Code, ...] = (DANGLING_REFERENCE,)
READS: tuple[str, ...] = ("boundary_classes", "normalization", "not_covered", "remote_siblings")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each reference to nothing."""
    known = _Known(subject)
    yield from _check_records(subject, known)
    place, data = subject.plan.place, subject.plan.data
    for name, handler in data.get("special_handlers", {}).items():
        if not any(known.may_have(each) for each in (name, *_names(handler))):
            yield _dangling("special_handlers", name, place.key("special_handlers", name), known)
    for index, pair in enumerate(data.get("tied_pairs", [])):
        for keys, name in _pair(pair):
            if not known.may_have(name):
                yield _dangling("tied_pairs", name, place.at("tied_pairs", index, *keys), known)
    for index, name in enumerate(data.get("frozen_sharded_params", [])):
        if not known.has(name):
            yield _dangling("frozen_sharded_params", name, place.at("frozen_sharded_params", index), known)


def _check_records(subject: Subject, known: _Known) -> Iterator[Diagnostic]:
    rule_places = {rule.place for rule in subject.rules.rules}
    for field in ("injections", "module_overrides"):
        for index, record in enumerate(subject.plan.data.get(field, [])):
            place = subject.plan.place.at(field, index)
            matched = match_field(what_is_given(record))
            if matched is not None and place not in rule_places:
                patterns = record[matched] if isinstance(record[matched], list) else [record[matched]]
                names = [pattern for pattern in patterns if isinstance(pattern, str)]
                if names and not any(known.matches(name) for name in names):
                    yield _dangling(field, names[0], place.at(matched), known)


class _Known:
    """The modules and parameters that a plan's fields may name."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._outside = {name for field in LEFT_OUT for name in subject.plan.data.get(field, [])}
        self.nearest = NearestFqn(self._everything())

    def has(self, name: str) -> bool:
        """Whether a name is a parameter, a module of the plan or above one, or left out on purpose."""
        facts = self._subject.facts
        entries = self._subject.plan.param_plan
        if name in entries or name in facts.classes or is_within(name, self._outside):
            return True
        for owner in ancestors(name):
            if owner in self._subject.unsure:
                return True
            entry = entries.get(owner)
            if entry is not None and name[len(owner) + 1 :] in entry.get("params", {}):
                return True
        return bool(facts.names.below(name))

    def may_have(self, name: str) -> bool:
        """Whether a name or pattern stands for something, or for a parameter of an entry that lists none.

        Of a tied parameter one module may say everything.
        """
        owner = self._subject.plan.param_plan.get(name.rpartition(".")[0])
        return self.matches(name) or (owner is not None and not owner.get("params"))

    def matches(self, pattern: str) -> bool:
        """Whether a name or pattern stands for anything."""
        if len(pattern) > LONGEST_NAME:
            return False
        return self.has(pattern) or bool(self._subject.facts.names.matching(pattern))

    def _everything(self) -> Iterable[str]:
        yield from self._subject.facts.classes
        for fqn, entry in self._subject.plan.param_plan.items():
            yield fqn
            for parameter in entry.get("params", {}):
                yield f"{fqn}.{parameter}"


def _names(value: Any) -> Iterator[str]:  # noqa: ANN401 - the shape of a handler is HyperParallel's own affair
    """Yield the strings of a value, its lists and its mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _names(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _names(part)


def _pair(pair: str | list[str] | dict[str, Any]) -> Iterator[tuple[Path, str]]:
    if isinstance(pair, str):
        yield (), pair
    elif isinstance(pair, list):
        yield from (((index,), name) for index, name in enumerate(pair))
    else:
        yield from (((key,), name) for key, name in pair.items() if isinstance(name, str))


def _dangling(field: str, name: str, place: Place, known: _Known) -> Diagnostic:
    message = f"`{field}` names '{name}', which is neither a module nor a parameter of the plan"
    return Diagnostic(DANGLING_REFERENCE, message, place, hint=known.nearest.hint(name))
