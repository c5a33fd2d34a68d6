"""`hpplan normalize`: run the passes and emit the normalized plan."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hpplan.cli.inputs import (
    named_documents,
    note_warnings,
    only_one_standard_input,
    plan_paths,
    read_rules,
    refuse_overwriting,
)
from hpplan.cli.names import complete_passes
from hpplan.cli.options import PATH, Command, format_option, named_options, output_option, rule_options
from hpplan.cli.output import Output
from hpplan.diagnostics import Diagnostic
from hpplan.documents.disk.descriptors import descriptor_of
from hpplan.documents.disk.same_file import is_standard_input
from hpplan.errors import Failures

if TYPE_CHECKING:
    from hpplan.documents.source import Format
    from hpplan.passes.normalized_file import FileText, NormalizedFile
    from hpplan.passes.pipeline import Pass
    from hpplan.plan.model import Plan
    from hpplan.validation.configuration import Configuration
    from hpplan.validation.named_documents import NamedDocuments


class _Options(NamedTuple):
    rules_file: str | None
    strategies_file: str | None
    model_type: str | None
    output_file: str | None
    format_name: Format | None
    pass_names: str | None
    print_after: tuple[str, ...]
    skip_foreign: bool
    show_skipped: bool
    write: bool
    canonical: bool
    check: bool
    diff: bool
    changes: bool
    bare: bool
    strict: bool

    @property
    def writes_nothing(self) -> bool:
        return self.check or self.diff

    def refuse_several(self, plans: int) -> None:
        if plans > 1 and self.output_file is not None:
            raise click.UsageError("-o names one file for several plans; use -w, or one call for each plan")
        if plans > 1 and not (self.write or self.writes_nothing or self.changes):
            raise click.UsageError("several plans need -w, --check, --diff or --changes")


class _Command(Command):
    """A command whose help ends with the table of passes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each pass, in the order they run, with the first line of what it says of itself."""
        from hpplan.passes.pipeline import PASSES

        with formatter.section("Passes"):
            formatter.write_dl([(step.name, (step.__doc__ or "").partition("\n")[0]) for step in PASSES])


@click.command(
    "normalize", cls=_Command, short_help="Run the passes over plans and emit the normalized plans."
)
@click.argument("plans", nargs=-1, type=PATH, metavar="[PLAN]...")
@rule_options
@named_options("plans")
@output_option()
@click.option(
    "-w",
    "--write",
    is_flag=True,
    help="Change each plan in its own file, and nothing but what the passes do.",
)
@click.option(
    "--canonical",
    is_flag=True,
    help="With -w, --check and --diff: the whole file in hpplan's own form, as -o writes it.",
)
@format_option("Format to write. Default: by the name of FILE with -o, else the plan's own.")
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit with 1 and name what would change in the plan, or in FILE with -o.",
)
@click.option(
    "--diff", is_flag=True, help="Write nothing; print a unified diff, and exit with 1 where there is one."
)
@click.option("--changes", is_flag=True, help="Print what each pass did and why, instead of the plan.")
@click.option(
    "--passes",
    "pass_names",
    metavar="A,B",
    shell_complete=complete_passes,
    help="Run only these passes, in their usual order.",
)
@click.option(
    "--print-after",
    multiple=True,
    metavar="PASS",
    shell_complete=complete_passes,
    help="Print the plan after PASS ('all': each) to standard error.",
)
@click.option("--bare", is_flag=True, help="Leave out the normalization record.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.pass_obj
def command(output: Output, /, plans: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401 - the fields of _Options
    """Run the passes over plans, in the order below.

    The normalized plan goes to standard output, or where -o or --write say.
    A PLAN of '-' is read from standard input; a folder stands for the plans in
    it and below, a pattern such as 'plans/**/*.yaml' for what matches. Without
    a PLAN, the plans are those that the nearest hpplan.toml names.

    --write keeps a file's comments and layout; where nothing is to strip or
    mark, it leaves the file alone. The canonical form, which standard output
    and -o get, keeps only the comments before the first line of the plan.
    """
    from hpplan.documents.disk.folder import distinct
    from hpplan.documents.source import format_of_name

    asked = _Options(**options)
    if not asked.skip_foreign:
        asked.refuse_several(len(plans))
    named = {"skip_foreign": asked.skip_foreign, "show_skipped": asked.show_skipped}
    documents = named_documents(output, "hpplan normalize", ("plan",), **named)
    paths, whole = plan_paths(output, documents, plans, "PLAN...")
    paths = distinct(output.configurations.source_of(path) for path in paths)
    _check_options(paths, asked)
    files = _normalize(output, documents, paths, asked, whole)
    failures, output_file = documents.failures, asked.output_file
    if not (asked.writes_nothing or (asked.changes and not asked.write and output_file is None)):
        failures.settle()
    asked.refuse_several(len(files))
    format_name = asked.format_name or (None if output_file is None else format_of_name(output_file))
    if asked.writes_nothing:
        status = _compare(output, failures, files, asked, format_name)
        output.settle(failures)
        return status
    if asked.write:
        texts = [(file.target, file.written(asked.format_name, canonical=asked.canonical)) for file in files]
        _write(output, files, texts)
    elif output_file is not None and output_file != "-":
        _write(output, files, [(output_file, file.anew(format_name, output_file)) for file in files])
    elif files and not asked.changes:
        output.result(files[0].canonical(format_name))
    if asked.changes:
        _show_changes(output, files, as_json=asked.format_name == "json")
    output.settle(failures)
    return 0


def _normalize(
    output: Output, documents: NamedDocuments, paths: list[str], asked: _Options, whole: Configuration | None
) -> list[NormalizedFile]:
    """Normalize every plan before anything is written; what is wrong with any goes into the failures."""
    from hpplan.api.documents import document_text
    from hpplan.api.plans import load_plan, normalize
    from hpplan.diagnostics import as_errors
    from hpplan.errors import InvalidInput
    from hpplan.passes.normalized_file import NormalizedFile
    from hpplan.passes.pipeline import passes_named

    passes = None if asked.pass_names is None else [name.strip() for name in asked.pass_names.split(",")]
    shown = _shown_passes(asked.print_after, passes_named(passes))

    def show(step: Pass, plan: Plan) -> None:
        if step.name in shown:
            output.note(f"# after {step.name}\n{document_text(plan)}")

    rules_of = cache(lambda rules, strategies: read_rules(output, rules, strategies))
    with documents.failures:
        rules_of(asked.rules_file, asked.strategies_file)
    files: list[NormalizedFile] = []
    warnings: list[Diagnostic] = []
    for path in paths:
        with documents.failures:
            document = documents.read(path)
            if document is None:
                continue
            plan = load_plan(document)
            output.configurations.check([path])
            settings = output.configurations.settings(path).under(
                rules=asked.rules_file,
                strategies=asked.strategies_file,
                model_type=asked.model_type,
                bare=asked.bare,
                strict=asked.strict,
            )
            normalized = normalize(
                plan,
                *rules_of(settings.rules, settings.strategies),
                model_type=settings.model_type,
                passes=passes,
                record=not settings.bare,
                after=show if shown else None,
            )
            files.append(NormalizedFile(path, settings.normalized or path, plan, normalized, document.source))
            errors = [
                warning for warning in normalized.warnings if settings.strict and warning.level == "warning"
            ]
            warnings += (warning for warning in normalized.warnings if warning not in errors)
            if errors:
                raise InvalidInput(as_errors(errors))
    documents.check()
    with documents.failures:
        output.configurations.check([file.path for file in files], whole)
    # Several plans may share one rules file, and then each of them finds the same fault in it.
    note_warnings(output, dict.fromkeys(warnings))
    return files


def _check_options(plans: list[str], asked: _Options) -> None:
    rules = (asked.rules_file, asked.strategies_file)
    only_one_standard_input((*plans, *rules))
    if asked.writes_nothing:
        if asked.write:
            raise click.UsageError("--check and --diff write nothing; leave out -w")
        if asked.changes:
            raise click.UsageError("--changes and --check or --diff are two answers; ask for one of them")
        if asked.output_file == "-":
            raise click.UsageError("--check and --diff compare with a file; '-' is none")
        return
    refuse_overwriting([asked.output_file], rules)
    if not asked.write:
        return
    if asked.output_file is not None:
        raise click.UsageError("-w writes each plan to its own file, and -o names another; give one of them")
    streams = [path for path in plans if path == "-" or descriptor_of(path) is not None]
    if streams:
        what = "standard input" if is_standard_input(streams[0]) else "an open stream"
        raise click.UsageError(f"{what} ('{streams[0]}') has no file to write to; leave out -w")
    if any(os.path.exists(path) and not os.path.isfile(path) for path in plans):  # noqa: PTH110, PTH113 - pathlib takes longer to import
        raise click.UsageError("-w replaces regular files, and one of the plans is none")


def _shown_passes(names: tuple[str, ...], passes: tuple[Pass, ...]) -> set[str]:
    known = [step.name for step in passes]
    for name in names:
        if name not in {*known, "all"}:
            message = f"'{name}' is no pass here; the passes that run are {', '.join(known)}"
            raise click.BadParameter(message, param_hint="'--print-after'")
    return set(known if "all" in names else names)


def _write(output: Output, files: list[NormalizedFile], texts: list[tuple[str, FileText]]) -> None:
    """Write the text of each plan to its target, or none of them."""
    from hpplan.reports.changes.table import summarize

    changed = output.write_files(
        ((target, text.text) for target, text in texts), replaced=[file.path for file in files]
    )
    for file, (target, text), written in zip(files, texts, changed, strict=True):
        for note in text.notes if written else ():
            output.complain(f"{target}: {note}")
        if file.normalized.changes:
            message = summarize(file.normalized.changes)
        else:
            message = f"{text.how}, nothing to strip or mark" if written else "already normalized"
        output.complain(f"{target}: {message}")


def _compare(
    output: Output,
    failures: Failures,
    files: list[NormalizedFile],
    asked: _Options,
    format_name: Format | None,
) -> int:
    """Compare each normalized plan with the file it would go to; return the status."""
    from hpplan.api.plans import compare, load_plan
    from hpplan.documents.reader import read_document
    from hpplan.reports.changes.diff import would_change
    from hpplan.reports.changes.unified_diff import render
    from hpplan.validation.kinds import take

    status, color = 0, output.use_color(sys.stdout)
    for file in files:
        with failures:
            source, before = file.source, file.before
            target = asked.output_file or file.target
            if asked.output_file is None and target == file.path:
                text = file.in_place(format_name, canonical=asked.canonical).text
            elif asked.output_file is None and not os.path.exists(target):  # noqa: PTH110 - pathlib takes longer to import
                status = 1
                output.result(f"{target}: is not there yet; `hpplan normalize --write` makes it")
                continue
            else:
                document = read_document(target, output.sources)
                take(document, "hpplan normalize", "plan")
                source, before = document.source, load_plan(document)
                text = file.canonical(format_name or source.own_format, source.name)
            if text != source.marked_text:
                status, name = 1, source.name
                output.result(
                    render(source.marked_text, text, name, f"{name} (normalized)", color=color)
                    if asked.diff
                    else would_change(name, compare(before, file.normalized.plan), color=color)
                )
    return status


def _show_changes(output: Output, files: list[NormalizedFile], *, as_json: bool) -> None:
    from hpplan.reports.changes.table import render, render_json

    changes = [(file.source.name, file.normalized.changes) for file in files]
    if as_json:
        output.result(render_json(changes))
    for name, of_file in () if as_json else changes:
        output.result(render(name, of_file, output.screen()))
