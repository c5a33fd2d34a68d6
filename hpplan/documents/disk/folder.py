"""The files that a folder, or a pattern of paths, stands for."""
# pathlib takes longer to import than a plan to read.
# ruff: noqa: PTH110, PTH113, PTH118, PTH207

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import glob

from hpplan.documents.disk.streams import STDIN, unreadable
from hpplan.documents.natural import natural_key
from hpplan.errors import UnusableRequest

DOCUMENTS = (".yaml", ".yml", ".json")
"""How the names of documents end."""

SAMPLES = (".jsonl",)
"""How the names of batches end that can be nothing else."""

_LONGEST = 1000
"""Characters of a pattern; in longer ones brackets take a time that grows with their square."""

_PATTERN = re.compile(r"[*?]|\[[^\]]+\]")


def named(arguments: Iterable[str]) -> list[str]:
    """Return what is named: paths, and what matches a pattern that is no file's name, in natural order.

    `**` crosses folders, and hidden files do not match. Raises UnusableRequest
    where nothing does.
    """
    paths: list[str] = []
    for argument in arguments:
        if len(argument) > _LONGEST or not _PATTERN.search(argument) or os.path.exists(argument):
            paths.append(argument)
            continue
        matching = sorted(glob(argument, recursive=True), key=natural_key)
        if not matching:
            raise UnusableRequest(f"No file matches '{argument}'.")
        paths += matching
    return paths


def distinct(paths: Iterable[str]) -> list[str]:
    """Return each file once, by the first of its names."""
    first_names: dict[str, str] = {}
    for path in paths:
        first_names.setdefault(path if path == STDIN else os.path.realpath(path), path)
    return list(first_names.values())


def files_in(folder: str, endings: tuple[str, ...] = DOCUMENTS) -> list[str]:
    """Return the files in a folder and below whose names end so, in natural order, hidden ones left out.

    Folders that are symbolic links are not followed. Raises UnusableRequest
    where a folder cannot be read.
    """

    def fail(error: OSError) -> None:
        raise unreadable(str(error.filename), error)

    files: list[str] = []
    for where, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (os.path.join(where, name) for name in names if not name.startswith("."))
        files += (path for path in paths if path.endswith(endings) and os.path.isfile(path))
    top = os.path.join(folder, "")
    # `.` is how people name the folder they are in, and not how they name the files there.
    shown = (path.removeprefix(top) if folder == os.curdir else path for path in files)
    return sorted(shown, key=natural_key)
