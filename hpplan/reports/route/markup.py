"""Pieces of HTML that pages are put together from, of texts that `escape` was asked for."""

from __future__ import annotations

from html import escape as _escape
from typing import TYPE_CHECKING

from hpplan.reports.terminal.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    r"""Return one line of text as markup that shows it; control characters come out as escapes.

    >>> escape("a < b\x07")
    'a &lt; b\\x07'
    """
    return _escape(visible(text))


def section(name: str, title: str, body: str, level: int = 2) -> str:
    """Return a part of a page under its heading."""
    heading = f'<h{level} id="{name}">{title}</h{level}>'
    return f'<section aria-labelledby="{name}">\n{heading}\n{body.rstrip()}\n</section>\n'


def facts_list(facts: list[tuple[str, str]]) -> str:
    """Return names and values, which may be any text."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in facts)
    return f"<dl>\n{lines}</dl>"


def scroll(label: str, body: str) -> str:
    """Return what may be wider than a page, in a box that scrolls, also by keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{body}</div>'


def details(summary: str, body: str) -> str:
    """Return what is shown when somebody asks for it."""
    return f"<details><summary>{summary}</summary>\n{body}</details>"


_WORDS = ' class="words"'


def table(
    label: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    words: int | None = None,
    kind: str = "",
    taken: str | None = None,
) -> str:
    """Return a table whose first column names the rows; column `words` folds.

    Cells of a `kind` carry the names of their columns, for screens on which a
    row becomes a list; `taken` is the name of the row to mark.
    """

    def cell(number: int, text: str) -> str:
        mark = f' data-name="{heads[number]}"' if kind else ""
        return f"<td{_WORDS if number == words else mark}>{text}</td>"

    head = "".join(
        f"<th scope=col{_WORDS if number == words else ''}>{name}</th>" if name else "<td></td>"
        for number, name in enumerate(heads)
    )
    body = []
    for name, *rest in rows:
        mark = ' class="taken"' if name == taken else ""
        cells = "".join(cell(number, text) for number, text in enumerate(rest, start=1))
        body.append(f"<tr{mark}><th scope=row>{name}</th>{cells}</tr>\n")
    mark = f' class="{kind}"' if kind else ""
    said = f"<caption>{caption}</caption>" if caption else ""
    whole = f"<thead><tr>{head}</tr></thead><tbody>\n{''.join(body)}</tbody>"
    return scroll(label, f"<table{mark}>{said}{whole}</table>")
