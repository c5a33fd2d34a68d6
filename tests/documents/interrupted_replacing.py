"""Ends processes at every step of replacing several files, and looks at what they leave behind.

Run by itself with a folder to work in; it says how many processes ended by
each signal, or where one of them left a mixture or a temporary file.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpplan.documents.disk.files import replace_files
from hpplan.signals import leave_on_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = ("stat", "open", "fchmod", "fsync", "link", "replace", "unlink")
"""The calls into the system before which something happens."""

OLD = {"a": "old a", "there/b": "old b", "d": "same"}
NEW = {"a": "new a", "there/b": "new b", "d": "same", "made/c": "new c"}


def lay_out(folder: Path) -> list[tuple[str, str]]:
    """Make a folder as it is before, with one file behind a link; return what replaces it."""
    (folder / "there").mkdir(parents=True)
    for name, text in OLD.items():
        (folder / name).write_text(text)
    (folder / "b").symlink_to("there/b")
    names = {"a": "a", "b": "there/b", "d": "d", "made/c": "made/c"}
    return [(str(folder / name), NEW[where]) for name, where in names.items()]


def found(folder: Path) -> dict[str, str]:
    """Return the content of each file below a folder, temporary ones too."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


class Steps:
    """Counts calls into the system, and does something before one of them."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        """Take the number of the call, from 0 on, and what to do before it."""
        self.left = number
        self._act = act

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with the counting before it."""

        def counted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - any call of os
            self.left -= 1
            if self.left == -1:
                self._act()
            return call(*arguments, **options)

        return counted


def ended_at(number: int, name: str, folder: Path) -> int:
    """Replace files in a process that gets a signal before its step of this number; return how it ended."""
    texts = lay_out(folder)
    child = os.fork()
    if not child:
        leave_on_interrupt()
        steps = Steps(number, lambda: os.kill(os.getpid(), getattr(signal, name)))
        for step in STEPS:
            setattr(os, step, steps.wrap(getattr(os, step)))
        replace_files(texts, folder=str(folder / "made"))
        os._exit(0 if steps.left >= 0 else 99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path) -> None:
    """Go through all signals and steps."""
    # What is on the disk after a power cut is not what is looked at here.
    os.fsync = lambda _descriptor: None
    ends = {"SIGTERM": -signal.SIGTERM, "SIGHUP": -signal.SIGHUP, "SIGINT": 130}
    for name, expected in ends.items():
        number, statuses = 0, []
        while (status := ended_at(number, name, folder / f"{name}{number}")) != 0:
            statuses.append(status)
            here = folder / f"{name}{number}"
            left = found(here)
            assert status == expected, f"step {number} ended with {status}"
            assert left in (OLD, NEW), f"{name} at step {number} left {left}"
            assert ("made/c" in left) == (here / "made").exists(), f"{name} at step {number} left a folder"
            number += 1
        print(name, len(statuses))  # noqa: T201 - what this script is for


if __name__ == "__main__":
    main(Path(sys.argv[1]))
