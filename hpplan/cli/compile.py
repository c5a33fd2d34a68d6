"""`hpplan compile`: the normalized plan and the routing table of its feature exchange, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hpplan.cli.inputs import INPUT, PATH, RuleInputs, note_warnings, rule_options
from hpplan.cli.overwriting import only_one_standard_input, refuse_overwriting
from hpplan.cli.route_inputs import routes_of_plan
from hpplan.cli.routing_options import RouteOptions, routing_options

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.documents.reader import Document
    from hpplan.passes.pipeline import Normalized
    from hpplan.plan.model import Plan
    from hpplan.plan.settings import Settings
    from hpplan.routing.routes import RoutingTable


@click.command("compile", short_help="Emit the normalized plan and its routing table.")
@click.argument("path", type=INPUT, metavar="PLAN")
@rule_options
@routing_options
@click.option("--bare", is_flag=True, help="Leave the normalization record out of the plan.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "-o", "--output", "folder", required=True, type=PATH, metavar="DIR", help="Folder for the two files."
)
@click.pass_obj
def command(
    output: Output,
    /,
    path: str,
    rules_file: str | None,
    strategies_file: str | None,
    model_type: str | None,
    folder: str,
    *,
    bare: bool,
    strict: bool,
    **options: Any,  # noqa: ANN401 - the fields of RouteOptions
) -> int:
    """Normalize PLAN, and route the workload under its feature_exchange, or of --workload.

    DIR gets plan.yaml (plan.json for a plan in JSON) and routes.json. Both are
    worked out before either is written, and they agree: the workload of
    --workload, --cp-layout or --pad goes under feature_exchange, and the sizes
    of --mesh into parallel_dims, with a warning. A mesh with other active axes
    than the plan's, or with another sp, needs another plan.
    """
    from hpplan.documents.reader import read_document
    from hpplan.errors import Failures, InvalidOption
    from hpplan.passes.record import with_record, without_record
    from hpplan.reports.changes.table import summarize
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.agreeing_plan import agreeing_plan, check_mesh
    from hpplan.validation.kinds import take

    if folder == "-":
        raise click.BadParameter("two files need a folder, and '-' is none.", param_hint="'-o'")
    only_one_standard_input((path, rules_file, strategies_file, options["workload_file"]))
    settings = output.configurations.settings(path).under(
        rules=rules_file, strategies=strategies_file, model_type=model_type, bare=bare, strict=strict
    )
    routing = RouteOptions(**options).over(settings)
    document = read_document(path, output.sources)
    take(document, "hpplan compile", "plan")
    plan_name = f"plan.{document.source.own_format}"
    names = [str(Path(folder) / name) for name in (plan_name, "routes.json")]
    inputs = (path, settings.rules, settings.strategies, routing.workload_file)
    refuse_overwriting(names, inputs, folder=folder)
    output.configurations.check([path])
    failures = Failures()
    with failures:
        before, normalized = _normalized(output, document, settings)
    with failures:
        table = routes_of_plan(output, path, document, routing)
    failures.settle()
    refused = list(check_mesh(before, table.mesh)) if routing.mesh_text is not None else []
    if refused:
        raise InvalidOption(refused)
    view = RouteView(table, "")
    note_warnings(output, [*normalized.warnings, *view.warnings], strict=settings.strict)
    plan = without_record(normalized.plan) if settings.bare else with_record(before, normalized)
    plan, warning = agreeing_plan(
        plan,
        table,
        other_mesh=routing.mesh_text is not None,
        other_workload=routing.replaces_workload,
    )
    if warning and settings.strict:
        raise click.UsageError(warning)
    if warning:
        output.note(f"Warning: {warning}.")
    _write(output, folder, names, document, plan, table)
    traffic = view.traffic
    output.result(f"{names[0]}: {summarize(normalized.changes)}")
    routes = (
        f"{names[1]}: {table.mode.name} on {table.mesh}, {table.granularity} granularity, "
        f"{traffic.rows_leaving:,} of {traffic.rows:,} rows leave their rank, {table.digest}"
    )
    output.result(output.screen().folded("", routes))
    return 0


def _normalized(
    output: Output,
    document: Document,
    settings: Settings,
) -> tuple[Plan, Normalized]:
    from hpplan.passes.pipeline import normalize
    from hpplan.plan.model import load_plan

    plan = load_plan(document)
    inputs = RuleInputs(output, settings.rules, settings.strategies)
    return plan, normalize(plan, inputs.rules(plan), inputs.strategies, model_type=settings.model_type)


def _write(
    output: Output, folder: str, names: list[str], document: Document, plan: Plan, table: RoutingTable
) -> None:
    from hpplan.documents.schema_reference import moved_fields, moved_header
    from hpplan.documents.writer import dump_json, dump_yaml
    from hpplan.plan.model import KEY_ORDER
    from hpplan.routing.routes_writer import routes_to_data

    source = document.source
    data = moved_fields(plan.data, source.name, names[0])
    header = moved_header(source.header, source.name, names[0])
    plan_text = dump_json(data) if source.own_format == "json" else dump_yaml(data, KEY_ORDER, header)
    routes_text = dump_json(routes_to_data(table))
    output.write_files(zip(names, (plan_text, routes_text), strict=True), folder)
