"""The README says what the code does now."""

from __future__ import annotations

import re

from readme_blocks import README, ROOT, commands, refreshed

from hpplan.cli.main import COMMANDS
from hpplan.diagnostics import Place
from hpplan.documents.source import Sources
from hpplan.documents.toml_data import parse_toml
from hpplan.plan.configuration import PLANS, check_configuration


def test_generated_parts_are_fresh() -> None:
    """The README shows output that the command no longer prints; run tests/readme/readme_blocks.py."""
    text = README.read_text(encoding="utf-8")
    assert refreshed(text) == text


def test_every_command_shows_its_help() -> None:
    """A command is missing from the README."""
    shown = commands(README.read_text(encoding="utf-8"))
    assert [f"hpplan {name} --help" for name in COMMANDS if f"hpplan {name} --help" not in shown] == []


def test_the_configuration_is_one() -> None:
    """Whoever copies the configuration gets an error, or a setting is nowhere explained."""
    text = README.read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    data = parse_toml(block.encode(), "hpplan.toml", Sources())
    assert list(check_configuration(data, Place("hpplan.toml"))) == []
    (table,) = re.findall(r"\| setting .*?\n\n", text, re.DOTALL)
    assert set(re.findall(r"`([a-z_]+)`", table)) >= set(PLANS.names)


def test_ci_runs_the_test_command() -> None:
    """CI tests in another way than the README tells people to."""
    command = "python -m pip install -e '.[test]' && python -m pytest -n 2"
    assert command in README.read_text(encoding="utf-8")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
