"""What must not be read twice, or written over while it is read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import click

from hpplan.documents.disk.descriptors import descriptor_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_standard_input(path: str | None) -> bool:
    """Whether a path stands for standard input: '-', /dev/stdin and its like."""
    return path == "-" or (path is not None and descriptor_of(path) == 0)


def only_one_standard_input(paths: Iterable[str | None]) -> None:
    """Refuse a command line that would read standard input twice."""
    if sum(map(is_standard_input, paths)) > 1:
        raise click.UsageError("standard input ('-') can be read only once")


def refuse_overwriting(
    targets: Iterable[str | None],
    inputs: Iterable[str | None],
    option: str = "-o",
    *,
    folder: str | None = None,
) -> None:
    """Refuse a command line whose output would take the place of a file it reads; `folder` holds several."""
    target = overwritten(targets, inputs)
    if target is not None and folder is not None:
        raise click.UsageError(
            f"{option} {folder} would overwrite {target}, which is read; name another folder"
        )
    if target is not None:
        raise click.UsageError(f"{option} {target} would overwrite what is read from it; name another file")


def overwritten(targets: Iterable[str | None], inputs: Iterable[str | None]) -> str | None:
    """Return the first of the targets that is one of the inputs, whatever leads there; None where none is."""
    read = {_file(path) for path in inputs} - {None}
    return next((one for one in targets if one != "-" and _file(one) in read), None)


def _file(path: str | None) -> tuple[int, int] | None:
    """Return what tells a regular file from all others, whatever leads to it."""
    if path is None:
        return None
    try:
        status = os.fstat(0) if path == "-" else os.stat(path)  # noqa: PTH116 - pathlib takes longer to import than this
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
