"""What people see on a terminal: of 80 columns, and of an encoding that cannot show everything."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from typing import TYPE_CHECKING

import pytest

from hpplan.reports.terminal.streams import encoded

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner


def on_a_terminal(*arguments: str, columns: int = 80, **environment: str) -> tuple[int, str]:
    """Run hpplan on a terminal; return its status, and what it wrote to either stream."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    with subprocess.Popen(
        [sys.executable, "-m", "hpplan", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, "TERM": "xterm", **environment},
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # how the end of a terminal reads on Linux
            pass
    os.close(ours)
    return process.returncode, written.decode().replace("\r\n", "\n")


def test_a_diff_is_coloured_where_people_look(root: Path) -> None:
    """Without colour the few changed lines of a plan drown among the others."""
    plan = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    status, text = on_a_terminal("normalize", plan, "--diff")
    assert status == 1
    assert "\x1b[31m-" in text
    assert "\x1b[32m+normalization:\x1b[0m\n" in text
    assert "\x1b" not in on_a_terminal("normalize", plan, "--diff", NO_COLOR="1")[1]


ASCII = [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}]


@pytest.mark.parametrize("environment", ASCII, ids=str)
def test_a_terminal_that_shows_ascii(root: Path, environment: dict[str, str]) -> None:
    """Rules and shades come out as escapes, or as what such a terminal takes them for."""
    plan = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    status, text = on_a_terminal("--color", "never", "route", plan, **environment)
    assert status == 0
    assert text.isascii()
    assert "\\u" not in text
    assert re.search("^-{60,80}$", text, re.MULTILINE)
    assert re.search("blank: none, . up to [0-9,]+, : up to [0-9,]+,\\n?[* ]+up to", text)
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_that_shows_everything(root: Path) -> None:
    """Where nothing says what the terminal shows, people would look at ASCII for no reason."""
    plan = str(root / "sample_plans" / "qwen3_vl_30b_a3b.yaml")
    for environment in ({}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}):
        assert "─────" in on_a_terminal("route", plan, **environment)[1]


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("── ░▒▓█ … é", "ascii", b"-- .:*# ... \\xe9"),
        ("── … é", "latin-1", b"-- ... \xe9"),
        ("… é ──", "cp1252", b"... \xe9 --"),  # all or nothing, lest a column of a table moves
        ("… é", "cp1252", b"\x85 \xe9"),
        ("… \udcff", "utf-8", b"\xe2\x80\xa6 \\udcff"),
    ],
)
def test_what_an_encoding_lacks(text: str, encoding: str, shown: bytes) -> None:
    """What hpplan draws with has a plain form in every encoding, and what documents hold an escape."""
    assert encoded(text, encoding) == shown


def test_prose_fits_a_terminal() -> None:
    """Paragraphs break in the middle of a word, or an example is run together."""
    for arguments in (("explain", "HP330"), ("explain", "--all"), ("schema",)):
        text = on_a_terminal("--color", "never", *arguments, columns=60)[1]
        assert max(map(len, text.splitlines())) <= 60, arguments
    shown = on_a_terminal("explain", "HP330", columns=50)[1]
    assert (
        "\nNothing in it counts, so plans would be checked\nwithout the rules that belong to them.\n" in shown
    )
    assert "```toml\n[[plans]]\nfiles = plans/*.yaml       # a string needs quotes\n```\n" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("help",), 0, "Usage: hpplan [OPTIONS] COMMAND"),
        (("help", "route"), 0, "Usage: hpplan route"),
        (("help", "rout"), 2, "did you mean 'route'?"),
        (("workload", "x.jsonl"), 2, "Missing option '--model'. It is one of qwen2_vl, "),
        (("validate", "hpplan.toml"), 2, "type `hpplan --config hpplan.toml validate`."),
        (("normalize", "x/hpplan.toml"), 2, "type `hpplan --config x/hpplan.toml normalize`."),
    ],
)
def test_what_a_newcomer_types(hpplan: Runner, arguments: tuple[str, ...], status: int, said: str) -> None:
    """Somebody who does not know hpplan yet is told that something is wrong, and not what to type."""
    result = hpplan(*arguments)
    assert result.status == status
    assert said in result.stdout + result.stderr
