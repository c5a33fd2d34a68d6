"""`hpplan freeze`: write the frozen plan of a Hugging Face model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import INPUT, PATH
from hpplan.cli.model_inputs import read_model_config
from hpplan.cli.overwriting import only_one_standard_input, refuse_overwriting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.cli.output import Output
    from hpplan.documents.source import Format
    from hpplan.models.facts import ModelFacts
    from hpplan.models.freeze import Frozen
    from hpplan.plan.model import Plan
    from hpplan.routing.mesh import Mesh

DEFAULT_MESH = "tp=2,sp"
"""The smallest mesh on which every split of a dense model shows."""


@click.command("freeze", short_help="Write the frozen plan of a Hugging Face model.")
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
@click.option("-o", "--output", "output_file", type=PATH, metavar="FILE", help="Write the plan to FILE.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["yaml", "json"]),
    help="Default: by the name of FILE, else YAML.",
)
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
    from hpplan.cli.inputs import RuleInputs
    from hpplan.diagnostics import Place
    from hpplan.documents.source import format_of_name
    from hpplan.documents.writer import dump_json, dump_yaml
    from hpplan.models.describe import facts_of
    from hpplan.models.expert_rules import expert_rules
    from hpplan.models.freeze import freeze
    from hpplan.plan.model import KEY_ORDER, Plan
    from hpplan.plan.rules import RULES_KEY_ORDER
    from hpplan.routing.mesh import parse_mesh

    only_one_standard_input((path, strategies_file))
    _check_targets(path, output_file, rules_target, strategies_file)
    mesh = parse_mesh(mesh_text or DEFAULT_MESH)
    strategies = RuleInputs(output, None, strategies_file).strategies
    configuration = read_model_config(output, path, "hpplan freeze")
    model = facts_of(configuration)
    frozen = freeze(model, mesh, configuration.place, gather_logits=gather_logits)
    plan = Plan(frozen.data, Place(output_file or "-"))
    _refuse_uneven(model, plan, mesh, mesh_text or DEFAULT_MESH)
    rules, without = expert_rules(plan, strategies)
    texts = {output_file or "-": (frozen.data, KEY_ORDER, format_name)}
    if rules_target is not None:
        texts[rules_target] = (rules, RULES_KEY_ORDER, None)
    written = {}
    for target, (data, order, wanted) in texts.items():
        as_json = (wanted or format_of_name(target)) == "json"
        written[target] = dump_json(data) if as_json else dump_yaml(data, order)
    output.write_files((target, text) for target, text in written.items() if target != "-")
    if "-" in written:
        output.result(written["-"])
    for note in _notes(model, frozen, mesh, without, default_mesh=mesh_text is None):
        output.conclude(f"Note: {note}.")


def _check_targets(
    path: str, output_file: str | None, rules_target: str | None, strategies_file: str | None
) -> None:
    if rules_target == (output_file or "-"):
        raise click.UsageError("the plan and its rules need a file each: give -o and --rules-out other names")
    from hpplan.models.config import path_of

    for target, option in ((output_file, "-o"), (rules_target, "--rules-out")):
        refuse_overwriting([target], (path_of(path), strategies_file), option)


def _refuse_uneven(model: ModelFacts, plan: Plan, mesh: Mesh, mesh_text: str) -> None:
    """Refuse a mesh that cuts a parameter into unequal parts; what is alike in all layers is said once."""
    from dataclasses import replace

    from hpplan.checks.uneven_dimension import findings
    from hpplan.diagnostics import Place
    from hpplan.errors import InvalidOption

    sizes = {**mesh.axes, "ep": mesh.ep}
    found = []
    for item in findings(model, plan, sizes):
        column = next(iter(re.finditer(rf"\b{item.place.path[-1]}\s*=\s*", mesh_text))).end() + 1
        found.append(replace(item, place=Place("--mesh", position=(1, column))))
    if found:
        raise InvalidOption(found)


def _notes(
    model: ModelFacts, frozen: Frozen, mesh: Mesh, without: list[str], *, default_mesh: bool
) -> Iterator[str]:
    """Yield what a reader of the plan should know that the plan does not say."""
    from hpplan.plan.folding import fold
    from hpplan.wording import plural

    if default_mesh:
        yield f"frozen for {mesh}; --mesh freezes for another"
    by_reason: dict[str, list[str]] = {}
    for name, reason in frozen.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        count = sum(len(model.parameters_below(name)) if name in model.modules else 1 for name in names)
        yield f"{reason} {', '.join(fold(names))} ({plural(count, 'parameter')}); listed under `not_covered`"
    if mesh.cp > 1:
        yield "attention under context parallelism needs a strategy, as an `inner_wrapper` rule"
    for name in without:
        yield (
            f"no one strategy for the experts of {name} is known; declare one under `strategies`, "
            "with a rule that points at it"
        )
