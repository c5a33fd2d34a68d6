"""Samples from a JSONL file or a JSON array, one at a time, with positions in the file."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import NOT_A_MAPPING, NOT_UTF8
from hpplan.documents.json_data import NotJsonError, load_json
from hpplan.documents.reader import STDIN, why
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput, UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hpplan.diagnostics import Path
    from hpplan.documents.source import Sources

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Record:
    """One mapping of a file of many; `number` counts them from 1.

    `line` is that of a JSONL record. Without it the record is an element of
    an array, found by its path.
    """

    data: dict[str, Any]
    number: int
    source: Source
    path: Path = ()
    line: int | None = None

    @property
    def place(self) -> Place:
        """Where the record starts."""
        if self.line is None:
            return Place(self.source.name, self.path)
        return Place(self.source.name, position=(self.line, 1))

    def at(self, *keys: str | int) -> Place:
        """Return the place of a node of the record."""
        place = Place(self.source.name, (*self.path, *keys))
        if self.line is None:
            return place
        row, column = self.source.locate([place])[place]
        return Place(place.document, position=(self.line + row - 1, column))


def read_records(
    path: str,
    problems: list[Diagnostic],
    sources: Sources | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[Record]:
    """Yield the mappings of a file with one JSON object a line, or of one JSON array; `-` is standard input.

    Lines are read one by one, and blank ones skipped. What is wrong with a
    line goes into `problems`, and the next line follows. `progress` is told
    the bytes of each line. Raises UnusableRequest when the file cannot be read.
    """
    name = "<stdin>" if path == STDIN else path
    count = 0
    with _opened(path) as stream:
        lines = _lines(stream, path)
        for line, raw in enumerate(lines, 1):
            if progress is not None:
                progress(len(raw))
            text = raw.removeprefix(_BOM) if line == 1 else raw
            stripped = text.strip()
            if not stripped:
                continue
            count += 1
            if count == 1 and stripped.startswith(b"["):
                rest = b"".join(lines)
                if progress is not None:
                    progress(len(rest))
                # The blank lines before the array count, so that positions are those in the file.
                yield from _of_array(b"\n" * (line - 1) + text + rest, name, problems, sources)
                return
            try:
                source = Source(name, _decoded(text.rstrip(b"\r\n"), name), "json")
                data = load_json(source)
            except NotJsonError as error:
                problems.append(_moved(error.finding, line))
                continue
            except InvalidInput as error:
                problems.extend(_moved(finding, line) for finding in error.diagnostics)
                continue
            if isinstance(data, dict):
                yield Record(data, count, source, line=line)
            else:
                problems.append(_no_mapping(Place(name, position=(line, 1))))


def _of_array(raw: bytes, name: str, problems: list[Diagnostic], sources: Sources | None) -> Iterator[Record]:
    try:
        source = Source(name, _decoded(raw, name), "json")
        elements = load_json(source)
    except NotJsonError as error:
        problems.append(error.finding)
        return
    except InvalidInput as error:
        problems.extend(error.diagnostics)
        return
    if sources is not None:
        sources.add(source)
    for index, data in enumerate(elements):
        if isinstance(data, dict):
            yield Record(data, index + 1, source, (index,))
        else:
            problems.append(_no_mapping(Place(name, (index,))))


def _no_mapping(place: Place) -> Diagnostic:
    message = "a sample is a mapping of fields, and this is none"
    return Diagnostic(NOT_A_MAPPING, message, place, "write one JSON object a line, or an array of them")


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        place = Place(name, position=(before.count(b"\n") + 1, column))
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise InvalidInput([Diagnostic(NOT_UTF8, message, place, "save the file as UTF-8")]) from None


def _moved(finding: Diagnostic, line: int) -> Diagnostic:
    """Move a finding from the text of one line to that line of the file."""

    def moved(place: Place) -> Place:
        row, column = place.position or (1, 1)
        return Place(place.document, position=(row + line - 1, column), note=place.note)

    related = tuple(moved(place) for place in finding.related)
    return replace(finding, place=moved(finding.place), related=related)


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer if sys.stdin is not None else io.BytesIO()
        return
    try:
        stream = open(path, "rb")  # noqa: PTH123, SIM115 - closed below; pathlib would only add its import
    except (OSError, ValueError) as error:
        raise UnusableRequest(f"Cannot read {path}: {why(error)}.") from None
    with stream:
        yield stream


def _lines(stream: Iterable[bytes], path: str) -> Iterator[bytes]:
    try:
        yield from stream
    except OSError as error:
        raise UnusableRequest(f"Cannot read {path}: {why(error)}.") from None
