"""`hpplan diff`: what two plans, or two routing tables, mean differently."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import INPUT
from hpplan.cli.overwriting import only_one_standard_input

if TYPE_CHECKING:
    from hpplan.cli.output import Output
    from hpplan.comparison.changes import Differences
    from hpplan.documents.reader import Document


@click.command("diff", short_help="Say what two plans, or two routing tables, mean differently.")
@click.argument("a", type=INPUT)
@click.argument("b", type=INPUT)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the report.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there is a difference.")
@click.pass_obj
def command(output: Output, a: str, b: str, format_name: str, *, exit_code: bool) -> int:
    """Say what two plans, or two routing tables, mean differently.

    FQNs that were added or removed, and placements, classes and boundaries that
    changed, folded over layers: model.layers.{3..60}.mlp. Neither the order of
    keys nor the way a thing is spelled is a difference.
    """
    from hpplan.documents.reader import read_document
    from hpplan.errors import Failures
    from hpplan.reports.changes.diff import render_json, render_text

    only_one_standard_input((a, b))
    failures = Failures()
    with failures:
        before = read_document(a, output.sources)
    with failures:
        after = read_document(b, output.sources)
    failures.settle()
    comparison = _compare(before, after)
    names = (before.source.name, after.source.name)
    if format_name == "json":
        output.result(render_json(*names, comparison))
    else:
        output.result(render_text(*names, comparison, color=output.use_color(sys.stdout)))
    if comparison.equal and format_name == "text":
        output.note("No differences.")
    return 1 if exit_code and not comparison.equal else 0


def _compare(before: Document, after: Document) -> Differences:
    """Compare two documents of one kind; raise UnusableRequest where they are not."""
    from hpplan.errors import UnusableRequest
    from hpplan.validation.kinds import kind_of_document, what_it_is

    kinds = {kind_of_document(document.data) for document in (before, after)}
    if kinds == {"plan"}:
        from hpplan.comparison.plans import compare_plans
        from hpplan.plan.model import load_plan

        return compare_plans(load_plan(before), load_plan(after))
    if kinds == {"routes"}:
        from hpplan.comparison.routes import compare_routes
        from hpplan.routing.routes_document import load_routes

        return compare_routes(load_routes(before), load_routes(after))
    raise UnusableRequest(
        f"{what_it_is(before)}, and {what_it_is(after)}; "
        "`hpplan diff` compares two plans or two routing tables."
    )
