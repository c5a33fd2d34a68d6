"""What a shell may complete besides commands, options and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the codes whose id or name begins with a word; `A,B` completes its last part.

    Where nothing is typed yet, these are the ids.
    """
    del ctx, param
    from hpplan.validation.catalog import all_codes

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{text}", help=other)
        for code in all_codes()
        for text, other in ((code.id, code.name), (code.name, code.id))
        if text.lower().startswith(word.lower()) and (word or text == code.id)
    ]


def complete_code_or_file(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the codes that begin with a word, and let the shell complete files as well."""
    codes = complete_codes(ctx, param, incomplete) if incomplete else []
    # bash forgets what came before the word for files.
    return [CompletionItem(incomplete, type="file"), *codes]


def complete_passes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the passes that begin with a word; `A,B` completes its last part with what is not in it yet."""
    del ctx
    from hpplan.passes.pipeline import PASSES

    before, comma, word = incomplete.rpartition(",")
    names = [step.name for step in PASSES if step.name not in before.split(",")]
    if param.name == "print_after":
        names.append("all")
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(word)]
