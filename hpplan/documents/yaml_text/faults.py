"""What is wrong with YAML text, in our own words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import UNPRINTABLE_CHARACTER, YAML_SYNTAX
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from yaml.error import YAMLError


_UNPRINTABLE = (
    "[^\\x09\\x0a\\x0d\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]"
)
_PRINTABLE_ASCII = bytes([0x09, 0x0A, 0x0D, *range(0x20, 0x7F)])


def check_printable(source: Source) -> None:
    """Raise InvalidInput for the first character that YAML does not allow."""
    text = source.text
    if text.isascii() and not text.encode("ascii").translate(None, _PRINTABLE_ASCII):
        return
    match = re.search(_UNPRINTABLE, text)
    if match:
        place = Place(source.name, position=source.position(match.start()))
        hint = (
            "this does not look like a text file"
            if "\0" in text
            else 'write it as an escape in double quotes: "\\u…"'
        )
        message = f"the character U+{ord(match.group()):04X} is not allowed in YAML text"
        raise InvalidInput([Diagnostic(UNPRINTABLE_CHARACTER, message, place, hint)])


def gave_up_on_depth(error: YAMLError) -> bool:
    """Whether libyaml, which looks far ahead, met too many levels for itself before the builder did."""
    return "nesting depth" in str(error)


def syntax_failure(source: Source, error: YAMLError) -> Diagnostic:
    """Put what a parser said into our own words."""
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = min(mark.index, len(source.text)) if mark is not None else len(source.text)
    place = Place(source.name, position=source.position(index))
    report = f"{context}: {problem}"
    if source.text[index : index + 1] == "\t":
        report = "tab"
    elif index >= len(source.text.rstrip()) and "':'" not in report:
        report = "unexpected end of stream"
    unknown: tuple[str, str | None] = (problem or "this is not YAML", None)
    matching = ((message, hint) for pattern, message, hint in _WORDS if re.search(pattern, report))
    message, hint = next(matching, unknown)
    return Diagnostic(YAML_SYNTAX, message, place, hint)


_WORDS: tuple[tuple[str, str, str | None], ...] = (
    (r"unexpected end of stream|'<stream end>'", "the text ends inside a quote, list or mapping", None),
    (
        r"mapping values are not allowed",
        "a second ':' in one line, or wrong indentation",
        "quote texts with ': ' in them",
    ),
    (r"could not find expected ':'", "a key without a ':' after it", None),
    (r"cannot start any token.*", "a character that cannot start a value", "put the text in quotes"),
    (
        r"alias: |scanning an alias",
        "'*' starts an alias, and no name follows",
        'put patterns in quotes, as in "*.mlp"',
    ),
    (r"scanning an anchor", "'&' starts an anchor, and no name follows", "put the text in quotes"),
    (
        r"escape",
        "an escape in double quotes that does not exist",
        "use single quotes for texts with backslashes",
    ),
    (r"flow mapping|',' or '}'", "a mapping in braces lacks a ',' or its '}'", None),
    (r"flow sequence|',' or '\]'", "a list in brackets lacks a ',' or its ']'", None),
    (r"flow node", "a value or a closing bracket is missing", None),
    (
        r"node content",
        "a value is expected here",
        "put texts that start with a bracket, comma, ':' or '?' in quotes",
    ),
    (r"unexpected ':'", "a ':' right before a bracket, comma or question mark", "put the text in quotes"),
    (r"block mapping", "a key is expected here", "check the indentation, and quotes around values"),
    (r"block collection|block sequence", "a list item is expected here", "check the indentation"),
    (r"document start", "text after the end of the document", None),
    (r"quoted scalar", "a quoted text that does not end where it should", None),
    (r"[Dd]irective|%", "a directive that is not YAML's", None),
    (r"tag", "a tag that is not well-formed", None),
    (r"sequence entries are not allowed", "a list item is not allowed here", "put it on a line of its own"),
    (r"mapping keys are not allowed", "a key is not allowed here", "put it on a line of its own"),
    (r"block scalar", "a block text ('|' or '>') that is not well-formed", None),
    (r"version|incompatible", "a version of YAML that does not exist", None),
    (r"^tab$", "a tab where only spaces may stand", "indent with spaces"),
)
