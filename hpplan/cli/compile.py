"""`hpplan compile`: the normalized plan and the routing table of its feature exchange, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hpplan.cli.inputs import note_warnings, only_one_standard_input, read_rules, refuse_overwriting
from hpplan.cli.options import INPUT, PATH, Command, rule_options
from hpplan.cli.output import Output
from hpplan.cli.route_inputs import routes_of_plan
from hpplan.cli.routing_options import RouteOptions, routing_options


@click.command("compile", cls=Command, short_help="Emit the normalized plan and its routing table.")
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
    from hpplan.api.plans import load_plan, normalize
    from hpplan.documents.reader import read_document
    from hpplan.documents.writer import dump_json
    from hpplan.errors import Failures, InvalidOption
    from hpplan.passes.normalized_file import NormalizedFile
    from hpplan.reports.changes.table import summarize
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
        before = load_plan(document)
        normalized = normalize(
            before,
            *read_rules(output, settings.rules, settings.strategies),
            model_type=settings.model_type,
            record=not settings.bare,
        )
    with failures:
        table = routes_of_plan(output, path, document, routing)
    failures.settle()
    refused = list(check_mesh(before, table.mesh)) if routing.mesh_text is not None else []
    if refused:
        raise InvalidOption(refused)
    view = routing.view(table)
    note_warnings(output, [*normalized.warnings, *view.warnings], strict=settings.strict)
    plan, warning = agreeing_plan(
        normalized.plan,
        table,
        other_mesh=routing.mesh_text is not None,
        other_workload=routing.replaces_workload,
    )
    if warning and settings.strict:
        raise click.UsageError(warning)
    if warning:
        output.note(f"Warning: {warning}.")
    file = NormalizedFile(path, names[0], before, normalized._replace(plan=plan), document.source)
    texts = (file.canonical(None, names[0]), dump_json(view.to_data()))
    output.write_files(zip(names, texts, strict=True), folder)
    traffic = view.traffic
    output.result(f"{names[0]}: {summarize(normalized.changes)}")
    routes = (
        f"{names[1]}: {table.mode.name} on {table.mesh}, {table.granularity} granularity, "
        f"{traffic.rows_leaving:,} of {traffic.rows:,} rows leave their rank, {table.digest}"
    )
    output.result(output.screen().folded("", routes))
    return 0
