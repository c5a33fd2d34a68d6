"""`hpplan normalize`: run the passes and emit the normalized plan."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.completion import complete_passes
from hpplan.cli.found import Found, found_options
from hpplan.cli.inputs import PATH, RuleInputs, as_errors, note_warnings, rule_options
from hpplan.cli.normalize_run import Run, canonical_text
from hpplan.cli.overwriting import is_standard_input, only_one_standard_input, refuse_overwriting
from hpplan.documents.disk.descriptors import descriptor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hpplan.cli.normalize_run import Put
    from hpplan.cli.output import Output
    from hpplan.diagnostics import Diagnostic
    from hpplan.documents.source import Format, Source
    from hpplan.errors import Failures
    from hpplan.passes.pipeline import Pass
    from hpplan.plan.model import Plan
    from hpplan.validation.configuration import Configuration


@click.command("normalize", short_help="Run the passes over plans and emit the normalized plans.")
@click.argument("plans", nargs=-1, type=PATH, metavar="[PLAN]...")
@rule_options
@found_options("plans")
@click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help="Write to FILE.")
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
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["yaml", "json"]),
    help="Format to write. Default: by the name of FILE with -o, else the plan's own.",
)
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
def command(
    output: Output,
    plans: tuple[str, ...],
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    output_file: str | None,
    format_name: Format | None,
    pass_names: str | None,
    print_after: tuple[str, ...],
    *,
    skip_foreign: bool,
    show_skipped: bool,
    write: bool,
    canonical: bool,
    check: bool,
    diff: bool,
    changes: bool,
    bare: bool,
    strict: bool,
) -> int:
    """Run ep-strip, external-state-strip and shared-class-mark over plans.

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

    several = write or check or diff or changes
    if not skip_foreign:
        _refuse_several(len(plans), output_file, several=several)
    found = Found(
        output.sources,
        "hpplan normalize",
        ("plan",),
        output.complain,
        skip_foreign=skip_foreign,
        show_skipped=show_skipped,
    )
    configurations = output.configurations
    paths, whole = configurations.paths(found, plans, "PLAN...")
    paths = distinct(configurations.source_of(path) for path in paths)
    _check_options(
        paths, rules_file, strategies_file, output_file, write=write, check=check, diff=diff, changes=changes
    )
    passes = _chosen_passes(pass_names)
    shown = _shown_passes(print_after, passes)
    given = {
        "rules": rules_file,
        "strategies": strategies_file,
        "model_type": model_type,
        "bare": bare,
        "strict": strict,
    }
    runs = _run(output, found, paths, given, passes, shown, whole)
    if not (check or diff or (changes and not write and output_file is None)):
        found.failures.settle()
    _refuse_several(len(runs), output_file, several=several)
    target_format = format_name or (format_of_name(output_file) if output_file is not None else None)
    if check or diff:
        status = _compare(
            output, found.failures, runs, output_file, target_format, canonical=canonical, diff=diff
        )
        output.settle(found.failures)
        return status
    if write:
        _write(output, [(run, run.target, run.written(format_name, canonical=canonical)) for run in runs])
    elif output_file not in {None, "-"}:
        target = str(output_file)
        _write(output, [(run, target, run.anew(target_format, target)) for run in runs])
    elif runs and not changes:
        output.result(runs[0].text(target_format))
    if changes:
        _show_changes(output, runs, as_json=format_name == "json")
    output.settle(found.failures)
    return 0


def _run(
    output: Output,
    found: Found,
    paths: list[str],
    given: Mapping[str, Any],
    passes: tuple[Pass, ...],
    shown: frozenset[str],
    whole: Configuration | None,
) -> list[Run]:
    """Normalize every plan before anything is written; what is wrong with any goes into the failures."""
    from hpplan.errors import InvalidInput
    from hpplan.passes.pipeline import normalize
    from hpplan.passes.record import with_record, without_record
    from hpplan.plan.model import load_plan

    def show(step: Pass, plan: Plan) -> None:
        if step.name in shown:
            output.note(f"# after {step.name}\n{canonical_text(plan.data, plan.place, 'yaml')}")

    @cache
    def inputs_of(rules_file: str | None, strategies_file: str | None) -> RuleInputs:
        return RuleInputs(output, rules_file, strategies_file)

    with found.failures:
        inputs_of(given["rules"], given["strategies"])
    runs: list[Run] = []
    warnings: list[Diagnostic] = []
    for path in paths:
        with found.failures:
            document = found.read(path)
            if document is None:
                continue
            plan = load_plan(document)
            output.configurations.check([path])
            settings = output.configurations.settings(path).under(**given)
            inputs = inputs_of(settings.rules, settings.strategies)
            normalized = normalize(
                plan,
                inputs.rules(plan),
                inputs.strategies,
                model_type=settings.model_type,
                passes=passes,
                after=show if shown else None,
            )
            after = without_record(normalized.plan) if settings.bare else with_record(plan, normalized)
            runs.append(Run(path, settings.normalized or path, plan, after, normalized, document.source))
            errors = [item for item in normalized.warnings if settings.strict and item.level == "warning"]
            warnings += (item for item in normalized.warnings if item not in errors)
            if errors:
                raise InvalidInput(as_errors(errors))
    found.check()
    with found.failures:
        output.configurations.check([run.path for run in runs], whole)
    # Several plans may share one rules file, and then each of them finds the same fault in it.
    note_warnings(output, dict.fromkeys(warnings))
    return runs


def _refuse_several(count: int, output_file: str | None, *, several: bool) -> None:
    if count > 1 and output_file is not None:
        raise click.UsageError("-o names one file for several plans; use -w, or one call for each plan")
    if count > 1 and not several:
        raise click.UsageError("several plans need -w, --check, --diff or --changes")


def _check_options(
    plans: list[str],
    rules_file: str | None,
    strategies_file: str | None,
    output_file: str | None,
    *,
    write: bool,
    check: bool,
    diff: bool,
    changes: bool,
) -> None:
    only_one_standard_input((*plans, rules_file, strategies_file))
    if not (check or diff):
        refuse_overwriting([output_file], (rules_file, strategies_file))
    if write and output_file is not None:
        raise click.UsageError("-w writes each plan to its own file, and -o names another; give one of them")
    if write and (check or diff):
        raise click.UsageError("--check and --diff write nothing; leave out -w")
    streams = [path for path in plans if path == "-" or descriptor_of(path) is not None]
    if write and streams:
        what = "standard input" if is_standard_input(streams[0]) else "an open stream"
        raise click.UsageError(f"{what} ('{streams[0]}') has no file to write to; leave out -w")
    if write and any(os.path.exists(path) and not os.path.isfile(path) for path in plans):  # noqa: PTH110, PTH113 - pathlib takes longer to import
        raise click.UsageError("-w replaces regular files, and one of the plans is none")
    if changes and (check or diff):
        raise click.UsageError("--changes and --check or --diff are two answers; ask for one of them")
    if output_file == "-" and (check or diff):
        raise click.UsageError("--check and --diff compare with a file; '-' is none")


def _chosen_passes(names: str | None) -> tuple[Pass, ...]:
    from hpplan.passes.pipeline import PASSES

    if names is None:
        return PASSES
    wanted = [name.strip() for name in names.split(",")]
    _refuse_unknown(wanted, PASSES, "--passes")
    return tuple(step for step in PASSES if step.name in wanted)


def _shown_passes(names: tuple[str, ...], passes: tuple[Pass, ...]) -> frozenset[str]:
    if "all" in names:
        return frozenset(step.name for step in passes)
    _refuse_unknown(names, passes, "--print-after")
    return frozenset(names)


def _refuse_unknown(names: Sequence[str], passes: tuple[Pass, ...], option: str) -> None:
    known = [step.name for step in passes]
    for name in names:
        if name not in known:
            run = "the passes that run are" if option == "--print-after" else "the passes are"
            raise click.BadParameter(
                f"'{name}' is no pass here; {run} {', '.join(known)}", param_hint=f"'{option}'"
            )


def _write(output: Output, writes: list[tuple[Run, str, Put]]) -> None:
    """Write the text of each run to its target, or none of them."""
    from hpplan.reports.changes.table import summarize

    texts = [(target, put.text) for _, target, put in writes]
    changed = output.write_files(texts, replaced=[run.path for run, _, _ in writes])
    for (run, target, put), written in zip(writes, changed, strict=True):
        for note in put.notes if written else ():
            output.complain(f"{target}: {note}")
        if run.normalized.changes:
            said = summarize(run.normalized.changes)
        else:
            said = f"{put.how}, nothing to strip or mark" if written else "already normalized"
        output.complain(f"{target}: {said}")


def _compare(
    output: Output,
    failures: Failures,
    runs: list[Run],
    output_file: str | None,
    format_name: Format | None,
    *,
    canonical: bool,
    diff: bool,
) -> int:
    """Compare each normalized plan with the file it would go to; return the status."""
    from hpplan.documents.reader import read_document
    from hpplan.plan.model import load_plan
    from hpplan.validation.kinds import take

    status = 0
    for run in runs:
        with failures:
            source, base = run.source, run.before
            target = output_file or run.target
            if output_file is None and target == run.path:
                text = run.in_place(format_name, canonical=canonical).text
            elif output_file is None and not os.path.exists(target):  # noqa: PTH110 - pathlib takes longer to import
                status = 1
                output.result(f"{target}: is not there yet; `hpplan normalize --write` makes it")
                continue
            else:
                document = read_document(target, output.sources)
                take(document, "hpplan normalize", "plan")
                source, base = document.source, load_plan(document)
                text = run.text(format_name or source.own_format, source.name)
            if text != source.marked_text:
                status = 1
                output.result(
                    _unified_diff(output, source, text)
                    if diff
                    else _would_change(output, source.name, base, run.after)
                )
    return status


def _unified_diff(output: Output, source: Source, text: str) -> str:
    from hpplan.reports.changes.unified_diff import render

    color = output.use_color(sys.stdout)
    return render(source.marked_text, text, source.name, f"{source.name} (normalized)", color=color)


def _would_change(output: Output, name: str, before: Plan, after: Plan) -> str:
    from hpplan.comparison.plans import compare_plans
    from hpplan.reports.changes.diff import render_text

    comparison = compare_plans(before, after)
    if comparison.equal:
        said = "its text would change (spelling, line ends, comments or record; see --diff), its meaning not"
        return f"{name}: {said}\n"
    return render_text(name, f"{name} (normalized)", comparison, color=output.use_color(sys.stdout))


def _show_changes(output: Output, runs: list[Run], *, as_json: bool) -> None:
    from shutil import get_terminal_size

    from hpplan.reports.changes.table import render_json, render_plain, render_terminal

    if as_json:
        output.result(render_json([(run.source.name, run.normalized.changes) for run in runs]))
        return
    color = output.use_color(sys.stdout)
    for run in runs:
        changes = run.normalized.changes
        if color or sys.stdout.isatty():
            width = get_terminal_size().columns
            output.result(render_terminal(run.source.name, changes, color=color, width=width))
        else:
            output.result(render_plain(run.source.name, changes))
