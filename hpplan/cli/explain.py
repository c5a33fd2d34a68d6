"""`hpplan explain`: what a code means, what a plan amounts to, what it says about one module."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import only_one_standard_input, read_rules
from hpplan.cli.names import complete_code_or_file
from hpplan.cli.options import INPUT, Command, format_option, rule_options
from hpplan.cli.output import Output
from hpplan.diagnostics import Code

if TYPE_CHECKING:
    from hpplan.inspection.subject import Subject


@click.command(
    "explain", cls=Command, short_help="Explain a code, a plan, or one module of a plan; list all codes."
)
@click.argument("subject", required=False, metavar="CODE|PLAN", shell_complete=complete_code_or_file)
@click.argument("fqn", required=False)
@rule_options
@click.option(
    "--mesh", "mesh_text", metavar="AXES", help="Take the active axes of this mesh, such as dp=2,cp=2,tp=4."
)
@click.option(
    "--all", "all_codes", is_flag=True, help="List every code, with its severity and what it finds."
)
@format_option("Format of codes. Default: text.", "text", "json")
@click.pass_obj
def command(
    output: Output,
    subject: str | None,
    fqn: str | None,
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    mesh_text: str | None,
    format_name: str | None,
    *,
    all_codes: bool,
) -> None:
    """Explain a code, a plan, or one module of a plan; list all codes.

    With a CODE (its id or name): what it finds, why it hurts, an example, and
    what to do. With --all: a line for each code. With a PLAN: its boundaries by class and form, and the
    collectives of one forward. With a PLAN and an FQN: the module's entry,
    class and form, the collectives on each side, and what normalizing does to
    it and why.
    """
    from hpplan.validation.catalog import find_code

    about_plan = {
        "rules": rules_file,
        "strategies": strategies_file,
        "model_type": model_type,
        "mesh": mesh_text,
    }
    if all_codes and subject is not None:
        raise click.UsageError(f"--all lists every code; leave out '{subject}', or --all")
    if not all_codes and subject is None:
        raise click.UsageError("give a CODE or a PLAN, or --all for a list of the codes")
    code = None if subject is None else find_code(subject)
    if code is not None and fqn is not None and not os.path.exists(str(subject)):  # noqa: PTH110 - pathlib takes longer to import
        raise click.UsageError(f"{code.id} is a code, and a code takes no FQN; leave out '{fqn}'")
    if subject is None or (code is not None and fqn is None):
        reason = "--all lists codes" if code is None else f"{code.id} is a code"
        for name, value in about_plan.items():
            if value is not None:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{reason}, and {option} is about a plan; leave it out")
        output.result(_codes(output, code, as_json=format_name == "json"))
        return
    if format_name is not None:
        raise click.UsageError("--format is for codes, and a plan is explained in text; leave it out")
    only_one_standard_input((subject, rules_file, strategies_file))
    screen = output.screen()
    subject = str(INPUT.convert(subject, None, None))
    inspected = _subject(output, subject, about_plan)
    if fqn is None:
        from hpplan.reports.explain.plan import render as render_plan

        output.result(render_plan(inspected, screen))
        return
    from hpplan.reports.explain.fqn import render as render_fqn

    output.result(render_fqn(inspected, fqn, output.sources, color=screen.color, width=screen.width))


def _codes(output: Output, code: Code | None, *, as_json: bool) -> str:
    """Return one code, or a list of all."""
    from hpplan.reports.explain.code import render, render_json, render_table
    from hpplan.validation.catalog import all_codes

    if as_json:
        return render_json(code or all_codes())
    if code is None:
        return render_table(all_codes(), output.screen())
    return render(code, output.screen())


def _subject(output: Output, path: str, about_plan: dict[str, str | None]) -> Subject:
    from hpplan.documents.reader import read_document
    from hpplan.errors import Failures, UnusableRequest
    from hpplan.inspection.subject import Subject
    from hpplan.plan.model import load_plan
    from hpplan.plan.rules import rules_of_plan
    from hpplan.routing.mesh import parse_mesh
    from hpplan.validation.kinds import take

    settings = output.configurations.settings(path).under(**about_plan)
    mesh = None if settings.mesh is None else parse_mesh(settings.mesh)
    failures = Failures()
    with failures:
        try:
            document = read_document(path, output.sources)
        except UnusableRequest as failure:
            raise UnusableRequest(_no_such_code(path) or str(failure)) from None
        take(document, "hpplan explain", "plan")
        plan = load_plan(document)
        output.configurations.check([path])
    with failures:
        rules, strategies = read_rules(output, settings.rules, settings.strategies)
    failures.settle()
    return Subject(plan, rules or rules_of_plan(plan), strategies, settings.model_type, mesh)


def _no_such_code(text: str) -> str | None:
    """Return what to say where somebody most likely meant a code."""
    from hpplan.nearest import nearest_name
    from hpplan.validation.catalog import all_codes

    if re.fullmatch("(?i)hp[0-9]+", text):
        return f"There is no code {text.upper()}. `hpplan explain --all` lists them."
    near = nearest_name(text.lower(), [code.name for code in all_codes()])
    return f"There is neither a file nor a code called '{text}'. Did you mean {near}?" if near else None
