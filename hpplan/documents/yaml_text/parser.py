"""PyYAML's event stream, from its C parser where it has one."""

from __future__ import annotations

import re
from typing import Any, Protocol

import yaml
from yaml.error import MarkedYAMLError
from yaml.events import ScalarEvent
from yaml.parser import Parser as PlainParser
from yaml.reader import Reader
from yaml.scanner import Scanner

USE_LIBYAML: bool = bool(yaml.__with_libyaml__)
"""Whether the C parser is used; the other one gives the same events, slower."""

Event = Any
"""One of the classes of `yaml.events`."""


class Parser(Protocol):
    """What both of PyYAML's parsers can do."""

    def get_event(self) -> Event:
        """Return the next event of the text."""


def open_parser(text: str, *, slow: bool = False) -> Parser:
    """Return a parser at the start of `text`, which has no byte order mark; not the C parser if `slow`."""
    if USE_LIBYAML and not slow:
        from yaml._yaml import CParser

        fast: Parser = CParser(text)
        return fast
    return SlowParser(text)


_SURROGATE = re.compile("[\ud800-\udfff]")


class SlowParser(Reader, Scanner, PlainParser):
    """The events of a text from PyYAML's own parser, which libyaml may be missing beside.

    It refuses some texts that libyaml takes, as tabs between tokens, and never
    gives other data.
    """

    def __init__(self, text: str) -> None:
        """Start before the first event."""
        Reader.__init__(self, text)
        Scanner.__init__(self)
        PlainParser.__init__(self)

    def get_event(self) -> Event:
        """Return the next event; escapes that are no character are faults of the syntax."""
        try:
            event: Event = super().get_event()  # type: ignore[no-untyped-call]  # so are PyYAML's stubs
        except (ValueError, OverflowError):
            raise MarkedYAMLError(problem="unknown escape", problem_mark=self.get_mark()) from None
        if type(event) is ScalarEvent and not event.value.isascii() and _SURROGATE.search(event.value):
            raise MarkedYAMLError(problem="unknown escape", problem_mark=event.start_mark)  # type: ignore[arg-type]
        return event
