"""Options and inputs that several commands share: plans, rules and strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hpplan.cli.output import Output
    from hpplan.diagnostics import Diagnostic
    from hpplan.plan.model import Plan
    from hpplan.plan.rules import RuleSet
    from hpplan.plan.strategies import Strategy, StrategyTable

F = TypeVar("F", bound="Callable[..., Any]")

PATH = click.Path(path_type=str, allow_dash=True, readable=False)
"""A file; `-` is a standard stream. Whether it can be used is found out by using it."""


class _Input(click.Path):
    """One file to read, also as a pattern that it alone matches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own
        """Return the path, or fail as click does where several match."""
        from hpplan.documents.disk.folder import named

        found = named([value])
        if len(found) > 1:
            self.fail(f"'{value}' matches {len(found)} files; name one of them", param, ctx)
        return super().convert(found[0], param, ctx)


INPUT = _Input(path_type=str, allow_dash=True, readable=False)
"""One file to read."""


def rule_options(function: F) -> F:
    """Add `--rules`, `--strategies` and `--model-type`."""
    for option in (
        click.option(
            "--model-type", metavar="T", help="Model type; wins over that of the rules and the plan."
        ),
        click.option(
            "--strategies",
            "strategies_file",
            type=INPUT,
            metavar="FILE",
            help="Strategies that join the others and win.",
        ),
        click.option(
            "--rules",
            "rules_file",
            type=INPUT,
            metavar="FILE",
            help="Inline rules, or a HyperParallel training YAML. Default: the rules in the plan itself.",
        ),
    ):
        function = option(function)
    return function


class RuleInputs:
    """The rules and strategies of a run, for each of its plans."""

    def __init__(self, output: Output, rules_file: str | None, strategies_file: str | None) -> None:
        """Read what the options name; raise InvalidInput where it is wrong."""
        from hpplan.documents.reader import read_document
        from hpplan.errors import Failures
        from hpplan.plan.rules import load_rules
        from hpplan.plan.strategies import BUILT_IN, StrategyTable, installed_strategies, load_strategies

        failures = Failures()
        self._rules: RuleSet | None = None
        given: tuple[Strategy, ...] = ()
        with failures:
            if rules_file is not None:
                self._rules = load_rules(read_document(rules_file, output.sources))
        with failures:
            if strategies_file is not None:
                given = load_strategies(read_document(strategies_file, output.sources))
        with failures:
            installed = installed_strategies()
        failures.settle()
        of_rules = self._rules.strategies if self._rules is not None else ()
        self.strategies: StrategyTable = StrategyTable(BUILT_IN, installed, of_rules, given)

    def rules(self, plan: Plan) -> RuleSet:
        """Return the rules for a plan: those of the file, else its own."""
        if self._rules is not None:
            return self._rules
        from hpplan.plan.rules import rules_of_plan

        return rules_of_plan(plan)


def as_errors(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return findings with the warnings among them as errors."""
    from dataclasses import replace

    return [replace(item, severity="error") if item.level == "warning" else item for item in findings]


def note_warnings(output: Output, warnings: Iterable[Diagnostic], *, strict: bool = False) -> None:
    """Write warnings to standard error; with `strict`, raise them as errors."""
    import sys

    from hpplan.errors import InvalidInput

    found = list(warnings)
    if not found:
        return
    if strict and any(item.level == "warning" for item in found):
        raise InvalidInput(as_errors(found))
    from hpplan.reports.findings.concise import render

    output.note(render(found, output.sources, color=output.use_color(sys.stderr)))
