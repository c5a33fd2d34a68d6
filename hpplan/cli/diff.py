"""`hpplan diff`: what two plans, or two routing tables, mean differently."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hpplan.cli.inputs import only_one_standard_input
from hpplan.cli.options import INPUT, format_option
from hpplan.cli.output import Output

if TYPE_CHECKING:
    from hpplan.documents.reader import Document
    from hpplan.plan.model import Plan
    from hpplan.routing.routes import RoutingTable


@click.command("diff", short_help="Say what two plans, or two routing tables, mean differently.")
@click.argument("a", type=INPUT)
@click.argument("b", type=INPUT)
@format_option("Format of the report.", "text", "json", default="text", show_default=True)
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there is a difference.")
@click.pass_obj
def command(output: Output, a: str, b: str, format_name: str, *, exit_code: bool) -> int:
    """Say what two plans, or two routing tables, mean differently.

    FQNs that were added or removed, and placements, classes and boundaries that
    changed, folded over layers: model.layers.{3..60}.mlp. Neither the order of
    keys nor the way a thing is spelled is a difference.
    """
    from hpplan.api.plans import compare
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
    differences = compare(*_loaded(before, after))
    names = (before.source.name, after.source.name)
    if format_name == "json":
        output.result(render_json(*names, differences))
    else:
        output.result(render_text(*names, differences, color=output.use_color(sys.stdout)))
    if differences.equal and format_name == "text":
        output.note("No differences.")
    return 1 if exit_code and not differences.equal else 0


def _loaded(*documents: Document) -> Iterator[Plan | RoutingTable]:
    """Yield what documents of one kind hold; raise UnusableRequest where they are not."""
    from hpplan.api.plans import load_plan
    from hpplan.api.routes import load_routes
    from hpplan.errors import UnusableRequest
    from hpplan.validation.kinds import kind_of_document, what_it_is

    kinds = {kind_of_document(document.data) for document in documents}
    if kinds not in ({"plan"}, {"routes"}):
        raise UnusableRequest(
            f"{', and '.join(map(what_it_is, documents))}; "
            "`hpplan diff` compares two plans or two routing tables."
        )
    load = load_plan if kinds == {"plan"} else load_routes
    yield from map(load, documents)
