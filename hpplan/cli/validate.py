"""`hpplan validate`: find what is wrong with plans, rules, workloads and routing tables."""

from __future__ import annotations

import sys
from typing import Any

import click

from hpplan.cli.inputs import (
    named_documents,
    only_one_standard_input,
    plan_paths,
    read_model,
    refuse_overwriting,
)
from hpplan.cli.names import complete_codes
from hpplan.cli.options import INPUT, PATH, Command, named_options, output_option, rule_options
from hpplan.cli.output import Output
from hpplan.diagnostics import SEVERITIES, Diagnostic
from hpplan.reports.findings.formats import FORMATS


@click.command(
    "validate", cls=Command, short_help="Find what is wrong with plans, rules, workloads and routing tables."
)
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@rule_options
@named_options("documents of hpplan")
@click.option("--mesh", "mesh_text", metavar="AXES", help="Check for this mesh, such as dp=2,cp=2,tp=4,sp.")
@click.option(
    "--model",
    "model_path",
    type=INPUT,
    metavar="CONFIG",
    help="Hold plans against this model: a config.json, or the folder that has it. Needs the extra `models`.",
)
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
    type=click.Choice(tuple(FORMATS)),
    default="full",
    show_default=True,
    help="Format of the report.",
)
@output_option("Write the report to FILE.")
@click.pass_obj
def command(
    output: Output,
    /,
    files: tuple[str, ...],
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    mesh_text: str | None,
    model_path: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    output_format: str,
    output_file: str | None,
    *,
    statistics: bool,
    **named: Any,  # noqa: ANN401 - what `named_options` adds
) -> int:
    """Find what is wrong with plans, rules files, strategies, workloads and routing tables.

    What a FILE is, its content says. A folder stands for the documents in it
    and below, a pattern such as 'plans/**/*.yaml' for what matches. Without a
    FILE, these are the plans that the nearest hpplan.toml names, and what it
    says belongs to them.

    Plans are checked with the rules in --rules, or with their own. One that
    these would change is not in order, unless what it is normalized into is
    among the FILEs. A routing table among them is also checked against the
    plans. `hpplan explain CODE` tells more about a finding.

    Codes are given as ids (HP213), beginnings of ids (HP2) or names, separated
    by commas. What keeps a file from being read further is always reported.
    """
    from hpplan.errors import InvalidInput
    from hpplan.models.config import path_of
    from hpplan.routing.mesh import parse_mesh
    from hpplan.validation.catalog import codes_of
    from hpplan.validation.file_checks import FileChecks
    from hpplan.validation.run import CHECKED

    only_one_standard_input((*files, rules_file, strategies_file, model_path))
    if mesh_text is not None:
        parse_mesh(mesh_text)  # what is wrong with an option is wrong with the call
    documents = named_documents(output, "hpplan validate", CHECKED, **named)
    given_model = None if model_path is None else path_of(model_path)
    codes = {
        argument: tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
        for argument, texts in (("select", select), ("ignore", ignore))
    }
    for argument, texts in codes.items():
        codes_of(argument, texts)
    given = {
        "rules": rules_file,
        "strategies": strategies_file,
        "model_type": model_type,
        "mesh": mesh_text,
        "model": given_model,
        **codes,
    }
    checks = FileChecks(
        output.sources,
        documents,
        output.configurations,
        lambda path: read_model(output, path, "--model"),
        given,
    )
    try:
        paths, whole = plan_paths(output, documents, files, "FILE...")
        refuse_overwriting([output_file], (*files, rules_file, strategies_file, given_model))
        for path in paths:
            with documents.failures:
                checks.check(path, beside=whole is not None)
        documents.check()
        findings = checks.findings(whole)
    except InvalidInput as failure:
        # A configuration that is wrong may say anything of any plan.
        findings = list(failure.diagnostics)
    if documents.failures.together() is not None:
        # Of a part of the files there is no report, but all that was found in them is said.
        with documents.failures:
            if findings:
                raise InvalidInput(findings)
        documents.failures.settle()
    _report(output, findings, output_format, output_file, checks.files, statistics=statistics)
    fatal = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return 1 if any(finding.level in fatal for finding in findings) else 0


def _report(
    output: Output,
    findings: list[Diagnostic],
    output_format: str,
    output_file: str | None,
    files: int,
    *,
    statistics: bool,
) -> None:
    """Write the report; counts go below one that people read, and beside one that machines do."""
    from hpplan.reports.findings.counts import counts, summary
    from hpplan.reports.findings.formats import renderer

    to_file = output_file is not None and output_file != "-"
    for_people = FORMATS[output_format].for_people
    render = renderer(output_format, color=not to_file and output.use_color(sys.stdout))
    output.write(output_file, render(findings, output.sources))
    if statistics and findings:
        if for_people and not to_file:
            output.result("\n" + counts(findings))
        else:
            output.conclude(counts(findings))
    if for_people:
        output.conclude(summary(findings, files))
