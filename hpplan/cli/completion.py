"""What a shell may complete besides commands, options and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the codes whose id or name begins with a word; `A,B` completes its last part."""
    del ctx, param
    from hpplan.checks.registry import all_codes

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{text}", help=other)
        for code in all_codes()
        for text, other in ((code.id, code.name), (code.name, code.id))
        if word and text.lower().startswith(word.lower())
    ]


def complete_code_or_file(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the codes that begin with a word, and let the shell complete files as well."""
    return [*complete_codes(ctx, param, incomplete), CompletionItem(incomplete, type="file")]
