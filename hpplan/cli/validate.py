"""`hpplan validate`: find what is wrong with plans, rules, workloads and routing tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hpplan.cli.completion import complete_codes
from hpplan.cli.found import Found, found_options
from hpplan.cli.inputs import PATH, only_one_standard_input, refuse_overwriting, rule_options
from hpplan.diagnostics import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.checks.run import CheckRun
    from hpplan.cli.output import Output
    from hpplan.diagnostics import Code, Diagnostic
    from hpplan.documents.reader import Document

FORMATS = ("full", "concise", "json", "jsonl", "github", "gitlab", "junit", "sarif")
"""The keys of `hpplan.reports.formats.FORMATS`; a test holds the two together."""


@click.command("validate", short_help="Find what is wrong with plans, rules, workloads and routing tables.")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@rule_options
@found_options("documents of hpplan")
@click.option("--mesh", "mesh_text", metavar="AXES", help="Check for this mesh, such as dp=2,cp=2,tp=4,sp.")
@click.option(
    "--select",
    multiple=True,
    shell_complete=complete_codes,
    metavar="CODES",
    help="Report only these: ids, beginnings of ids, names.",
)
@click.option(
    "--ignore",
    multiple=True,
    shell_complete=complete_codes,
    metavar="CODES",
    help="Leave these out; wins over --select.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Least severity that makes the exit status 1.",
)
@click.option("--statistics", is_flag=True, help="Count the findings by code.")
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="full",
    show_default=True,
    help="Format of the report.",
)
@click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help="Write the report to FILE.")
@click.pass_obj
def command(
    output: Output,
    files: tuple[str, ...],
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    mesh_text: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    output_format: str,
    output_file: str | None,
    *,
    skip_foreign: bool,
    show_skipped: bool,
    statistics: bool,
) -> int:
    """Find what is wrong with plans, rules files, strategies, workloads and routing tables.

    What a FILE is, its content says. A folder stands for the documents in it
    and below; a pattern such as 'plans/**/*.yaml' for what matches. Plans are checked with the rules in
    --rules, or with their own. A routing table among several FILEs is also
    checked against the plans. `hpplan explain CODE` tells more about a finding.

    Codes are given as ids (HP213), beginnings of ids (HP2) or names, separated
    by commas. What keeps a file from being read further is always reported.
    """
    from hpplan.checks.run import CHECKED, CheckRun
    from hpplan.reports.formats import TEXT_FORMATS
    from hpplan.routing.mesh import parse_mesh

    only_one_standard_input((*files, rules_file, strategies_file))
    found = Found(output, "hpplan validate", CHECKED, skip_foreign=skip_foreign, show_skipped=show_skipped)
    paths = found.paths(files)
    refuse_overwriting([output_file], (*paths, rules_file, strategies_file))
    selected, ignored = _codes("--select", select), _codes("--ignore", ignore)
    run = CheckRun(model_type, None if mesh_text is None else parse_mesh(mesh_text))
    count = _check(output, run, found, paths, rules_file, strategies_file)
    findings = [
        *run.blocking,
        *(
            item
            for item in run.findings
            if (selected is None or item.code in selected) and (ignored is None or item.code not in ignored)
        ),
    ]
    _report(output, findings, output_format, output_file)
    if statistics:
        _count(output, findings, output_format, output_file)
    if output_format in TEXT_FORMATS:
        output.conclude(_summary(findings, count))
    fatal = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return 1 if any(item.level in fatal for item in findings) else 0


def _check(
    output: Output,
    run: CheckRun,
    found: Found,
    paths: list[str],
    rules_file: str | None,
    strategies_file: str | None,
) -> int:
    """Check what is at the paths, and return how many documents that are, with those beside them."""
    from hpplan.documents.reader import read_document
    from hpplan.errors import InvalidInput

    def read_beside(path: str) -> Document | None:
        return read_document(path, output.sources)

    beside = [(run.use_rules, rules_file), (run.use_strategies, strategies_file)]
    steps = [(step, path, read_beside) for step, path in beside if path is not None]
    steps += ((run.check, path, found.read) for path in paths)
    for step, path, read in steps:
        try:
            document = read(path)
        except InvalidInput as failure:  # noqa: PERF203 - every document has its say
            run.blocking.extend(failure.diagnostics)
        else:
            if document is not None:
                step(document)
    found.check()
    run.finish()
    return len(steps) - found.skipped


def _report(output: Output, findings: list[Diagnostic], output_format: str, output_file: str | None) -> None:
    from hpplan.reports.formats import renderer

    to_file = output_file is not None and output_file != "-"
    color = not to_file and output.use_color(sys.stdout)
    if output_format == "full":
        from hpplan.reports.full import render as render_full

        text = render_full(findings, output.sources, color=color)
    elif output_format == "concise":
        from hpplan.reports.concise import render as render_concise

        text = render_concise(findings, output.sources, color=color)
    else:
        text = renderer(output_format)(findings, output.sources)
    output.write(output_file, text)


def _count(output: Output, findings: list[Diagnostic], output_format: str, output_file: str | None) -> None:
    """Write the counts below a report that people read, and beside one that machines do."""
    from collections import Counter

    from hpplan.reports.formats import TEXT_FORMATS
    from hpplan.reports.tables import plain_table

    counts = Counter((item.code.id, item.code.name, item.level) for item in findings)
    rows = [(str(count), *key) for key, count in sorted(counts.items())]
    if not rows:
        return
    table = plain_table(("count", "code", "name", "severity"), rows, right=(0,))
    if output_format in TEXT_FORMATS and output_file in {None, "-"}:
        output.result("\n" + table)
    else:
        output.conclude(table)


def _summary(findings: list[Diagnostic], files: int) -> str:
    where = f"{files} file{'s' * (files != 1)}"
    counts = {level: sum(item.level == level for item in findings) for level in SEVERITIES}
    plurals = {"error": "errors", "warning": "warnings", "info": "infos"}
    told = [f"{count} {level if count == 1 else plurals[level]}" for level, count in counts.items() if count]
    return f"{', '.join(told)} in {where}." if told else f"No findings in {where}."


def _codes(option: str, texts: Iterable[str]) -> frozenset[Code] | None:
    """Return the codes that an option names, or None where it was not given."""
    wanted = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not wanted:
        return None
    from hpplan.checks.nearest import nearest_field
    from hpplan.checks.registry import all_codes

    found: set[Code] = set()
    for text in wanted:
        named = {
            code for code in all_codes() if code.id.startswith(text.upper()) or code.name == text.lower()
        }
        if not named:
            near = nearest_field(text.lower(), [code.name for code in all_codes()])
            ask = f"; did you mean '{near}'?" if near else ""
            raise click.BadParameter(f"no code is called '{text}'{ask}", param_hint=f"'{option}'")
        found |= named
    return frozenset(found)
