"""What commands read: documents by name, rules, models; and what they warn of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from hpplan.cli.output import Output
from hpplan.documents.disk.same_file import is_standard_input, overwritten

if TYPE_CHECKING:
    from hpplan.diagnostics import Diagnostic
    from hpplan.models.facts import ModelFacts
    from hpplan.plan.rules import RuleSet
    from hpplan.plan.strategies import StrategyTable
    from hpplan.validation.configuration import Configuration
    from hpplan.validation.named_documents import NamedDocuments


def named_documents(
    output: Output, taker: str, wanted: tuple[str, ...], *, skip_foreign: bool, show_skipped: bool
) -> NamedDocuments:
    """Return what reads documents of the wanted kinds, as `options.named_options` say."""
    from hpplan.validation.named_documents import NamedDocuments

    told = output.complain if show_skipped else None
    return NamedDocuments(output.sources, taker, wanted, skip_foreign=skip_foreign, show_skipped=told)


def plan_paths(
    output: Output, documents: NamedDocuments, arguments: Sequence[str], argument: str
) -> tuple[list[str], Configuration | None]:
    """Return the paths that a command line names, or those that the configuration does, with that one."""
    if arguments:
        return documents.paths(arguments), None
    from hpplan.validation.configurations import FILE

    here = output.configurations.of_folder(os.curdir)
    if here is None:
        raise click.UsageError(f"Missing argument '{argument}', and no {FILE} here or above names plans.")
    paths = here.plans()
    if not here.names_plans:
        raise click.UsageError(
            f"Missing argument '{argument}', and {here.name} names no plans; give it a table [[plans]]."
        )
    documents.look_at(paths)
    return paths, here


def only_one_standard_input(paths: Iterable[str | None]) -> None:
    """Refuse a command line that would read standard input twice."""
    if sum(map(is_standard_input, paths)) > 1:
        raise click.UsageError("standard input ('-') can be read only once")


def refuse_overwriting(
    targets: Iterable[str | None],
    inputs: Iterable[str | None],
    option: str = "-o",
    *,
    folder: str | None = None,
) -> None:
    """Refuse a command line whose output would take the place of a file it reads; `folder` holds several."""
    target = overwritten(targets, inputs)
    if target is not None and folder is not None:
        raise click.UsageError(
            f"{option} {folder} would overwrite {target}, which is read; name another folder"
        )
    if target is not None:
        raise click.UsageError(f"{option} {target} would overwrite what is read from it; name another file")


def read_rules(
    output: Output, rules_file: str | None, strategies_file: str | None
) -> tuple[RuleSet | None, StrategyTable]:
    """Return the rules of a file, if there is one, and the strategies that are known with its own.

    Raises InvalidInput with everything that is wrong with either.
    """
    from hpplan.api.plans import load_rules, load_strategies
    from hpplan.errors import Failures

    failures = Failures()
    rules = None
    with failures:
        if rules_file is not None:
            rules = load_rules(rules_file, output.sources)
    with failures:
        strategies = load_strategies(strategies_file, rules, output.sources)
    failures.settle()
    return rules, strategies


def read_model(output: Output, path: str, taker: str) -> ModelFacts:
    """Return the model of the configuration at a path, or in the folder there, for what `taker` names.

    Raises what reading does, UnusableRequest for a document of another kind,
    and InvalidInput for one that is about no model.
    """
    from hpplan.api.documents import read_document
    from hpplan.api.plans import load_model
    from hpplan.models.config import path_of
    from hpplan.validation.kinds import take

    document = read_document(path_of(path), output.sources)
    take(document, taker, "model-config")
    if "auto_map" in document.data:
        output.complain(
            f"Note: {document.source.name} names code of its own (`auto_map`); "
            "only transformers' own model is looked at."
        )
    return load_model(document)


def note_warnings(output: Output, warnings: Iterable[Diagnostic], *, strict: bool = False) -> None:
    """Write warnings to standard error; with `strict`, raise them as errors."""
    findings = list(warnings)
    if not findings:
        return
    if strict and any(finding.level == "warning" for finding in findings):
        from hpplan.diagnostics import as_errors
        from hpplan.errors import InvalidInput

        raise InvalidInput(as_errors(findings))
    from hpplan.reports.findings.concise import render

    output.note(render(findings, output.sources, color=output.use_color(sys.stderr)))
