"""`hpplan explain`: what a code means, what a plan amounts to, what it says about one module."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from hpplan.cli.completion import complete_code_or_file
from hpplan.cli.inputs import only_one_standard_input, rule_options

if TYPE_CHECKING:
    from hpplan.checks.subject import Subject
    from hpplan.cli.output import Output


@click.command("explain", short_help="Explain a code, a plan, or one module of a plan.")
@click.argument("subject", metavar="CODE|PLAN", shell_complete=complete_code_or_file)
@click.argument("fqn", required=False)
@rule_options
@click.option(
    "--mesh", "mesh_text", metavar="AXES", help="Take the active axes of this mesh, such as dp=2,cp=2,tp=4."
)
@click.pass_obj
def command(
    output: Output,
    subject: str,
    fqn: str | None,
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    mesh_text: str | None,
) -> None:
    """Explain a code, a plan, or one module of a plan.

    With a CODE (its id or name): what it finds, why it hurts, an example, and
    what to do. With a PLAN: its boundaries by class and form, and the
    collectives of one forward. With a PLAN and an FQN: the module's entry,
    class and form, the collectives on each side, and what normalizing does to
    it and why.
    """
    from hpplan.checks.registry import find_code

    color = output.use_color(sys.stdout)
    code = find_code(subject)
    if code is not None and fqn is not None and not os.path.exists(subject):  # noqa: PTH110 - pathlib takes longer to import
        raise click.UsageError(f"{code.id} is a code, and a code takes no FQN; leave out '{fqn}'")
    if code is not None and fqn is None:
        for option, value in (
            ("--rules", rules_file),
            ("--strategies", strategies_file),
            ("--model-type", model_type),
            ("--mesh", mesh_text),
        ):
            if value is not None:
                raise click.UsageError(f"{code.id} is a code, and {option} is about a plan; leave it out")
        from hpplan.reports.explain_code import render as render_code

        output.result(render_code(code, color=color))
        return
    only_one_standard_input((subject, rules_file, strategies_file))
    found = _subject(output, subject, rules_file, strategies_file, model_type, mesh_text)
    if fqn is None:
        from hpplan.reports.explain_plan import render as render_plan

        output.result(render_plan(found, terminal=sys.stdout.isatty(), color=color))
        return
    from shutil import get_terminal_size

    from hpplan.reports.explain_fqn import render as render_fqn

    _check_fqn(found, fqn)
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    output.result(render_fqn(found, fqn, output.sources, color=color, width=width))


def _subject(
    output: Output,
    path: str,
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    mesh_text: str | None,
) -> Subject:
    from hpplan.checks.kinds import take
    from hpplan.checks.subject import Subject
    from hpplan.cli.inputs import RuleInputs
    from hpplan.documents.reader import read_document
    from hpplan.errors import UnusableRequest
    from hpplan.plan.model import load_plan
    from hpplan.routing.mesh import parse_mesh

    mesh = None if mesh_text is None else parse_mesh(mesh_text)
    try:
        document = read_document(path, output.sources)
    except UnusableRequest as failure:
        raise UnusableRequest(_no_such_code(path) or str(failure)) from None
    take(document, "hpplan explain", "plan")
    plan = load_plan(document)
    inputs = RuleInputs(output, rules_file, strategies_file)
    return Subject(plan, inputs.rules(plan), inputs.strategies, model_type, mesh)


def _no_such_code(text: str) -> str | None:
    """Return what to say where somebody most likely meant a code."""
    from hpplan.checks.nearest import nearest_field
    from hpplan.checks.registry import all_codes

    if re.fullmatch("(?i)hp[0-9]+", text):
        return f"There is no code {text.upper()}."
    near = nearest_field(text.lower(), [code.name for code in all_codes()])
    return f"There is neither a file nor a code called '{text}'. Did you mean {near}?" if near else None


def _check_fqn(subject: Subject, fqn: str) -> None:
    from hpplan.checks.nearest import NearestFqn
    from hpplan.errors import UnusableRequest

    known = {**subject.plan.param_plan, **subject.facts.classes}
    if fqn in known:
        return
    hint = NearestFqn(known).hint(fqn)
    parts = fqn.split(".")
    above = next(
        (name for end in range(len(parts) - 1, 0, -1) if (name := ".".join(parts[:end])) in known), None
    )
    if hint is None and above is not None:
        hint = f"above it is '{above}'. Type `hpplan explain {subject.plan.place.document} {above}`."
    raise UnusableRequest(
        f"The plan {subject.plan.place.document} says nothing about '{fqn}'."
        + (f" {hint[0].upper()}{hint[1:]}" if hint else "")
    )
