"""The elements of a JSON array one by one, so that an array of any length takes little memory.

Elements are cut out by their brackets and texts alone; whoever gets one parses it, and says what
is wrong inside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hpplan.documents.limits import MAX_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SPACE = re.compile(rb"[ \t\r\n]*")
# Each repetition of a group takes memory, so that of many escapes only so many are passed at once.
_IN_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,1000}', re.DOTALL)
_TEXT_OR_SIGN = re.compile(rb'"%b"|["\[\]{}]' % _IN_TEXT.pattern, re.DOTALL)
_PLAIN = re.compile(rb'[^ \t\r\n,\[\]{}"]*')


class Element(NamedTuple):
    """The bytes of an element, and the line and column of its first character, from 1."""

    raw: bytes
    line: int
    column: int


class BrokenArrayError(Exception):
    """Between elements stands what does not belong there, or the array never ends."""

    def __init__(self, message: str, line: int, column: int) -> None:
        """Keep what is wrong, and where."""
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def array_elements(first: bytes, read: Callable[[], bytes]) -> Iterator[Element]:
    """Yield the elements of the array that starts in `first` and goes on in what `read` returns.

    `read` returns nothing at the end of the file. Raises BrokenArrayError after
    the elements before the fault.

    >>> [element.raw for element in array_elements(b'[{"a": [1, 2', iter([b']}, 3]', b'']).__next__)]
    [b'{"a": [1, 2]}', b'3']
    """
    text = _Text(first, read)
    text.skip_space()
    text.at += 1
    if text.skip_space() == b"]":
        text.at += 1
    else:
        yield from _elements(text)
    if text.skip_space():
        raise text.broken("text after the end of the document")


def _elements(text: _Text) -> Iterator[Element]:
    """Yield elements up to the closing bracket, and step over it."""
    while True:
        next_one = text.peek()
        if next_one in {b",", b"]", b"}", b""}:
            raise text.broken("a value is expected here")
        line, column = text.position()
        yield Element(text.take_element(), line, column)
        after = text.skip_space()
        if after not in {b",", b"]"}:
            raise text.broken("a ',' is missing here")
        text.at += 1
        if after == b"]":
            return
        if text.skip_space() == b"]":
            raise text.broken("a ',' before a closing bracket")


class _Text:
    """A window on the text of a file, which moves on with what is taken from it."""

    def __init__(self, first: bytes, read: Callable[[], bytes]) -> None:
        self._window = bytearray(first)
        self._read = read
        self.at = 0
        """Where in the window the next thing starts."""
        self._ended = False
        self._seen = 0
        self._line = self._column = 1
        """Position of the character at `_seen`."""

    def peek(self) -> bytes:
        """Return the next byte, or nothing at the end of the file."""
        while self.at >= len(self._window) and self._more():
            pass
        return bytes(self._window[self.at : self.at + 1])

    def skip_space(self) -> bytes:
        """Step over white space, and return the byte after it."""
        while True:
            found = _SPACE.match(self._window, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self._window) or not self._more():
                return self.peek()

    def take_element(self) -> bytes:
        """Return the bytes of the element that starts here, and step over it."""
        end = self._end_of_plain() if self.peek() not in {b'"', b"[", b"{"} else self._end_of_nested()
        raw = bytes(self._window[self.at : end])
        self.at = end
        return raw

    def position(self) -> tuple[int, int]:
        """Return line and column of the next thing, in characters."""
        passed = self._window[self._seen : self.at]
        breaks = passed.count(b"\n")
        if breaks:
            self._line += breaks
            self._column = 1
            passed = passed[passed.rfind(b"\n") + 1 :]
        self._column += len(passed.decode("utf-8", "replace"))
        self._seen = self.at
        return self._line, self._column

    def broken(self, message: str) -> BrokenArrayError:
        """Return the error for what stands here."""
        return BrokenArrayError(
            message if self.peek() else "the text ends before the document does", *self.position()
        )

    def _end_of_plain(self) -> int:
        while True:
            found = _PLAIN.match(self._window, self.at)
            end = found.end() if found else self.at
            if end < len(self._window) or not self._more():
                return end

    def _end_of_nested(self) -> int:
        """Return the end of a text, list or mapping, or of the file where it is never closed."""
        depth = 0
        checked = self.at
        while True:
            is_inside = False
            for found in _TEXT_OR_SIGN.finditer(self._window, checked):
                sign, checked = found.group(), found.end()
                is_inside = sign == b'"'
                if is_inside:
                    break
                if sign[:1] != b'"':
                    depth += 1 if sign in {b"[", b"{"} else -1
                if depth == 0:
                    return checked
            if is_inside:
                checked = self._end_of_text(checked)
                if depth == 0:
                    return checked
            else:
                checked = self._after_more(len(self._window))
                if self._ended:
                    return checked

    def _end_of_text(self, index: int) -> int:
        """Return the end of a text that goes on at an index, or of the file where it is never closed."""
        while True:
            found = _IN_TEXT.match(self._window, index)
            index = found.end() if found else index
            sign = self._window[index : index + 1]
            if sign == b'"':
                return index + 1
            if index + len(sign) == len(self._window):
                index = self._after_more(index)
                if self._ended:
                    return len(self._window)

    def _after_more(self, index: int) -> int:
        """Read on; return where what is at an index is then."""
        before = self.at
        self._more()
        return index - before + self.at

    def _more(self) -> bool:
        """Read on, and let go of what was taken."""
        block = b"" if self._ended else self._read()
        if not block:
            self._ended = True
            return False
        self.position()
        if len(self._window) - self.at > MAX_RECORD:
            raise self.broken(f"an element goes on beyond {MAX_RECORD >> 20} MiB")
        del self._window[: self.at]
        self._window += block
        self.at = self._seen = 0
        return True
