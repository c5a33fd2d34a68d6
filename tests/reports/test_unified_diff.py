"""Unified diffs: right, whatever the texts, and the ones that `patch` understands."""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpplan.reports.changes.unified_diff import render

lines = st.lists(st.sampled_from(["a", "b", "c", "d", "x: 1", "y: 2"]), max_size=14)


def applied(diff: str, old: list[str]) -> list[str]:
    """Apply a unified diff to lines, checking every line that it claims to find."""
    result: list[str] = []
    at = 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, size = line.split()[1][1:].partition(",")
            begin = int(start) - (size != "0")
            result += old[at:begin]
            at = begin
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            if line.startswith(" "):
                result.append(line[1:])
    return result + old[at:]


def test_colour() -> None:
    """A removed line that begins with dashes is taken for the name of a file, or a colour runs on."""
    old, new = "a\n-- b\nc", "a\n\nc\nd\n"
    colored = (
        "\x1b[1m--- old\x1b[0m\n"
        "\x1b[1m+++ new\x1b[0m\n"
        "\x1b[36m@@ -1,3 +1,4 @@\x1b[0m\n"
        " a\n"
        "\x1b[31m--- b\x1b[0m\n"
        "\x1b[31m-c\x1b[0m\n\\ No newline at end of file\n"
        "\x1b[32m+\x1b[0m\n"
        "\x1b[32m+c\x1b[0m\n"
        "\x1b[32m+d\x1b[0m\n"
    )
    assert render(old, new, "old", "new", color=True) == colored
    assert render(old, new, "old", "new") == re.sub("\x1b\\[[0-9]+m", "", colored)


@given(lines, lines)
def test_applies(old: list[str], new: list[str]) -> None:
    """Applying the diff to the old text does not give the new one."""
    diff = render("".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new), "old", "new")
    assert (applied(diff, old) if diff else old) == new
    assert bool(diff) == (old != new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("".join(f"{n}\n" for n in range(20)), "".join(f"{n}\n" for n in range(20) if n not in {4, 15})),
    ],
)
def test_like_the_plain_matcher(old: str, new: str) -> None:
    """Headers, ranges or context depart from what every other tool prints."""
    expected = unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), "old", "new")
    assert render(old, new, "old", "new") == "".join(expected)


def test_last_line_without_a_break() -> None:
    """The end of the file is glued to the next line."""
    assert render("a", "a\n", "old", "new") == (
        "--- old\n+++ new\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
    )


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_line_feeds_end_lines(sign: str) -> None:
    """`git apply` takes what Python calls the end of a line for a corrupt patch."""
    assert render(f"a{sign}b\nc\n", "d\nc\n", "old", "new") == (
        f"--- old\n+++ new\n@@ -1,2 +1,2 @@\n-a{sign}b\n+d\n c\n"
    )
