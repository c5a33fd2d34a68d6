"""experts-without-rule: a known mixture of experts that no rule is about."""

from __future__ import annotations

from collections.abc import Iterator

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.passes.ep_strip import EpStrip
from hpplan.plan.strategies import MOE_EP_ROUTED
from hpplan.wording import plural

EXPERTS_WITHOUT_RULE = Code(
    "HP320",
    "experts-without-rule",
    "warning",
    """\
## What it finds
A plan with `ep_size` above 1 and modules of a class whose forward an expert-parallel strategy replaces, or
with a model type that such a strategy lists, where no rule matches them. Strategies are those that hpplan has
built in, that installed packages bring, and that are declared.

## Why it hurts
Without the rule nothing says whose forward is replaced: normalizing strips nothing below these modules, and
what their forward calls itself is redistributed twice.

## Example
```yaml
parallel_dims: {tp_size: 2, ep_size: 4}
boundary_classes: {model.layers.1.mlp: DeepseekV3MoE}     # and neither `injections` nor --rules
```

## What to do
Give the rules with `--rules`, or add one for these modules. Where their experts run in parallel in another
way, ignore the warning, or say so with a rules file of `rules: []`.
""",
)

CODES: tuple[Code, ...] = (EXPERTS_WITHOUT_RULE,)
READS: tuple[str, ...] = (*RESOLUTION, "parallel_dims", "rules")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each class of experts that has modules without a rule, at the first of them."""
    plan, model_type = subject.plan, subject.chosen_model_type
    serving = [
        strategy
        for strategy in subject.strategies
        if strategy.kind == MOE_EP_ROUTED and strategy.serves(model_type)
    ]
    if plan.size("ep") == 1 or not serving or ("--rules" in subject.options and not subject.rules.rules):
        return  # a file with `rules: []` says that there are none on purpose
    rules = [rule for rule in subject.rules.rules if rule.local_compute_target or rule.replace_target]
    ruled = {fqn for rule in rules for fqn in subject.matched(rule.patterns)}
    ruled |= {fqn for fqn, record in plan.stripped.items() if record["pass"] == EpStrip.name}
    # A rule of a class that reaches none of it says so itself.
    missed = {each.strategy.target_class for each in subject.facts.ep_rules if not subject.targets(each)}
    classes = subject.facts.classes
    known = {
        strategy.target_class: strategy.target
        for strategy in reversed(serving)
        if strategy.target_class is not None
    }
    for name, target in sorted(known.items()):
        if name in missed:
            continue
        without = [fqn for fqn in classes if classes[fqn] == name and fqn not in ruled]
        if without:
            first, *others = without
            more = f" nor {plural(len(others), 'other')} of its class" if others else ""
            field = ("boundary_classes",) if first in plan.boundary_classes else ("normalization", "stripped")
            yield _finding(
                f"{name}, and no rule matches '{first}'{more}", target, plan.place.key(*field, first)
            )
    listed = [
        strategy
        for strategy in serving
        if strategy.model_types is not None and model_type in strategy.model_types
    ]
    if listed and not rules and not known.keys() & set(classes.values()):
        where = plan.place.at("model_type") if plan.data.get("model_type") else plan.place
        yield _finding(f"the model type '{model_type}', and there is no rule", listed[0].target, where)


def _finding(what: str, target: str, place: Place) -> Diagnostic:
    hint = f"give the rules with --rules, or write one with `local_compute_fn: {target}`"
    return Diagnostic(
        EXPERTS_WITHOUT_RULE, f"ep_size is above 1, a strategy is known for {what}", place, hint=hint
    )
