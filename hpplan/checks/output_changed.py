"""output-changed: a generated file that is not the one the plan recorded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.documents.disk.streams import why
from hpplan.inspection.subject import Subject

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

UNCHECKED_OUTPUT = Code(
    "HP114",
    "unchecked-output",
    "warning",
    """\
## What it finds
A file recorded under `outputs` that is not looked at: its path, or a symbolic link, leads out of the folder
of the plan; it is no regular file; it is larger than 1 GiB; or it cannot be read.

## Why it hurts
Nobody notices when it no longer is the file that the plan recorded.

## Example
```yaml
outputs:
  ../generated/modeling_llama_hp.py: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
```

## What to do
Keep generated files beside the plan or below its folder, and record them by their paths from there.
""",
)

CODES: tuple[Code, ...] = (OUTPUT_CHANGED, UNCHECKED_OUTPUT)
READS: tuple[str, ...] = ()

_DIGITS = 64
_LARGEST = 1 << 30
_PIECE = 1 << 20


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each output file beside the plan whose content is not the recorded one."""
    outputs = subject.plan.data.get("outputs")
    if not outputs or subject.folder is None:
        return
    digests = _Digests(subject.folder)
    for name, recorded, place in _recorded(outputs, subject.plan.place.at("outputs")):
        try:
            digest = digests.of(name)
        except _UncheckedError as unchecked:
            yield Diagnostic(UNCHECKED_OUTPUT, f"the file '{name}' is not looked at: {unchecked}", place)
            continue
        if digest is not None and digest != recorded:
            message = (
                f"the file '{name}' has the sha256 {digest[:12]}…, and the plan recorded {recorded[:12]}…"
            )
            yield Diagnostic(OUTPUT_CHANGED, message, place, hint="generate it again from this plan")


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


class _UncheckedError(Exception):
    """Why a file is not looked at."""


class _Digests:
    """The sha256 of files in the folder of a plan, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.realpath(folder)
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str | None:
        """Return that of a file; None where there is no such file.

        A recorded absolute path stands for its last part.
        """
        recorded = Path(name)
        try:
            # Path.resolve() raises for links in a circle, in some versions of Python.
            path = os.path.realpath(Path(self._folder, recorded.name if recorded.is_absolute() else name))
            if os.path.commonpath((self._folder, path)) != self._folder:
                raise _UncheckedError("it lies outside the folder of the plan")
            if path not in self._known:
                self._known[path] = _sha256(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise _UncheckedError(why(error)) from None
        return self._known[path]


def _sha256(path: str) -> str:
    # A pipe without a writer would be waited for.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a descriptor
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _UncheckedError("it is no regular file")
        if status.st_size > _LARGEST:
            raise _UncheckedError("it is larger than 1 GiB")
        digest = sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
        return digest.hexdigest()
