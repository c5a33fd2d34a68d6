"""Fixtures that every area shares."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from hypothesis import HealthCheck, settings

from hpplan.cli.main import main

ROOT = Path(__file__).parents[1]

# What a change is judged by must depend neither on luck nor on how busy the machine is;
# `--hypothesis-profile=explore` looks for news.
for name, derandomize in (("repeatable", True), ("explore", False)):
    settings.register_profile(
        name, derandomize=derandomize, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("repeatable")

# Nor by how the tests were started: in a window of some width, by nohup, or as one worker of several.
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(name, None)
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep jobs of several ranks to one worker: two at once may be slow enough to be given up as hung."""
    for item in items:
        if item.path.parent.name in {"exchange", "job"}:
            item.add_marker(pytest.mark.xdist_group("jobs"))


class Result(NamedTuple):
    """How a run of the command line ended."""

    status: int
    stdout: str
    stderr: str


class Runner(Protocol):
    """Runs `hpplan` in this process."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        """Run it with arguments and return its status and output."""


@pytest.fixture
def hpplan(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Return a runner of the command line, with pipes for its streams."""

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return Result(stop.value.code, out, err)

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the checkout, for sample plans and schemas."""
    return ROOT


class ProcessRunner(Protocol):
    """Runs `python -m hpplan` as a process of its own."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        """Run it with arguments and extra environment variables; return its status and output."""


@pytest.fixture(scope="session")
def hpplan_process() -> ProcessRunner:
    """Return a runner that starts a process, for what a shared process would hide."""

    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "hpplan", *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            check=False,
            timeout=120,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
