"""Findings about the text of a document (HP0xx)."""

from __future__ import annotations

from hpplan.diagnostics import Code

NOT_UTF8 = Code(
    "HP001",
    "not-utf8",
    "error",
    """\
## What it finds
Bytes that are not UTF-8.

## Why it hurts
Text that is decoded with a guessed encoding names modules that do not exist.

## Example
A file saved as UTF-16 or Latin-1, or a binary file given by mistake.

## What to do
Save the file as UTF-8, or name the file that was meant.
""",
)

YAML_SYNTAX = Code(
    "HP002",
    "yaml-syntax",
    "error",
    """\
## What it finds
Text that is not YAML.

## Why it hurts
Nothing of the document can be trusted when its structure is unclear.

## Example
```yaml
param_plan: {model.norm: {is_boundary: true}
```
The outer brace is never closed.

## What to do
Look at the position and just above it: a missing bracket, quote or colon, a tab, or wrong indentation.
""",
)

JSON_SYNTAX = Code(
    "HP003",
    "json-syntax",
    "error",
    """\
## What it finds
Text that looks like JSON, and is neither JSON nor YAML.

## Why it hurts
A file that was cut short looks complete to whoever only reads its start.

## Example
```json
{"param_plan": {"model.norm": {"is_boundary": true}
```

## What to do
Write the file again, or complete it at the position given.
""",
)

DUPLICATE_KEY = Code(
    "HP004",
    "duplicate-key",
    "error",
    """\
## What it finds
A key that a mapping has twice, in YAML or in JSON.

## Why it hurts
Most readers keep the last of the two and silently drop what the first one said.

## Example
```yaml
boundary_classes:
  model.norm: RMSNorm
  model.norm: LayerNorm
```

## What to do
Keep one of the two, or correct the name of the other.
""",
)

NON_STRING_KEY = Code(
    "HP005",
    "non-string-key",
    "error",
    """\
## What it finds
A mapping key that is not a string: a number, a boolean, null, a list or a mapping. Whole numbers are allowed
directly below `destinations` and `handed_over`.

## Why it hurts
Readers disagree about such keys, and JSON does not have them.

## Example
```yaml
boundary_classes:
  0: Linear
```

## What to do
Put the key in quotes: `"0": Linear`.
""",
)

SEVERAL_DOCUMENTS = Code(
    "HP006",
    "several-documents",
    "error",
    """\
## What it finds
A second YAML document in the same file.

## Why it hurts
Which of the two was meant is a guess.

## Example
```yaml
model_type: deepseek_v3
---
model_type: qwen3_moe
```

## What to do
Give each document a file of its own, or remove the `---` between the two.
""",
)

UNKNOWN_TAG = Code(
    "HP007",
    "unknown-tag",
    "error",
    """\
## What it finds
A YAML tag other than `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map` and `!!seq`.

## Why it hurts
Such tags mean different things to different programs, and some make a program run code.

## Example
```yaml
model_type: !!python/name:os.system
```

## What to do
Remove the tag, or write the value without it.
""",
)

WRONG_TAG = Code(
    "HP008",
    "wrong-tag",
    "error",
    """\
## What it finds
A value that cannot be what its tag says.

## Why it hurts
Either the tag or the value is a mistake.

## Example
```yaml
ep_size: !!int four
```

## What to do
Correct the value, or remove the tag.
""",
)

TOO_DEEP = Code(
    "HP009",
    "too-deep",
    "error",
    """\
## What it finds
Lists and mappings nested deeper than 200 levels.

## Why it hurts
No plan is that deep; a document that is would exhaust the stack of whatever reads it.

## Example
Five thousand opening brackets.

## What to do
Check how the file was produced.
""",
)

TOO_MANY_NODES = Code(
    "HP010",
    "too-many-nodes",
    "error",
    """\
## What it finds
Aliases that expand to more than ten million nodes, or that add more than 8 MiB, and more than twenty times
its own text, to a document when it is written out.

## Why it hurts
A few hundred bytes can stand for more than a machine's memory holds.

## Example
```yaml
a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
```
and so on: each line stands for ten times as much as the one before.

## What to do
Write out what is needed, without aliases of aliases.
""",
)

UNDEFINED_ALIAS = Code(
    "HP011",
    "undefined-alias",
    "error",
    """\
## What it finds
An alias without an anchor of that name before it.

## Why it hurts
There is nothing that the alias could stand for.

## Example
```yaml
rules:
  - match: *.mlp
```
An unquoted `*` starts an alias.

## What to do
Put a pattern in quotes (`"*.mlp"`), or define the anchor before its first use.
""",
)

RECURSIVE_ALIAS = Code(
    "HP012",
    "recursive-alias",
    "error",
    """\
## What it finds
An alias inside the very list or mapping that it stands for.

## Why it hurts
The document would be infinite.

## Example
```yaml
source: &source
  origin: *source
```

## What to do
Let the alias stand for something that ends before it.
""",
)

BAD_MERGE = Code(
    "HP013",
    "bad-merge",
    "error",
    """\
## What it finds
A merge key `<<` whose value is neither a mapping nor a list of mappings.

## Why it hurts
There are no keys to merge.

## Example
```yaml
model.norm:
  <<: RMSNorm
```

## What to do
Let `<<` name a mapping (`<<: *defaults`); quote the key if it is an ordinary one.
""",
)

NOT_A_MAPPING = Code(
    "HP014",
    "not-a-mapping",
    "error",
    """\
## What it finds
A document that is a list or a single value at the top.

## Why it hurts
Every document of hpplan has named fields at the top.

## Example
```yaml
- model.norm
- lm_head
```

## What to do
Check that the right file was named.
""",
)

EMPTY_DOCUMENT = Code(
    "HP015",
    "empty-document",
    "error",
    """\
## What it finds
A document with nothing in it but blanks and comments.

## Why it hurts
An empty file is more often a failed write than a plan without content.

## Example
A file of zero bytes.

## What to do
Check that the right file was named and that its writer succeeded.
""",
)

UNPRINTABLE_CHARACTER = Code(
    "HP016",
    "unprintable-character",
    "error",
    """\
## What it finds
A control character, or another character that YAML does not allow, in YAML text.

## Why it hurts
Such a character cannot be seen, and two names that look the same differ by it.

## Example
A NUL byte in a file that was damaged, or a binary file given by mistake.

## What to do
Remove the character, or write it as an escape in double quotes: `"\\0"`.
""",
)

UNPAIRED_SURROGATE = Code(
    "HP017",
    "unpaired-surrogate",
    "error",
    """\
## What it finds
A text with half a surrogate pair: an escape from `\\ud800` to `\\udfff` without its other half.

## Why it hurts
It is no character, and no file can hold it as UTF-8.

## Example
```json
{"model_type": "\\ud83d"}
```

## What to do
Write the character itself, or both halves.
""",
)

NON_FINITE_NUMBER = Code(
    "HP018",
    "non-finite-number",
    "error",
    """\
## What it finds
`NaN`, `Infinity` or `-Infinity` in JSON, or a number like these that JSON output cannot hold.

## Why it hurts
JSON has no such numbers; readers other than Python's refuse the file.

## Example
```json
{"scale": NaN}
```

## What to do
Use a number, null, or YAML (`.nan`, `.inf`).
""",
)

NUMBER_TOO_LARGE = Code(
    "HP019",
    "number-too-large",
    "error",
    """\
## What it finds
A whole number of more than 4,300 digits, or a fraction beyond the range of a 64-bit float.

## Why it hurts
Such a number would turn into infinity or take very long to read.

## Example
```yaml
scale: 1e999
```

## What to do
Correct the number, or quote it if it is a text.
""",
)

CODES: tuple[Code, ...] = (
    NOT_UTF8,
    YAML_SYNTAX,
    JSON_SYNTAX,
    DUPLICATE_KEY,
    NON_STRING_KEY,
    SEVERAL_DOCUMENTS,
    UNKNOWN_TAG,
    WRONG_TAG,
    TOO_DEEP,
    TOO_MANY_NODES,
    UNDEFINED_ALIAS,
    RECURSIVE_ALIAS,
    BAD_MERGE,
    NOT_A_MAPPING,
    EMPTY_DOCUMENT,
    UNPRINTABLE_CHARACTER,
    UNPAIRED_SURROGATE,
    NON_FINITE_NUMBER,
    NUMBER_TOO_LARGE,
)
