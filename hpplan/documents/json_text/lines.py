"""Samples from a JSONL file or a JSON array, one at a time, with positions in the file."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import JSON_SYNTAX, NOT_A_MAPPING
from hpplan.documents.disk.streams import UTF16_MARKS, decoded, document_name, endless, opened, unreadable
from hpplan.documents.json_text.array import BrokenArrayError, Element, array_elements
from hpplan.documents.json_text.data import NotJsonError, load_json
from hpplan.documents.limits import MAX_RECORD
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from hpplan.diagnostics import Path

_BOM = b"\xef\xbb\xbf"
_BLOCK = 2**20


@dataclass(frozen=True)
class Record:
    """One mapping of a file of many; `number` counts them from 1, `line` and `column` are where it starts."""

    data: dict[str, Any]
    number: int
    source: Source
    line: int
    column: int = 1

    @property
    def place(self) -> Place:
        """Where the record starts."""
        return Place(self.source.name, position=(self.line, self.column))

    def at(self, paths: Iterable[Path]) -> list[Place]:
        """Return the places of nodes of the record, found in one walk over it."""
        places = [Place(self.source.name, path) for path in paths]
        positions = self.source.locate(places)
        return [
            Place(place.document, position=_moved_position(positions[place], self.line, self.column))
            for place in places
        ]


def read_records(
    path: str, problems: list[Diagnostic], progress: Callable[[int], object] | None = None
) -> Iterator[Record]:
    """Yield the mappings of a file with one JSON object a line, or of one JSON array; `-` is standard input.

    They are read one by one, and blank lines skipped. What is wrong with one
    goes into `problems`, and the next follows. `progress` is told the bytes
    that were read. Raises UnusableRequest when the file cannot be read.
    """
    name = document_name(path)
    with opened(path) as stream:
        read = _Reader(stream, path, progress)
        text = read.first_line().removeprefix(_BOM)
        if text.startswith(UTF16_MARKS):
            # Of such a file nothing can be read, and one finding says so as well as one for each line.
            yield from _of_text(Element(text, 1, 1), name, 1, problems)
            return
        if text.lstrip().startswith(b"["):
            yield from _of_array(array_elements(text, read.block), name, problems)
            return
        count = 0
        for line, raw in enumerate(chain(io.BytesIO(text), iter(read.line, b"")), 1):
            if raw.strip():
                count += 1
                yield from _of_text(Element(raw.rstrip(b"\r\n"), line, 1), name, count, problems)


def _of_array(elements: Iterator[Element], name: str, problems: list[Diagnostic]) -> Iterator[Record]:
    broken = False
    try:
        for count, element in enumerate(elements, 1):
            known = len(problems)
            yield from _of_text(element, name, count, problems)
            broken = any(found.code is JSON_SYNTAX for found in problems[known:])
    except BrokenArrayError as error:
        # A bracket too few in an element is one fault, and not a second one after it.
        if not broken:
            place = Place(name, position=(error.line, error.column))
            problems.append(Diagnostic(JSON_SYNTAX, error.message, place))


def _of_text(element: Element, name: str, count: int, problems: list[Diagnostic]) -> Iterator[Record]:
    """Yield the one record of a text, or nothing where something is wrong with it."""
    try:
        source = Source(name, decoded(element.raw, name), "json")
        data = load_json(source)
    except NotJsonError as error:
        problems.append(_moved(error.finding, element))
        return
    except InvalidInput as error:
        problems.extend(_moved(finding, element) for finding in error.diagnostics)
        return
    if isinstance(data, dict):
        yield Record(data, count, source, element.line, element.column)
    else:
        problems.append(_no_mapping(Place(name, position=(element.line, element.column))))


def _no_mapping(place: Place) -> Diagnostic:
    message = "a sample is a mapping of fields, and this is none"
    return Diagnostic(NOT_A_MAPPING, message, place, "write one JSON object a line, or an array of them")


def _moved(finding: Diagnostic, element: Element) -> Diagnostic:
    """Move a finding from a text on its own to where the text stands in the file."""

    def moved(place: Place) -> Place:
        position = _moved_position(place.position or (1, 1), element.line, element.column)
        return Place(place.document, position=position, note=place.note)

    related = tuple(moved(place) for place in finding.related)
    return replace(finding, place=moved(finding.place), related=related)


def _moved_position(position: tuple[int, int], line: int, column: int) -> tuple[int, int]:
    row, within = position
    return row + line - 1, within + (column - 1 if row == 1 else 0)


class _Reader:
    """Reads a file by lines or blocks, and says how much it has read."""

    def __init__(self, stream: BinaryIO, path: str, progress: Callable[[int], object] | None) -> None:
        self._stream = stream
        self._path = path
        self._progress = progress

    def first_line(self) -> bytes:
        """Return what stands first, blank lines before it included.

        Of an array, which may have everything on that line, no more than a block.
        """
        found, piece = bytearray(), b"\n"
        while piece and not piece.removeprefix(_BOM).strip():
            piece = self._told(lambda: self._stream.readline(_BLOCK))
            found += piece
        if not piece.removeprefix(_BOM).lstrip().startswith(b"[") and not piece.endswith(b"\n"):
            found += self.line()
        return bytes(found)

    def line(self) -> bytes:
        """Return the next line, or nothing at the end."""
        found = self._told(lambda: self._stream.readline(MAX_RECORD))
        if len(found) == MAX_RECORD:
            raise endless(self._path, MAX_RECORD)
        return found

    def block(self) -> bytes:
        """Return the next block, or nothing at the end."""
        return self._told(lambda: self._stream.read(_BLOCK))

    def _told(self, read: Callable[[], bytes]) -> bytes:
        try:
            found = read()
        except OSError as error:
            raise unreadable(self._path, error) from None
        if self._progress is not None:
            self._progress(len(found))
        return found
