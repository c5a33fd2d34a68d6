"""Telling comments in YAML text from a `#` inside a scalar."""

from __future__ import annotations

import re

from yaml.events import DocumentEndEvent, ScalarEvent

from hpplan.documents.yaml_text.parser import open_parser

_BREAK = re.compile("[\\r\\n\\x85\\u2028\\u2029]")


def has_comment(text: str, start: int) -> bool:
    """Whether a document, whose text is YAML, has a comment from index `start` on."""
    sign = text.find("#", start)
    get_event = open_parser(text).get_event
    while sign >= 0:
        event = get_event()
        kind = type(event)
        if kind is DocumentEndEvent:
            return True
        if kind is ScalarEvent and event.end_mark.index > sign:
            inside = event.start_mark.index
            if event.style in {"|", ">"}:
                # The first line of a block text holds its style alone, and may have a comment.
                match = _BREAK.search(text, inside)
                inside = match.start() if match is not None else len(text)
            if sign < inside:
                return True
            sign = text.find("#", event.end_mark.index)
    return False
