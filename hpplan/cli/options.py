"""Options that several commands share, and what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hpplan.errors import UnusableArgument

F = TypeVar("F", bound="Callable[..., Any]")

PATH = click.Path(path_type=str, allow_dash=True, readable=False)
"""A file; `-` is a standard stream. Whether it can be used is found out by using it."""


class _Input(click.Path):
    """One file to read, also as a pattern that it alone matches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own
        """Return the path, or fail as click does where several match."""
        from hpplan.documents.disk.folder import named

        paths = named([value])
        if len(paths) > 1:
            self.fail(f"'{value}' matches {len(paths)} files; name one of them", param, ctx)
        return super().convert(paths[0], param, ctx)


INPUT = _Input(path_type=str, allow_dash=True, readable=False)
"""One file to read."""


class Command(click.Command):
    """A command that calls an argument of the library by its option, where there is no such thing."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own
        """Run the command."""
        try:
            return super().invoke(ctx)
        except UnusableArgument as error:
            raise as_bad_parameter(error, ctx) from None


def as_bad_parameter(error: UnusableArgument, ctx: click.Context | None = None) -> click.BadParameter:
    """Return what click says where the value of an option is wrong."""
    return click.BadParameter(error.message, ctx, param_hint=f"'--{error.argument.replace('_', '-')}'")


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options, in the order in which help shows them."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


rule_files = together(
    click.option(
        "--rules",
        "rules_file",
        type=INPUT,
        metavar="FILE",
        help="Inline rules, or a HyperParallel training YAML. Default: the rules in the plan itself.",
    ),
    click.option(
        "--strategies",
        "strategies_file",
        type=INPUT,
        metavar="FILE",
        help="Strategies that join the others and win.",
    ),
)
"""What `inputs.read_rules` reads."""

rule_options = together(
    rule_files,
    click.option("--model-type", metavar="T", help="Model type; wins over that of the rules and the plan."),
)


def named_options(what: str) -> Callable[[F], F]:
    """Add the options that `inputs.named_documents` takes; `what` says what a file is that is not skipped."""
    return together(
        click.option(
            "--skip-foreign",
            is_flag=True,
            help=f"Leave out files that are no {what} instead of refusing them, as in a folder.",
        ),
        click.option("--show-skipped", is_flag=True, help="Name the files that are left out, and why."),
    )


def output_option(what: str = "Write to FILE.") -> Callable[[F], F]:
    """Add `-o FILE`."""
    return click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help=what)


def format_option(what: str, *names: str, **attributes: Any) -> Callable[[F], F]:  # noqa: ANN401 - click's own
    """Add `--format`; without names, of a document."""
    choice = click.Choice(names or ("yaml", "json"))
    return click.option("--format", "format_name", type=choice, help=what, **attributes)
