"""output-changed: a generated file that is not the one the plan recorded."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.checks.subject import Subject
    from hpplan.diagnostics import Place

OUTPUT_CHANGED = Code(
    "HP221",
    "output-changed",
    "error",
    """\
## What it finds
A file recorded under `outputs` that lies beside the plan and whose sha256 is not the recorded one. A file
that is not there is not looked for.

## Why it hurts
The plan and the code that was generated from it belong together. A file that was edited, or generated
again from another plan, trains something that the plan does not describe.

## Example
```yaml
outputs:
  modeling_llama_hp.py: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
```

## What to do
Generate the files again, and do not edit them.
""",
)

CODES: tuple[Code, ...] = (OUTPUT_CHANGED,)

_DIGITS = 64


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each output file beside the plan whose content is not the recorded one."""
    outputs = subject.plan.data.get("outputs")
    if outputs and subject.folder is not None:
        for name, recorded, place in _recorded(outputs, subject.plan.place.at("outputs")):
            found = _digest(subject.folder, name)
            if found is not None and found != recorded:
                yield Diagnostic(
                    OUTPUT_CHANGED,
                    f"the file '{name}' has the sha256 {found[:12]}…, and the plan recorded {recorded[:12]}…",
                    place,
                    hint="generate it again from this plan",
                )


def _recorded(outputs: Any, place: Place) -> Iterator[tuple[str, str, Place]]:  # noqa: ANN401 - any mapping is allowed here
    """Yield the name, the sha256 and the place of each recorded file.

    A record is `name: sha256`, or a mapping with `sha256` and perhaps `path`.
    """
    items = outputs.items() if isinstance(outputs, dict) else enumerate(outputs)
    for key, value in items:
        here = place.at(key)
        if isinstance(value, str) and isinstance(key, str):
            digest = value.removeprefix("sha256:").lower()
            if len(digest) == _DIGITS and not digest.strip("0123456789abcdef"):
                yield key, digest, here
        elif isinstance(value, dict):
            name, recorded = value.get("path", key), value.get("sha256")
            if isinstance(name, str) and isinstance(recorded, str):
                yield name, recorded.removeprefix("sha256:").lower(), here.at("sha256")
            else:
                yield from _recorded(value, here)
        elif isinstance(value, list):
            yield from _recorded(value, here)


def _digest(folder: Path, name: str) -> str | None:
    """Return the sha256 of a file beside the plan; a recorded absolute path stands for its last part."""
    recorded = Path(name)
    file = folder / (recorded.name if recorded.is_absolute() else recorded)
    try:
        return sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    except (OSError, ValueError):
        return None
