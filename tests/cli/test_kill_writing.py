"""Commands that are killed while they write leave old files or new ones; the long form is a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kill_writing import SIGNALS, Killing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_killed_commands_leave_old_or_new(tmp_path: Path) -> None:
    """A scheduler that ends a job in the middle of its writing leaves a half of the result."""
    killing = Killing(tmp_path / "job", seed=1, names=("normalize", "traces"))
    for name in killing.jobs:
        for number in SIGNALS:
            killing.kill(name, number, aimed=True)
    assert sum(killing.seen[what] for what in ("all old", "all new")) >= 6
