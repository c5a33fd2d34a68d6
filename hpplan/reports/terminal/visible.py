"""Text from documents, as a terminal may get it."""

from __future__ import annotations

import re
from typing import Final


def visible(text: str) -> str:
    """Return one line of text with everything that a terminal would obey or hide as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def on_terminal(text: str) -> str:
    """Return text as a terminal may get it: escaped, apart from line breaks, tabs and colours."""
    return _NOT_PLAIN.sub(lambda found: found[1] or visible(found[0]), text)


_NOT_PLAIN: Final = re.compile(r"(\x1b\[[0-9;]*m)|[^\t\n -~]")


def visible_lines(text: str) -> str:
    """Return text with everything that a terminal would obey or hide as escapes, apart from line breaks."""
    return "\n".join(visible(line) for line in text.split("\n"))
