"""Ctrl-C at moments when Python would show a traceback of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hpplan import __main__ as entry

if TYPE_CHECKING:
    from pathlib import Path

INTERRUPTED = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(0.1)
raise SystemExit("nobody heard")
"""


@pytest.mark.parametrize("module", ["click", "yaml", "pydantic_core"])
@pytest.mark.parametrize("starter", ["-m hpplan", "-c import_hpplan"])
def test_interrupt_during_imports(root: Path, tmp_path: Path, module: str, starter: str) -> None:
    """Ctrl-C while a command starts ends in a traceback, or in a module that takes it for a fault."""
    (tmp_path / f"{module}.py").write_text(INTERRUPTED)
    flag, what = starter.split()
    if what == "import_hpplan":  # as the command `hpplan` does
        what = "from hpplan.__main__ import run; run()"
    command = [sys.executable, flag, what, "normalize", str(root / "sample_plans" / "llama3_8b.yaml")]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_interrupt_before_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in the very first of them."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hpplan.signals.leave_on_interrupt", interrupt)
    with pytest.raises(SystemExit) as stop:
        entry.run()
    assert stop.value.code == 130


def test_ignored_interrupt(root: Path, tmp_path: Path) -> None:
    """A command that a shell runs in the background ends by the Ctrl-C for another."""
    (tmp_path / "click.py").write_text(INTERRUPTED)
    command = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "hpplan", "--version"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"nobody heard\n")
