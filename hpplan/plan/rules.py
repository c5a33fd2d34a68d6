"""Inline rules: which modules a strategy or a replacement applies to, and where rules come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.errors import InvalidInput
from hpplan.plan.codes import MISSING_FIELD, NO_RULES, UNKNOWN_CONDITION
from hpplan.plan.model import PLAN, Plan
from hpplan.plan.names import LONGEST_NAME, NAME, SHAPE_CODES, name_too_long, sound_records
from hpplan.plan.strategies import STRATEGY, Strategy, strategies_from
from hpplan.shapes.findings import Checker
from hpplan.shapes.shape import MAPPING, TEXT, TEXTS, Field, Shape, list_of, one_of, or_null

if TYPE_CHECKING:
    from hpplan.documents.reader import Document

CONDITIONS = ("ep", "cp", "low_precision")
"""What `when` may say: an axis that must be active, or (for replacements) low precision."""

MATCH_FIELDS = ("fqns", "match", "fqn")
"""Where a record says what it matches; the first that is there and not empty counts."""

TARGET_FIELDS = {
    "local_compute": ("local_compute_fn", "local_compute_target"),
    "inner_wrapper": ("inner_wrapper", "inner_wrapper_target"),
    "replace": ("replace_module", "replace_target", "factory"),
}
"""The spellings of each target: HyperParallel's YAML first, then its IR."""

_PATTERNS = or_null(one_of(TEXT, TEXTS, belongs="a pattern or a list of patterns"))
_TARGET = or_null(one_of(TEXT, MAPPING, belongs="a dotted name or a mapping with `_target_`"))

RULE = Shape(
    "Inline rule",
    Field("match", _PATTERNS, "FQN patterns: case-sensitive fnmatch over the whole FQN."),
    Field("fqns", _PATTERNS, "The same as match; wins over it."),
    Field("fqn", _PATTERNS, "The same as match; gives way to it."),
    Field(
        "when", or_null(TEXT), "ep or cp: only when that axis is active; low_precision: replacements only."
    ),
    Field("local_compute_fn", _TARGET, "Strategy that replaces forward with local compute."),
    Field("local_compute_target", _TARGET, "The same as local_compute_fn; gives way to it."),
    Field("inner_wrapper", _TARGET, "Strategy that wraps a part of forward."),
    Field("inner_wrapper_target", _TARGET, "The same as inner_wrapper; gives way to it."),
    Field("replace_module", _TARGET, "What takes the module's place."),
    Field("replace_target", _TARGET, "The same as replace_module; gives way to it."),
    Field("factory", _TARGET, "The same as replace_module; gives way to both."),
)
RULES = list_of(RULE)
"""A list of records: those of a file, and those that a plan carries."""

RULES_OF_FILE = ("rules", "plan_overrides")
"""Where a file has its rules: one of ours, or a HyperParallel training YAML; of the two, the first counts."""

RULES_OF_PLAN = ("module_overrides", "injections")
"""Where a plan carries rules, in the order in which they are read."""

RULES_FILE = Shape(
    "Rules",
    Field("model_type", NAME, "Model type that strategies are resolved for."),
    Field("rules", RULES, "Inline rules."),
    Field("plan_overrides", or_null(RULES), "The rules of a HyperParallel training YAML; null for none."),
    Field("strategies", list_of(STRATEGY), "Strategies that join the built-in ones and win over them."),
)

_check = Checker(RULES_FILE, SHAPE_CODES)


class Rule(NamedTuple):
    """One inline rule: FQN patterns, and the targets that apply to what they match."""

    patterns: tuple[str, ...]
    local_compute_target: str | None
    inner_wrapper_target: str | None
    replace_target: str | None
    when: str | None
    place: Place
    target_fields: Mapping[str, str]
    """How the record spells each target it has: `local_compute`, `inner_wrapper`, `replace`."""
    pattern_places: tuple[Place, ...]
    """Where each pattern is written."""
    arguments: Mapping[str, Mapping[str, Any]]
    """What stands beside the name of each target."""

    def target_place(self, role: str) -> Place:
        """Return the place of a target."""
        return self.place.at(self.target_fields[role])

    def holds(self, plan: Plan) -> bool:
        """Whether `when` lets the rule apply to a plan, as far as the plan can tell."""
        return self.when not in {"ep", "cp"} or plan.size(str(self.when)) > 1


class RuleSet(NamedTuple):
    """The rules of a run, with the strategies and the model type that came with them."""

    rules: tuple[Rule, ...]
    strategies: tuple[Strategy, ...] = ()
    model_type: str | None = None


def plan_with_rules() -> Shape:
    """Return the shape of a plan whose own rules are rules.

    Loading leaves them to whoever applies them: with --rules, nobody does.
    """
    rules = list_of(Shape("Inline rule", *RULE.fields, natural=True))
    fields = (field._replace(type=rules) if field.name in RULES_OF_PLAN else field for field in PLAN.fields)
    return Shape(None, *fields)


def rules_field(data: Mapping[str, Any]) -> str | None:
    """Return the field in which a file has its rules, if it has any."""
    return next((name for name in RULES_OF_FILE if name in data), None)


def model_type_for(plan: Plan, rules: RuleSet, given: str | None = None) -> str | None:
    """Return the model type that counts: the one given, else that of the rules, else that of the plan."""
    return given or rules.model_type or plan.model_type


def load_rules(document: Document) -> RuleSet:
    """Return the rules of a rules file or of a HyperParallel training YAML.

    Raises InvalidInput with everything that is wrong with them.
    """
    rules, problems = read_rules(document)
    if problems:
        raise InvalidInput(problems)
    return rules


def read_rules(document: Document) -> tuple[RuleSet, list[Diagnostic]]:
    """Return the rules and strategies of a file that are in order, and what is wrong with it."""
    data, place = document.data, document.place
    field = rules_field(data)
    if field is None:
        message = "this file has neither `rules` nor `plan_overrides`"
        hint = "name the list `rules`; a file without rules says `rules: []`"
        return RuleSet(()), [Diagnostic(NO_RULES, message, place, hint)]
    ours = ("model_type", "strategies", field) if field == "rules" else (field,)
    data = {name: data[name] for name in ours if name in data}
    problems = list(_check(data, place))
    records = sound_records(data, field, problems, place)
    declared = sound_records(data, "strategies", problems, place)
    model_type = data.get("model_type")
    return (
        RuleSet(
            _rules(records, place.at(field), problems, every_record_is_a_rule=field == "rules"),
            strategies_from(declared, place.at("strategies"), problems),
            model_type if isinstance(model_type, str) else None,
        ),
        problems,
    )


def rules_of_plan(plan: Plan) -> RuleSet:
    """Return the rules that a plan carries: `module_overrides`, then `injections`.

    Raises InvalidInput with everything that is wrong with them.
    """
    rules, problems = read_rules_of_plan(plan)
    if problems:
        raise InvalidInput(problems)
    return rules


def read_rules_of_plan(plan: Plan) -> tuple[RuleSet, list[Diagnostic]]:
    """Return the rules of a plan that are in order, and what is wrong with the others."""
    problems: list[Diagnostic] = []
    rules: list[Rule] = []
    for field in RULES_OF_PLAN:
        records, place = plan.data.get(field, []), plan.place.at(field)
        shape = [
            Diagnostic(finding.code, finding.message, place.at(*finding.place.path[1:]), finding.hint)
            for finding in _check({"rules": records}, Place(plan.place.document))
        ]
        problems += shape
        sound = sound_records(plan.data, field, shape, plan.place)
        rules += _rules(sound, place, problems, every_record_is_a_rule=False)
    return RuleSet(tuple(rules)), problems


def _rules(
    records: Iterable[tuple[int, dict[str, Any]]],
    place: Place,
    problems: list[Diagnostic],
    *,
    every_record_is_a_rule: bool,
) -> tuple[Rule, ...]:
    """Read records; those that concern nothing of ours are passed over unless every one must be a rule.

    Those in which something is wrong are left out.
    """
    rules = []
    for index, record in records:
        here, known = place.at(index), len(problems)
        given = what_is_given(record)
        fields = target_fields(given)
        targets = {role: _target(given[name], here.at(name), problems) for role, name in fields.items()}
        if not any(targets.values()):
            if every_record_is_a_rule and not fields:
                hint = "give it `local_compute_fn`, `inner_wrapper` or `replace_module`"
                problems.append(Diagnostic(MISSING_FIELD, "this rule has no target", here, hint=hint))
            continue
        matched = match_field(given)
        if matched is None:
            message = "this rule does not say what it matches"
            problems.append(
                Diagnostic(MISSING_FIELD, message, here, hint="give it `match` with an FQN pattern")
            )
            continue
        patterns = given[matched]
        listed = here.at(matched)
        rule = Rule(
            patterns=(patterns,) if isinstance(patterns, str) else tuple(patterns),
            local_compute_target=targets.get("local_compute"),
            inner_wrapper_target=targets.get("inner_wrapper"),
            replace_target=targets.get("replace"),
            when=given.get("when"),
            place=here,
            target_fields=fields,
            pattern_places=(listed,)
            if isinstance(patterns, str)
            else tuple(listed.at(number) for number in range(len(patterns))),
            arguments={role: arguments_of(given[name]) for role, name in fields.items()},
        )
        problems += _check_condition(rule)
        problems += (
            name_too_long(where)
            for text, where in zip(rule.patterns, rule.pattern_places, strict=True)
            if len(text) > LONGEST_NAME
        )
        if len(problems) == known:
            rules.append(rule)
    return tuple(rules)


def what_is_given(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without nulls: projections of records write what they do not have as null."""
    return {name: value for name, value in record.items() if value is not None}


def match_field(given: Mapping[str, Any]) -> str | None:
    """Return the field that says what a record matches, if one does."""
    return min(
        (name for name in MATCH_FIELDS if name in given), key=lambda name: not given[name], default=None
    )


def target_fields(given: Mapping[str, Any]) -> dict[str, str]:
    """Return how a record spells each target it has; of several spellings the first counts."""
    return {
        role: name
        for role, names in TARGET_FIELDS.items()
        if (name := next((name for name in names if name in given), None)) is not None
    }


def arguments_of(target: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands beside the name of a target, where it is a mapping."""
    if isinstance(target, str):
        return {}
    return {key: value for key, value in target.items() if key not in {"_target_", "target"}}


def _target(target: str | Mapping[str, Any], place: Place, problems: list[Diagnostic]) -> str | None:
    """Return the dotted name that a target is, or has under `_target_` or `target`."""
    if isinstance(target, str):
        name: object = target
    else:
        name = target.get("_target_" if "_target_" in target else "target")
    if isinstance(name, str) and name:
        if len(name) > LONGEST_NAME:
            problems.append(name_too_long(place))
        return name
    hint = "write package.module.function, or {_target_: package.module.function}"
    problems.append(Diagnostic(MISSING_FIELD, f"`{place.path[-1]}` names no target", place, hint=hint))
    return None


def _check_condition(rule: Rule) -> Iterator[Diagnostic]:
    if rule.when is None:
        return
    place = rule.place.at("when")
    if rule.when not in CONDITIONS:
        message = f"`when` says '{rule.when}'"
        yield Diagnostic(UNKNOWN_CONDITION, message, place, hint=f"write one of {', '.join(CONDITIONS)}")
    elif rule.when == "low_precision" and rule.replace_target is None:
        message = "`low_precision` applies to replacements, and this rule replaces no module"
        yield Diagnostic(UNKNOWN_CONDITION, message, place, hint="write ep or cp, or leave `when` out")
