"""`hpplan prove`: run a plan on a small instance of its model, and compare with the whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import only_one_standard_input, read_rules, refuse_overwriting
from hpplan.cli.options import INPUT, Command, format_option, output_option, rule_files
from hpplan.cli.output import Output

if TYPE_CHECKING:
    from hpplan.routing.mesh import Mesh


@click.command("prove", cls=Command, short_help="Run a plan on a small instance of its model, and compare.")
@click.argument("path", type=INPUT, metavar="PLAN")
@click.option(
    "--model",
    "model_path",
    type=INPUT,
    metavar="CONFIG",
    required=True,
    help="The model of the plan: a config.json, or the folder that has it.",
)
@click.option(
    "--mesh",
    "mesh_text",
    metavar="AXES",
    help="Prove for this mesh, such as tp=2,sp. Default: the plan's parallel_dims.",
)
@click.option(
    "--launch",
    type=click.IntRange(min=2),
    metavar="N",
    help="Local processes that run it: cp x tp of the mesh, which is the default.",
)
@rule_files
@output_option("Write the report to FILE.")
@format_option("Format of the report.", "text", "json", default="text", show_default=True)
@click.pass_obj
def command(
    output: Output,
    path: str,
    model_path: str,
    mesh_text: str | None,
    launch: int | None,
    rules_file: str | None,
    strategies_file: str | None,
    output_file: str | None,
    format_name: str,
) -> int:
    """Run PLAN on a small instance of its model, and say what differs from the whole of it.

    The model has the same classes, a few layers of each kind and small widths;
    the mesh divides what it divides of the real one. Local processes, one for
    each rank of cp and tp, run each module as its entry says, in float64 on
    gloo, and then all of the model. Outputs, logits and gradients are compared
    with those of the whole model in one process. Where a module differs, its
    placements are changed one by one until it is right.

    What cannot be run is assumed, and named: a forward that a strategy brings,
    attention across cp, experts spread over ep, and what the plan does not
    cover. Gradients that must be summed over an axis to be right are listed.
    Exit status 1 where anything differs. Needs the extra `models`.
    """
    from hpplan.api.documents import read_document
    from hpplan.api.plans import load_plan, prove
    from hpplan.api.routes import mesh_of_plan
    from hpplan.documents.writer import dump_json
    from hpplan.models.config import path_of
    from hpplan.proof.results import proof_to_data
    from hpplan.reports.findings.formats import renderer
    from hpplan.reports.proof import render
    from hpplan.routing.mesh import parse_mesh

    only_one_standard_input((path, model_path, rules_file, strategies_file))
    model_file = path_of(model_path)
    refuse_overwriting([output_file], (path, model_file, rules_file, strategies_file))
    mesh = None if mesh_text is None else parse_mesh(mesh_text)
    document = read_document(path, output.sources)
    plan = load_plan(document)
    rules, strategies = read_rules(output, rules_file, strategies_file)
    if launch is not None and (mesh is not None or "parallel_dims" in plan.data):
        _check_launch(launch, mesh or mesh_of_plan(plan))
    proof = prove(plan, model_file, mesh, rules, strategies, sources=output.sources)
    name = document.source.name
    if format_name == "json":
        output.write(output_file, dump_json(proof_to_data(proof, name)))
    else:
        output.write(output_file, render(proof, name, output.screen(output_file)))
    if findings := list(proof.findings(plan)):
        said = renderer("full", color=output.use_color(sys.stderr))(findings, output.sources)
        output.conclude(said.rstrip("\n"))
    return 1 if findings else 0


def _check_launch(launch: int, mesh: Mesh) -> None:
    ranks = mesh.cp * mesh.tp
    if launch != ranks:
        raise click.BadParameter(
            f"{launch} processes are not the cp x tp = {ranks} of the mesh {mesh}.", param_hint="'--launch'"
        )
