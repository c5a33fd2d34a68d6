"""A progress bar for long runs on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress_bar(*, shown: bool, color: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (done, total) that draws a bar on standard error, where shown and on a terminal."""
    if not shown or not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, no_color=not color, highlight=False)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("exchanging", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _nothing(done: int, total: int) -> None:
    del done, total
