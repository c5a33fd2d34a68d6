"""Streams that take nothing: full, closed, or with nobody behind them."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hpplan.documents.disk.descriptors import write_all

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

HPPLAN = f"{sys.executable} -m hpplan"
RESULTS = ["normalize {}", "explain HP211", "schema plan", "explain {}"]
HELP = ["--version", "--help", "normalize --help"]


def shell(command: str, root: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command line of hpplan with redirections in a shell; {} is a sample plan."""
    filled = command.replace("{}", str(root / "sample_plans" / "deepseek_v3.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            ["/bin/bash", "-c", f"{before} {HPPLAN} {filled}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
        )


@pytest.mark.parametrize("command", [*RESULTS, *HELP])
def test_full_standard_output(root: Path, command: str) -> None:
    """A result that cannot be written passes for one that was, or ends in a traceback."""
    done = shell(f"{command} >/dev/full", root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot write to standard output: No space left on device.\n"


EVERY_ANSWER = [
    *(
        f"validate {{b}}/class-contracts-differ.yaml --output-format {name}"
        for name in ("full", "concise", "json", "jsonl", "github", "gitlab", "junit", "sarif")
    ),
    "validate {b}/dp-placement.yaml",
    "validate {b}/dp-placement.yaml --statistics --output-format json",
    "normalize {p} --format json",
    "normalize {p} --changes",
    "normalize {p} --diff",
    "normalize {p} --check",
    "explain {p}",
    "explain {p} model.layers.3.mlp",
    "diff {p} {n}",
    "diff {p} {n} --format json",
    *(f"route {{v}} --format {name}" for name in ("table", "json", "yaml", "csv", "html", "svg")),
    "route {v} --export nccl-matrix",
    "route {v} --export param --rank 0",
    "route {v} --rank all --format json",
    "route {v} --compare",
    "workload {s} --model qwen3_vl",
    "compile {v} -o {out}",
    "schema",
    "exec --help",
]


@pytest.mark.parametrize("command", EVERY_ANSWER)
def test_every_answer_on_a_full_device(
    hpplan: Runner, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A command or a format has a way of its own to standard output, and ends well where that is full."""
    samples = root / "sample_plans"
    filled = command.format(
        b=samples / "broken",
        p=samples / "deepseek_v3.yaml",
        n=samples / "deepseek_v3.normalized.yaml",
        v=samples / "qwen3_vl_30b_a3b.yaml",
        s=samples / "batches" / "qwen3_vl.jsonl",
        out=tmp_path,
    )
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", full)
        result = hpplan(*filled.split())
    last = result.stderr.splitlines()[-1]
    assert (result.status, last) == (2, "Error: Cannot write to standard output: No space left on device.")
    assert result.stderr.count("Error:") == 1


@pytest.mark.parametrize("command", ["normalize {}", "--help"])
def test_short_writes(root: Path, command: str) -> None:
    """Python writes without a buffer, the system takes a part, and the rest is lost in silence."""
    done = shell(f"{command} >out", root, "ulimit -f 1; export PYTHONUNBUFFERED=1;")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot write to standard output: File too large.\n"


def test_completion_on_a_full_device(root: Path) -> None:
    """A shell takes what is left of a completion script for the whole."""
    done = shell(">/dev/full", root, "export PYTHONUNBUFFERED=1 _HPPLAN_COMPLETE=bash_source;")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot write to standard output: No space left on device.\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_pipe_that_does_not_block(hpplan: Runner, root: Path, unbuffered: str) -> None:
    """A plan is cut short where a pipe is full for a moment and says so instead of blocking."""
    sample = str(root / "sample_plans" / "deepseek_v3.yaml")
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = [sys.executable, "-m", "hpplan", "normalize", sample]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=writing, env=environment) as process:
        os.close(writing)
        with open(reading, encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
            # The pipe is full once so many bytes wait in it.
            while int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, b"\0" * 4), sys.byteorder) < 65_536:
                time.sleep(0.01)
            received = stream.read()
        assert process.wait(timeout=60) == 0
    assert received == hpplan("normalize", sample).stdout


def test_bytes_arrive_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device takes a part of what it is given, or nothing for a while, and the rest never comes."""
    reading, writing = os.pipe()
    write, moods = os.write, itertools.cycle([0, 1, 3, 0])

    def grudging(descriptor: int, data: memoryview) -> int:
        if not (most := next(moods)):
            raise BlockingIOError
        return write(descriptor, data[:most])

    monkeypatch.setattr(os, "write", grudging)
    write_all(writing, b"all of it")
    os.close(writing)
    with open(reading, "rb") as stream:  # noqa: PTH123 - a descriptor
        assert stream.read() == b"all of it"


def test_full_disk_of_a_network(hpplan: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that takes everything at first, and reports a full disk on closing, is not heard."""

    def full(_descriptor: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patches:
        patches.setattr(os, "close", full)
        status = hpplan("explain", "HP211").status
    assert status == 2


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
    ("command", "status"), [("validate {} --ignore HP222", 0), ("normalize missing", 2), ("explain HP999", 2)]
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
    "arguments", [(), ("--diff", "--canonical"), ("--format", "json"), ("--print-after", "all", "--check")]
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
    assert HIDING in hpplan("normalize", str(path), "--diff", "--canonical").stdout
    shown = hpplan("--color", "always", "normalize", str(path), "--diff", "--canonical").stdout
    assert "\\u202e" in shown
    assert set(HIDING) & set(shown) == {"3", "1", "m"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["validate", "/dev/zero"], "Cannot read /dev/zero: it goes on beyond 2 MiB."),
        (["workload", "/dev/zero", "--model", "custom"], "Cannot read /dev/zero: it goes on beyond 1 MiB."),
        (["workload", "array", "--model", "custom"], "Cannot read array: it goes on beyond 2 MiB."),
    ],
)
def test_an_endless_input(
    hpplan: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], named: str
) -> None:
    """What has no end is read until all memory is taken."""
    monkeypatch.setattr("hpplan.documents.disk.streams.MAX_BYTES", 1 << 21)
    monkeypatch.setattr("hpplan.documents.json_text.samples.MAX_SAMPLE", 1 << 20)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "array").write_bytes(b"[[" + b"1," * 2**21)
    result = hpplan(*arguments)
    assert result.status in {1, 2}
    assert result.stdout == ""
    assert named in result.stderr
