"""Text in HTML and SVG."""

from __future__ import annotations

from html import escape as _escape

from hpplan.reports.terminal.visible import visible


def escape(text: str) -> str:
    r"""Return one line of text as markup that shows it; control characters come out as escapes.

    >>> escape("a < b\x07")
    'a &lt; b\\x07'
    """
    return _escape(visible(text))
