"""An option that takes one value and is given several."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click
import pytest

from hpplan.cli.main import COMMANDS

if TYPE_CHECKING:
    from conftest import Runner

OPTIONS = [
    (name, option)
    for name in COMMANDS
    for option in importlib.import_module(f"hpplan.cli.{name}").command.params
    if isinstance(option, click.Option)
]


@pytest.mark.parametrize(
    ("command", "option"), OPTIONS, ids=[f"{name} {one.opts[0]}" for name, one in OPTIONS]
)
def test_each_option_of_each_command(hpplan: Runner, command: str, option: click.Option) -> None:
    """The last value counts in silence; or what may be given several times may not."""
    value = [] if option.is_flag else ["x"]
    result = hpplan(command, option.opts[-1], *value, (option.secondary_opts or option.opts)[0], *value)
    refused = result.status == 2 and "is given twice; give it once" in result.stderr
    assert refused == (not option.multiple and bool(value or option.secondary_opts))


def test_before_the_command(hpplan: Runner) -> None:
    """What stands before the command is left out."""
    result = hpplan("--color", "never", "--color", "always", "schema")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith("Error: --color is given twice; give it once\n")


@pytest.mark.parametrize("words", [("route", "--mesh", "a", "--mesh", "b", "-h"), ("--version", "--version")])
def test_help_comes_first(hpplan: Runner, words: tuple[str, ...]) -> None:
    """Who asks for help is told off."""
    assert hpplan(*words).status == 0


def test_other_faults_keep_their_words(hpplan: Runner) -> None:
    """Looking for repeated options takes the place of what click says, or of a way out."""
    result = hpplan("route", "--meshh", "a", "--pad", "--pad")
    assert result.status == 2
    assert "No such option" in result.stderr
    assert "hpplan --color WHEN validate" in hpplan("validate", "--color", "x").stderr
