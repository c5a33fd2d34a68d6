"""Whether two paths lead to one file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from hpplan.documents.disk.descriptors import descriptor_of


def is_standard_input(path: str | None) -> bool:
    """Whether a path stands for standard input: '-', /dev/stdin and its like."""
    return path == "-" or (path is not None and descriptor_of(path) == 0)


def overwritten(targets: Iterable[str | None], inputs: Iterable[str | None]) -> str | None:
    """Return the first of the targets that is one of the inputs, whatever leads there; None where none is."""
    read = {_file(path) for path in inputs} - {None}
    return next((target for target in targets if target != "-" and _file(target) in read), None)


def _file(path: str | None) -> tuple[int, int] | None:
    """Return what tells a regular file from all others, whatever leads to it."""
    if path is None:
        return None
    try:
        status = os.fstat(0) if path == "-" else os.stat(path)  # noqa: PTH116 - pathlib takes longer to import than this
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
