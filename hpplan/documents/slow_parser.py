"""PyYAML's own parser, made to take and to refuse what libyaml does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from yaml.error import MarkedYAMLError
from yaml.events import ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

if TYPE_CHECKING:
    from yaml.error import Mark

    from hpplan.documents.yaml_parser import Event

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS = "\r\n\x85\u2028\u2029"
_MARKERS = ("---", "...")


class SlowParser(Reader, Scanner, Parser):
    """The events of a text, for where PyYAML comes without libyaml."""

    def __init__(self, text: str) -> None:
        """Start before the first event."""
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Event:
        """Return the next event; escapes that are no character are faults of the syntax."""
        try:
            event: Event = super().get_event()  # type: ignore[no-untyped-call]  # so are PyYAML's stubs
        except (ValueError, OverflowError):
            raise MarkedYAMLError(problem="unknown escape", problem_mark=self.get_mark()) from None
        if type(event) is ScalarEvent and not event.value.isascii() and _SURROGATE.search(event.value):
            raise MarkedYAMLError(problem="unknown escape", problem_mark=event.start_mark)  # type: ignore[arg-type]
        return event

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line ends, and tabs wherever no key of a block can start."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: Mark) -> list[str]:
        """Take blanks and line ends inside a plain scalar, tabs among them."""
        blanks = ""
        while self.peek() in {" ", "\t"}:
            blanks += self.peek()
            self.forward()
        if self.peek() not in _BREAKS:
            return [blanks] if blanks else []
        first = self.scan_line_break()  # type: ignore[no-untyped-call]
        self.allow_simple_key = True
        breaks: list[str] = []
        while not self._at_marker():
            if self.peek() in _BREAKS:
                breaks.append(self.scan_line_break())  # type: ignore[no-untyped-call]
            elif self.peek() == " " or (self.peek() == "\t" and self.column >= indent):
                self.forward()
            elif self.peek() == "\t":
                raise MarkedYAMLError("while scanning a plain scalar", start_mark, "tab", self.get_mark())
            else:
                folded = [first] if first != "\n" else [] if breaks else [" "]
                return folded + breaks
        return []

    def _at_marker(self) -> bool:
        # prefix() fetches what peek() looks at.
        return self.column == 0 and self.prefix(3) in _MARKERS and self.peek(3) in "\0 \t" + _BREAKS
