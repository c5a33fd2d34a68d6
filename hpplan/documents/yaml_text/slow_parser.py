"""PyYAML's own parser, made to take and to refuse what libyaml does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from yaml.error import MarkedYAMLError
from yaml.events import ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner
from yaml.tokens import ScalarToken, TagToken

if TYPE_CHECKING:
    from yaml.error import Mark

    from hpplan.documents.yaml_text.parser import Event

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS = "\r\n\x85\u2028\u2029"
_BLANKS = f"\0 \t{_BREAKS}"
_MARKERS = ("---", "...")
_PLAIN = re.compile(rf"(?:[^{_BLANKS}:]|:(?![{_BLANKS}]))*")
_PLAIN_IN_BRACKETS = re.compile(rf"(?:[^{_BLANKS}:,\[\]{{}}]|:(?![{_BLANKS},?\[\]{{}}]))*")
_INDICATORS = re.compile(r"[+-][1-9]?|[1-9][+-]?|")
_HANDLE = re.compile(r"[0-9A-Za-z_-]*!")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TAG_CHARACTERS = frozenset(_LETTERS + "-_;/?:@&=+$.!~*'()")


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

    def process_empty_scalar(self, mark: Mark) -> ScalarEvent:
        """Take nothing for a scalar; where it stands for a key in brackets, it is where the next token is."""
        if self.state in (self.parse_flow_mapping_value, self.parse_flow_sequence_entry_mapping_value):
            mark = self.peek_token().start_mark  # type: ignore[no-untyped-call]
        event: ScalarEvent = super().process_empty_scalar(mark)
        return event

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line ends, and tabs wherever no key of a block can start."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain(self) -> ScalarToken:
        """Take a plain scalar: in brackets too it may have `?` in it, and no indicator right behind a `:`."""
        start = end = self.get_mark()
        indent = self.indent + 1
        words: list[str] = []
        spaces: list[str] = []
        while self.peek() != "#":
            word = self._match(_PLAIN_IN_BRACKETS if self.flow_level else _PLAIN)
            if word:
                self.allow_simple_key = False
                words += [*spaces, word]
                self.forward(len(word))
                end = self.get_mark()
            if self.flow_level and self.peek() == ":" and self.peek(1) in ",?[]{}":
                raise MarkedYAMLError("while scanning a plain scalar", start, "found unexpected ':'", end)
            if not word:
                break
            spaces = self.scan_plain_spaces(indent, start)
            if not spaces or (not self.flow_level and self.column < indent):
                break
        return ScalarToken("".join(words), True, start, end)  # noqa: FBT003 - its one signature

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
                raise self._tab("while scanning a plain scalar", start_mark)
            else:
                folded = [first] if first != "\n" else [] if breaks else [" "]
                return folded + breaks
        return []

    def scan_flow_scalar_non_spaces(self, double: bool, start_mark: Mark) -> list[str]:
        """Take text inside quotes; an escape that does not exist is where its backslash is."""
        try:
            return super().scan_flow_scalar_non_spaces(double, start_mark)
        except MarkedYAMLError as error:
            mark = error.problem_mark
            if mark is not None and "unknown escape" in str(error.problem):
                mark.index -= 1
            raise

    def scan_block_scalar_indicators(self, start_mark: Mark) -> tuple[bool | None, int | None]:
        """Take the signs behind `|` or `>`, whatever follows them."""
        signs = self._match(_INDICATORS)
        self.forward(len(signs))
        if self.peek() == "0":
            problem = "expected indentation indicator in the range 1-9, but found 0"
            raise MarkedYAMLError("while scanning a block scalar", start_mark, problem, self.get_mark())
        digit = signs.strip("+-")
        return {"": None, "+": True, "-": False}[signs.strip(_LETTERS)], int(digit) if digit else None

    def scan_block_scalar_ignored_line(self, start_mark: Mark) -> None:
        """Skip what follows the head of a block scalar, tabs and a comment among them."""
        while self.peek() in {" ", "\t"}:
            self.forward()
        super().scan_block_scalar_ignored_line(start_mark)

    def scan_block_scalar_indentation(self) -> tuple[list[str], int, Mark]:
        """Find the indentation of a block scalar; a tab has none."""
        found: tuple[list[str], int, Mark] = super().scan_block_scalar_indentation()
        if self.peek() == "\t":
            raise self._tab("while scanning a block scalar", found[2])
        return found

    def scan_block_scalar_breaks(self, indent: int) -> tuple[list[str], Mark]:
        """Skip to the next line of a block scalar; a tab does not indent it."""
        found: tuple[list[str], Mark] = super().scan_block_scalar_breaks(indent)
        if self.peek() == "\t" and self.column < indent:
            raise self._tab("while scanning a block scalar", found[1])
        return found

    def scan_tag(self) -> TagToken:
        """Take a tag: a `,` ends it in brackets, and a tab may follow it."""
        start = self.get_mark()
        if self.peek(1) == "<":
            return super().scan_tag()
        self.forward()
        handle: str | None = "!"
        name = self._match(_HANDLE)
        if name:
            self.forward(len(name))
            handle = f"!{name}"
        suffix = ""
        while self.peek() in _TAG_CHARACTERS or self.peek() == "%":
            if self.peek() == "%":
                suffix += self.scan_uri_escapes("tag", start)
            else:
                suffix += self.peek()
                self.forward()
        if not suffix and handle == "!":
            handle, suffix = None, "!"
        if not suffix or not (self.peek() in _BLANKS or (self.flow_level and self.peek() == ",")):
            raise MarkedYAMLError("while scanning a tag", start, "the tag does not end here", self.get_mark())
        return TagToken((handle, suffix), start, self.get_mark())

    def _match(self, pattern: re.Pattern[str]) -> str:
        """Return what matches where the scanner is; a text is in the reader's buffer as a whole."""
        found = pattern.match(self.buffer, self.pointer)
        return found.group() if found is not None else ""

    def _tab(self, context: str, start_mark: Mark) -> MarkedYAMLError:
        return MarkedYAMLError(context, start_mark, "tab", self.get_mark())

    def _at_marker(self) -> bool:
        # prefix() fetches what peek() looks at.
        return self.column == 0 and self.prefix(3) in _MARKERS and self.peek(3) in _BLANKS
