"""`hpplan schema`: print the JSON Schema of a kind of document."""

from __future__ import annotations

import click

from hpplan.cli.names import DOCUMENT
from hpplan.cli.options import PATH
from hpplan.cli.output import Output


@click.command("schema", short_help="Print the JSON Schema of a kind of document.")
@click.argument("name", required=False, type=DOCUMENT, metavar="[NAME]")
@click.option("-o", "--output", "path", type=PATH, metavar="FILE", help="Write to FILE.")
@click.pass_obj
def command(output: Output, name: str | None, path: str | None) -> None:
    """Print the JSON Schema of the document kind NAME; without NAME, list the kinds.

    Editors check a file against it when its first line is
    `# yaml-language-server: $schema=PATH`. What a JSON Schema cannot say is in
    its `$comment`; `hpplan validate` checks that too, save for what hpplan
    answers: execution, comparison, statistics, meshes, differences, findings and rank.
    """
    from hpplan.reports.json_schema import render
    from hpplan.validation.kinds import WITH_SCHEMA, kind_named

    if name is None:
        text = output.screen(path).facts([(kind.name, kind.about) for kind in WITH_SCHEMA])
    else:
        text = render(kind_named(name))
    output.write(path, text)
