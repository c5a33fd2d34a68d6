"""Streams that take nothing: full, closed, or with nobody behind them."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

HPPLAN = f"{sys.executable} -m hpplan"
RESULTS = ["normalize {}", "explain HP211", "schema plan", "explain {}"]
HELP = ["--version", "--help", "normalize --help"]


def shell(command: str, root: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of hpplan with redirections in a shell; {} is a sample plan."""
    filled = command.replace("{}", str(root / "sample_plans" / "deepseek_v3.yaml"))
    return subprocess.run(
        ["/bin/bash", "-c", f"{HPPLAN} {filled}"], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", [*RESULTS, *HELP])
def test_full_standard_output(root: Path, command: str) -> None:
    """A result that cannot be written passes for one that was, or ends in a traceback."""
    done = shell(f"{command} >/dev/full", root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot write to standard output: No space left on device.\n"


@pytest.mark.parametrize("command", RESULTS)
def test_closed_standard_output(root: Path, command: str) -> None:
    """The same where a parent closed the stream."""
    done = shell(f"{command} >&-", root)
    assert done.returncode == 2
    assert done.stderr == "Error: Cannot write to standard output: Bad file descriptor.\n"


@pytest.mark.parametrize(
    "command",
    ["validate -", "normalize -", "route - --mesh cp=2", "workload - --model custom --image-id 9"],
)
def test_closed_standard_input(root: Path, command: str) -> None:
    """A stream that a parent closed passes for an empty one."""
    done = shell(f"{command} <&-", root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot read standard input: it is closed.\n"


@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), BrokenPipeError(32, "Broken pipe")])
def test_a_fault_elsewhere_is_a_bug(hpplan: Runner, monkeypatch: pytest.MonkeyPatch, fault: OSError) -> None:
    """A fault that no command expects passes for one of standard output, or for a reader that went away."""

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("hpplan.documents.reader.read_document", fail)
    result = hpplan("normalize", "plan.yaml")
    assert (result.status, result.stdout) == (70, "")
    assert result.stderr.startswith("Traceback")
    assert "this is a bug in hpplan" in result.stderr


def test_interrupt_while_nobody_hears(hpplan: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C counts as a fault of standard output where standard error takes nothing."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hpplan.documents.reader.read_document", interrupt)
    assert hpplan("normalize", "plan.yaml") == (130, "", "\n")
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stderr", full)
        assert hpplan("normalize", "plan.yaml").status == 130


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("command", "status"), [("validate {}", 0), ("normalize missing", 2), ("explain HP999", 2)]
)
def test_unwritable_standard_error(root: Path, command: str, status: int, stderr: str) -> None:
    """Nobody hears the message, and that changes the verdict."""
    assert shell(f"{command} {stderr} >/dev/null", root).returncode == status


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("normalize --foo", 2),
        ("normalize missing", 2),
        ("--help", 0),
        ("normalize --help", 0),
        ("normalize {}", 0),
    ],
)
def test_closed_pipe(root: Path, command: str, status: int) -> None:
    """A reader that goes away turns the verdict into another."""
    done = shell(f"{command} 2>&1 | true; exit ${{PIPESTATUS[0]}}", root)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_interrupt_while_nobody_reads(root: Path) -> None:
    """Ctrl-C while the reader of a pipe does not read ends in a traceback."""
    sample = str(root / "sample_plans" / "deepseek_v3.yaml")
    command = [sys.executable, "-m", "hpplan", "normalize", sample]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        # The plan is larger than a pipe holds, so it is writing now.
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read() == b""


def test_control_characters_in_messages_are_escaped(hpplan: Runner) -> None:
    """A file name gives orders to the terminal."""
    for argument in ("miss\x1b[31m", "--miss\x1b[31m"):
        result = hpplan("normalize", argument)
        assert result.status == 2
        assert "\x1b" not in result.stderr
    assert "Cannot read miss\\x1b[31m:" in hpplan("normalize", "miss\x1b[31m").stderr


def on_a_terminal(*arguments: str) -> str:
    """Return what a terminal gets from a run of the command line."""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123 - a descriptor
        command = [sys.executable, "-m", "hpplan", *arguments]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        found = b""
        with suppress(OSError):  # what reading raises once the other end is closed
            while piece := terminal.read(1 << 16):
                found += piece
        process.wait(timeout=30)
    return found.decode().replace("\r\n", "\n")


HIDING = "\x7f\x85\x9b31m\xa0\xad\u061c\u200b\u200e\u2028\u2029\u202e\u2066\u2069\ufeff\U000e0041"


@pytest.mark.parametrize(
    "arguments", [(), ("--diff",), ("--format", "json"), ("--print-after", "all", "--check")]
)
def test_no_control_character_reaches_a_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Text of a document that is printed as it is retitles the terminal, turns lines around or hides them."""
    path = tmp_path / f"plan{HIDING}.json"
    fields = {"boundary_classes": {}, "param_plan": {}, "x": HIDING, f"x{HIDING}": "\x1b[8m"}
    path.write_text("\ufeff" + json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    found = on_a_terminal("--color", "always", "normalize", str(path), *arguments)
    assert "\\u202e" in found.lower()
    left = re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert [one for one in left if not one.isprintable() and one != "\n"] == []


def test_a_diff_on_a_pipe_is_left_as_it_is(hpplan: Runner, tmp_path: Path) -> None:
    """Nobody could apply a diff in which characters are escaped that are none in the file."""
    path = tmp_path / "plan.json"
    fields = {"boundary_classes": {}, "param_plan": {}, "x": HIDING}
    path.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    assert HIDING in hpplan("normalize", str(path), "--diff").stdout
    shown = hpplan("--color", "always", "normalize", str(path), "--diff").stdout
    assert "\\u202e" in shown
    assert set(HIDING) & set(shown) == {"3", "1", "m"}
