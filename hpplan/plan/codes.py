"""Codes HP1xx (the schema) and HP3xx (rules and strategies) that loading and the passes report."""

from __future__ import annotations

from hpplan.diagnostics import Code

MISSING_FIELD = Code(
    "HP101",
    "missing-field",
    "error",
    """\
## What it finds
A required field that is not there. A plan needs `param_plan` and `boundary_classes`; a rule needs
what it matches and a target; a strategy needs a target and a kind.

## Why it hurts
The trainer's loader stops at the missing field, on every rank, after the job got its accelerators.

## Example
```yaml
boundary_classes: {model.norm: LlamaRMSNorm}
# no param_plan
```

## What to do
Add the field. `hpplan schema plan` and `hpplan schema rules` list what is required.
""",
)

MISTYPED_FIELD = Code(
    "HP102",
    "mistyped-field",
    "error",
    """\
## What it finds
A field whose value is of another type than the field has: a string where a list belongs, a number
where a name belongs, `yes` (a string in YAML 1.2) where `true` belongs.

## Why it hurts
The trainer reads the value as something else, or stops on it at train time.

## Example
```yaml
external_state_classes: DeepseekV3MoE     # a list of class names belongs here
```

## What to do
Write the value in the type that the message names. YAML 1.2 knows `true` and `false`; `yes`, `no`,
`on` and `off` are strings.
""",
)

MALFORMED_PLACEMENT = Code(
    "HP103",
    "malformed-placement",
    "error",
    """\
## What it finds
A placement that is none of `R`, `P(op)`, `S(d)` and `SS(d,f)`, written without spaces.

## Why it hurts
A loader that takes what it does not know for `R` trains with replicated weights and wrong gradients,
and nothing says so.

## Example
```yaml
gate_proj.weight: {tp: Shard(0)}
```

## What to do
Write `S(0)` for a split along dimension 0, `S(-1)` for an uneven one, `SS(0,2)` for a strided one,
`P(sum)` for a pending reduction and `R` for a copy on every rank.
""",
)

NAME_TOO_LONG = Code(
    "HP115",
    "name-too-long",
    "error",
    """\
## What it finds
The name of a module, class, parameter, tensor, axis or target, or a pattern, with more than 1,000 characters.

## Why it hurts
No module has such a name. What is said about modules, and the record of a normalized plan, repeats names and
patterns for each of them: a short file would make a huge report.

## Example
A pattern of 20,000 opening brackets.

## What to do
Check how the file was produced, and shorten the name. A list of patterns says as much as a long one.
""",
)

UNRESOLVED_TARGET = Code(
    "HP301",
    "unresolved-target",
    "warning",
    """\
## What it finds
A rule whose target is no known strategy, or a strategy that does not serve the plan's model type.

## Why it hurts
The rule strips nothing: the modules it was written for keep a boundary around a `forward` that does
its own communication, and their inputs are redistributed twice.

## Example
```yaml
rules:
  - match: "*.mlp"
    local_compute_fn: mycompany.moe.my_ep_compute_fn     # no strategy with this target
```

## What to do
Correct the target, or declare the strategy: under `strategies:` in the rules file, in a file given as
`--strategies`, or through the entry-point group `hpplan.strategies`. Where the model type is the
reason, add it to the strategy's `model_types` or correct `--model-type`.
""",
)

UNMATCHED_RULE = Code(
    "HP302",
    "unmatched-rule",
    "warning",
    """\
## What it finds
A rule none of whose patterns matches an FQN of the plan, or names a module that the plan says it leaves out,
under `not_covered` or `remote_siblings`, or one below it.

## Why it hurts
A renamed module or a typing error leaves the rule without effect, and the plan unnormalized.

## Example
```yaml
rules:
  - match: "*.moe"        # the model calls it mlp
    local_compute_fn: hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn
```

## What to do
Correct the pattern, or remove the rule. Patterns are case-sensitive and cover the whole FQN; `*`
crosses dots.
""",
)

OTHER_CLASS = Code(
    "HP303",
    "other-class",
    "warning",
    """\
## What it finds
A rule that matches modules, but none of the class whose `forward` its strategy replaces.

## Why it hurts
It changes nothing. The usual reason is a recipe borrowed from another family, such as the DeepSeek
recipe on a GLM-4 mixture of experts: the forward it installs belongs to another class.

## Example
```yaml
boundary_classes: {model.layers.1.mlp: Glm4MoeMoE}
injections:
  - match: model.layers.1.mlp
    local_compute_fn: hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn
```

## What to do
Use the strategy of this class, or declare one under `strategies:` with this `target_class`.
""",
)

NO_RULES = Code(
    "HP304",
    "no-rules",
    "error",
    """\
## What it finds
A file given as `--rules` with neither `rules` nor `plan_overrides`, or one given as `--strategies`
without `strategies`.

## Why it hurts
The passes would run without the rules that were meant, and strip nothing.

## Example
```yaml
rule:                     # rules
  - match: "*.mlp"
```

## What to do
Name the list `rules`, or give a HyperParallel training YAML with `plan_overrides`. A file without
rules says so with `rules: []`.
""",
)

UNKNOWN_CONDITION = Code(
    "HP305",
    "unknown-condition",
    "error",
    """\
## What it finds
A `when` that is none of `ep`, `cp` and `low_precision`, or `low_precision` on a rule that replaces
no module.

## Why it hurts
Nobody can tell whether the rule applies.

## Example
```yaml
rules:
  - match: "*.mlp"
    when: expert_parallel
    local_compute_fn: hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn
```

## What to do
Write `ep` or `cp` for rules that need that axis, `low_precision` for replacements, or leave `when` out.
""",
)

STRATEGY_CLASH = Code(
    "HP306",
    "strategy-clash",
    "error",
    """\
## What it finds
Two installed packages, or an installed package and hpplan itself, that declare a strategy with one
target; or one file that declares a target twice.

## Why it hurts
Which of the two counts would depend on the order of installation.

## Example
```toml
[project.entry-points."hpplan.strategies"]
my_moe = "mycompany.moe:STRATEGIES"      # declares a target that hpplan has built in
```

## What to do
Give one of them another target, or uninstall one. To replace a built-in strategy on purpose, declare
yours under `strategies:` in the rules file or in a file given as `--strategies`: both win.
""",
)

BROKEN_STRATEGY_PLUGIN = Code(
    "HP307",
    "broken-strategy-plugin",
    "error",
    """\
## What it finds
An entry point in the group `hpplan.strategies` that cannot be imported, or that holds something other
than strategies.

## Why it hurts
The strategies that the rules count on are not there.

## Example
```toml
[project.entry-points."hpplan.strategies"]
my_moe = "mycompany.moe:STRATEGY"        # the module has no such name
```

## What to do
Correct or uninstall the package that the message names. An entry point holds a mapping with the fields
of a strategy, a list of such mappings, or a function without parameters that returns either.
""",
)

CODES: tuple[Code, ...] = (
    MISSING_FIELD,
    MISTYPED_FIELD,
    MALFORMED_PLACEMENT,
    NAME_TOO_LONG,
    UNRESOLVED_TARGET,
    UNMATCHED_RULE,
    OTHER_CLASS,
    NO_RULES,
    UNKNOWN_CONDITION,
    STRATEGY_CLASH,
    BROKEN_STRATEGY_PLUGIN,
)
