"""A progress bar for long runs: on standard error, where that is a terminal, and gone when they end."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hpplan.signals import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID


class ProgressBar:
    """How far a run is; on no terminal it takes the numbers and shows nothing."""

    def __init__(self, shown: tuple[Progress, TaskID] | None = None) -> None:
        """Take what shows them."""
        self._shown = shown

    def advance(self, amount: int = 1) -> None:
        """Go on by so much."""
        if self._shown is not None:
            bar, task = self._shown
            bar.advance(task, amount)

    def reach(self, done: int, total: int) -> None:
        """Be so far, of so much in all."""
        if self._shown is not None:
            bar, task = self._shown
            bar.update(task, completed=done, total=total)


@contextmanager
def progress_bar(
    doing: str, total: int | None = None, *, in_bytes: bool = False, shown: bool = True, color: bool
) -> Iterator[ProgressBar]:
    """Show what is being done, how much of `total` (None: not known yet), and the time that is left."""
    if not shown or not sys.stderr.isatty():
        yield ProgressBar()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(doing),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, no_color=not color),
        transient=True,
    )
    with interruptible(), bar:
        yield ProgressBar((bar, bar.add_task(doing, total=total)))
