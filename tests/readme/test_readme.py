"""The README says what the code does now."""

from __future__ import annotations

from readme_blocks import README, ROOT, commands, refreshed

from hpplan.cli.main import COMMANDS


def test_generated_parts_are_fresh() -> None:
    """The README shows output that the command no longer prints; run tests/readme/readme_blocks.py."""
    text = README.read_text(encoding="utf-8")
    assert refreshed(text) == text


def test_every_command_shows_its_help() -> None:
    """A command is missing from the README."""
    shown = commands(README.read_text(encoding="utf-8"))
    assert [f"hpplan {name} --help" for name in COMMANDS if f"hpplan {name} --help" not in shown] == []


def test_ci_runs_the_test_command() -> None:
    """CI tests in another way than the README tells people to."""
    command = "python -m pip install -e '.[test]' && python -m pytest"
    assert command in README.read_text(encoding="utf-8")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
