"""`hpplan freeze`: write the frozen plan of a Hugging Face model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import only_one_standard_input, read_model, refuse_overwriting
from hpplan.cli.options import INPUT, PATH, Command, format_option, output_option
from hpplan.cli.output import Output
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from hpplan.documents.source import Format

DEFAULT_MESH = "tp=2,sp"
"""The smallest mesh on which every split of a dense model shows."""


@click.command("freeze", cls=Command, short_help="Write the frozen plan of a Hugging Face model.")
@click.argument("path", type=INPUT, metavar="CONFIG")
@click.option(
    "--mesh",
    "mesh_text",
    metavar="AXES",
    help="Freeze for this mesh, such as dp=2,cp=2,tp=4,ep=8,sp. "
    f"Default: {DEFAULT_MESH}, the smallest on which every split of a dense model shows.",
)
@click.option(
    "--gather-logits",
    is_flag=True,
    help="Hand on whole logits. Without it they stay split by vocabulary, for a loss that is parallel too.",
)
@click.option(
    "--rules-out",
    "rules_target",
    type=PATH,
    metavar="FILE",
    help="Write rules to FILE that give the experts their strategy.",
)
@click.option(
    "--strategies",
    "strategies_file",
    type=INPUT,
    metavar="FILE",
    help="Strategies for --rules-out that join the others and win.",
)
@output_option("Write the plan to FILE.")
@format_option("Default: by the name of FILE, else YAML.")
@click.pass_obj
def command(
    output: Output,
    path: str,
    mesh_text: str | None,
    rules_target: str | None,
    strategies_file: str | None,
    output_file: str | None,
    format_name: Format | None,
    *,
    gather_logits: bool,
) -> None:
    """Write the frozen plan of the model that CONFIG describes: a config.json, or the folder that has it.

    Placements are those of transformers' own tensor- and expert-parallel plans.
    The model is built on the meta device, without weights, network or code that
    comes with it. What transformers has no rule for is in no entry: it is listed
    under `not_covered` and on standard error. Needs the extra `models`.
    """
    from hpplan.api.documents import document_text
    from hpplan.api.plans import freeze, load_strategies
    from hpplan.diagnostics import Place
    from hpplan.documents.source import format_of_name
    from hpplan.errors import InvalidInput
    from hpplan.models.expert_rules import expert_rules
    from hpplan.plan.model import Plan
    from hpplan.reports.freeze import notes
    from hpplan.routing.mesh import parse_mesh

    only_one_standard_input((path, strategies_file))
    _check_targets(path, output_file, rules_target, strategies_file)
    mesh = parse_mesh(mesh_text or DEFAULT_MESH)
    strategies = load_strategies(strategies_file, sources=output.sources)
    model = read_model(output, path, "hpplan freeze")
    try:
        frozen = freeze(model, mesh, gather_logits=gather_logits)
    except InvalidInput as failure:
        raise _at_mesh(failure, mesh_text or DEFAULT_MESH) from None
    plan = Plan(frozen.data, Place(output_file or "-"))
    rules, without = expert_rules(plan, strategies)
    format_name = format_name or format_of_name(output_file or "-") or "yaml"
    texts = {output_file or "-": document_text(plan, format_name)}
    if rules_target is not None:
        texts[rules_target] = document_text(rules, format_of_name(rules_target) or "yaml")
    output.write_files((target, text) for target, text in texts.items() if target != "-")
    if "-" in texts:
        output.result(texts["-"])
    if mesh_text is None:
        output.conclude(f"Note: frozen for {mesh}; --mesh freezes for another.")
    for note in notes(model, frozen, mesh, without):
        output.conclude(f"Note: {note}.")


def _check_targets(
    path: str, output_file: str | None, rules_target: str | None, strategies_file: str | None
) -> None:
    if rules_target == (output_file or "-"):
        raise click.UsageError("the plan and its rules need a file each: give -o and --rules-out other names")
    from hpplan.models.config import path_of

    for target, option in ((output_file, "-o"), (rules_target, "--rules-out")):
        refuse_overwriting([target], (path_of(path), strategies_file), option)


def _at_mesh(failure: InvalidInput, mesh_text: str) -> InvalidInput:
    """Return a failure whose findings about unequal parts stand at the axis that makes them."""
    from dataclasses import replace

    from hpplan.checks.uneven_dimension import UNEVEN_DIMENSION
    from hpplan.diagnostics import Place
    from hpplan.errors import InvalidOption

    if any(finding.code is not UNEVEN_DIMENSION for finding in failure.diagnostics):
        return failure
    moved = []
    for finding in failure.diagnostics:
        column = next(iter(re.finditer(rf"\b{finding.place.path[-1]}\s*=\s*", mesh_text))).end() + 1
        moved.append(replace(finding, place=Place("--mesh", position=(1, column))))
    return InvalidOption(moved)
