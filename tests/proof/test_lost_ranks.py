"""Ranks that prove together: one that is lost, or fails, ends the others at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import os
from hpplan.errors import ExecutionBroken
from hpplan.proof.launch import prove_together

def action(ranks):
    if ranks.coordinates["tp"] == 1:
        {what}
    ranks.together(well=True)

try:
    prove_together({{"tp": 2}}, action, sp=False)
except ExecutionBroken as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("os._exit(7)", "rank 1 of the proof was lost"),
        pytest.param(
            "raise ValueError('no such thing')",
            "rank 1 of the proof fails: ValueError: no such thing",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_lost_rank_is_named(what: str, said: str, tmp_path: Path) -> None:
    """The others would wait for it for minutes."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(what=what)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert ran.stdout == f"{said}\n", ran.stderr
    assert not list(tmp_path.iterdir())
