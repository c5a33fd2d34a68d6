"""Codes HP33x: what is wrong with a configuration file."""

from __future__ import annotations

from hpplan.diagnostics import Code

TOML_SYNTAX = Code(
    "HP330",
    "toml-syntax",
    "error",
    """\
## What it finds
A configuration file whose text is not TOML.

## Why it hurts
Nothing in it counts, so plans would be checked without the rules that belong to them.

## Example
```toml
[[plans]]
files = plans/*.yaml       # a string needs quotes
```

## What to do
Correct what the message says. Strings stand in quotes, lists in brackets, and each `[[plans]]` begins
another table.
""",
)

UNKNOWN_SETTING = Code(
    "HP331",
    "unknown-setting",
    "error",
    """\
## What it finds
A name in a configuration file that is no setting, or a file or folder name with a placeholder other than
`{folder}` and `{name}`.

## Why it hurts
What it was meant to say is not said: with `rule` instead of `rules`, plans are checked without them.

## Example
```toml
[[plans]]
files = "plans/*.yaml"
rule = "plans/moe.rules.yaml"       # rules
```

## What to do
Correct the name; the message gives the nearest one. `hpplan schema config` lists every setting.
""",
)

MISTYPED_SETTING = Code(
    "HP332",
    "mistyped-setting",
    "error",
    """\
## What it finds
A setting whose value is of another type than the setting has, or is empty where that means nothing.

## Why it hurts
Nobody can tell what was meant.

## Example
```toml
[[plans]]
files = "plans/*.yaml"
strict = "yes"             # true
```

## What to do
Write the value in the type that the message names. TOML has `true` and `false`, and strings in quotes.
""",
)

MISSING_SETTING = Code(
    "HP333",
    "missing-setting",
    "error",
    """\
## What it finds
A table `[[plans]]` without `files`, so that nobody knows whose settings it has.

## Why it hurts
The rules in it belong to no plan.

## Example
```toml
[[plans]]
rules = "plans/moe.rules.yaml"
```

## What to do
Say which plans: `files = "plans/moe.yaml"`, a pattern, a folder, or a list of these. What holds for all
plans stands above the first `[[plans]]`.
""",
)

UNMATCHED_FILES = Code(
    "HP334",
    "unmatched-files",
    "error",
    """\
## What it finds
An entry of `files` that stands for no plan: no file matches, none of those that do is a plan, or tables
further up have all of them.

## Why it hurts
A plan that was renamed is not checked any more, and nobody hears of it.

## Example
```toml
[[plans]]
files = "plan/*.yaml"      # the folder is called plans
```

## What to do
Correct the path; it counts from the folder of the configuration file. Of several tables that match a plan,
the first counts, so put the special ones first.
""",
)

UNKNOWN_CODE = Code(
    "HP335",
    "unknown-code",
    "error",
    """\
## What it finds
An entry of `select` or `ignore` that is no code: neither an id, nor the beginning of one, nor a name.

## Why it hurts
A finding that was to be left out fails the build, or one that was to be looked for is not.

## Example
```toml
ignore = ["dp-placment"]       # dp-placement
```

## What to do
Correct it; the message gives the nearest name. `hpplan explain --all` lists the codes.
""",
)

UNUSABLE_TARGET = Code(
    "HP336",
    "unusable-target",
    "error",
    """\
## What it finds
A file that `normalized` gives to two plans, that is read as a plan, rules, strategies or a workload, or
that lies outside the folder of the configuration file.

## Why it hurts
`hpplan normalize --write` would overwrite one with the other, or what has nothing to do with plans.

## Example
```toml
[[plans]]
files = "plans/*.yaml"
normalized = "plans/normalized.yaml"     # of which plan?
```

## What to do
Write `{name}` where each plan needs a file of its own: `normalized = "{folder}/{name}.normalized.yaml"`.
""",
)

CODES: tuple[Code, ...] = (
    TOML_SYNTAX,
    UNKNOWN_SETTING,
    MISTYPED_SETTING,
    MISSING_SETTING,
    UNMATCHED_FILES,
    UNKNOWN_CODE,
    UNUSABLE_TARGET,
)
