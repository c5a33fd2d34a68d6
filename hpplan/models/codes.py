"""Codes HP230 to HP234: a model's config.json that no model can be built or no plan be made from."""

from __future__ import annotations

from hpplan.diagnostics import Code

NO_MODEL_CONFIG = Code(
    "HP230",
    "no-model-config",
    "error",
    """\
## What it finds
A file given as a model's config.json that has no `model_type`.

## Why it hurts
Nothing says which model it is about. Tokenizers, generation settings and other libraries have files that
look alike.

## Example
```json
{"dim": 4096, "n_layers": 32}
```

## What to do
Give the `config.json` of a Hugging Face model, or the folder that has it.
""",
)

UNKNOWN_MODEL = Code(
    "HP231",
    "unknown-model",
    "error",
    """\
## What it finds
A `model_type` or a class in `architectures` that the installed transformers does not have.

## Why it hurts
There is no model to compare a plan with, or to make one of.

## Example
```json
{"model_type": "qwen3moe"}
```

## What to do
Correct the name, or install a transformers that has the model.
""",
)

REMOTE_CODE = Code(
    "HP232",
    "remote-code",
    "error",
    """\
## What it finds
A config.json whose model is not in transformers, but in Python files beside its weights (`auto_map`).

## Why it hurts
Building the model would run that code. hpplan reads documents, and runs nothing that comes with them. A
config.json that names such code is fine where transformers has the model too: its own class is taken.

## Example
```json
{"model_type": "my_moe", "auto_map": {"AutoModelForCausalLM": "modeling_my_moe.MyMoeForCausalLM"}}
```

## What to do
Use a transformers that has the model, or write the plan by hand; `hpplan validate` without `--model` checks
it.
""",
)

UNUSABLE_MODEL_CONFIG = Code(
    "HP233",
    "unusable-model-config",
    "error",
    """\
## What it finds
A config.json that transformers refuses, or builds no model from. The message is its own.

## Why it hurts
No job could be started with it either.

## Example
```json
{"model_type": "llama", "hidden_size": 65, "num_attention_heads": 8}
```

## What to do
Correct the value. Compare with the config.json that the model was published with.
""",
)

NO_PARALLEL_PLAN = Code(
    "HP234",
    "no-parallel-plan",
    "error",
    """\
## What it finds
A model that transformers has no tensor-parallel plan for, or none for expert parallelism where the mesh has
`ep`.

## Why it hurts
`hpplan freeze` takes placements from transformers, and guesses none: nothing would be left to write.

## Example
```sh
hpplan freeze gpt2/config.json --mesh tp=2
```

## What to do
Write the plan by hand; `hpplan validate PLAN --model CONFIG.json` holds it against the model. Without a plan
for experts, leave `ep` out.
""",
)

CODES: tuple[Code, ...] = (
    NO_MODEL_CONFIG,
    UNKNOWN_MODEL,
    REMOTE_CODE,
    UNUSABLE_MODEL_CONFIG,
    NO_PARALLEL_PLAN,
)
