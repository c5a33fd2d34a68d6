"""Samples from a JSONL file or a JSON array, one at a time, with positions in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from hpplan.diagnostics import Diagnostic, Path, Place, Position
from hpplan.documents.codes import NOT_A_MAPPING
from hpplan.documents.disk.streams import (
    UTF16_MARKS,
    decoded,
    document_name,
    endless,
    opened,
    pieces_of,
    unreadable,
)
from hpplan.documents.json_text.data import NotJsonError, load_json
from hpplan.documents.json_text.tokens import end_of_node
from hpplan.documents.limits import MAX_SAMPLE
from hpplan.documents.source import Source
from hpplan.errors import InvalidInput

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_END = re.compile(r"[ \t\r\n]*\][ \t\r\n]*\Z")


@dataclass(frozen=True)
class SampleData:
    """What a file says of one sample; `number` counts them from 1, `start` is where it stands in the file."""

    data: dict[str, Any]
    number: int
    source: Source
    start: Position

    @property
    def place(self) -> Place:
        """Where the sample starts."""
        return Place(self.source.name, position=self.start)

    def at(self, paths: Iterable[Path]) -> list[Place]:
        """Return the places of nodes of the sample, found in one walk over it."""
        places = [Place(self.source.name, path) for path in paths]
        positions = self.source.locate(places)
        return [replace(place, position=_behind(self.start, positions[place])) for place in places]


def read_samples(
    path: str, problems: list[Diagnostic], progress: Callable[[int], object] = lambda _: None
) -> Iterator[SampleData]:
    """Yield the samples of a file with one JSON object a line, or of one JSON array; `-` is standard input.

    Lines are read one by one, and blank ones skipped; an array is read as a
    whole. What is wrong with a sample goes into `problems`, and the next one
    follows, but not where an array breaks off being JSON. `progress` is told
    the bytes that were read. Raises UnusableRequest when the file cannot be read.
    """
    name = document_name(path)
    count = 0
    with opened(path) as stream:
        for number, line in enumerate(_lines(stream, path), 1):
            progress(len(line))
            raw = line.removeprefix(_BOM) if number == 1 else line
            if not count and raw.lstrip().startswith(b"["):
                pieces = [raw]
                for piece in pieces_of(stream, path):
                    progress(len(piece))
                    pieces.append(piece)
                with _reported(problems, (number, 1)):
                    yield from _of_array(decoded(b"".join(pieces), name), name, number, problems)
                return
            if len(line) == MAX_SAMPLE:
                raise endless(path, MAX_SAMPLE)
            if raw.strip():
                count += 1
                with _reported(problems, (number, 1)):
                    yield _sample(decoded(raw.rstrip(b"\r\n"), name), name, count, (number, 1))
            if number == 1 and raw.startswith(UTF16_MARKS):
                # Of such a file nothing can be read, and one finding says so as well as one for each line.
                return


def _lines(stream: BinaryIO, path: str) -> Iterator[bytes]:
    try:
        while line := stream.readline(MAX_SAMPLE):
            yield line
    except OSError as error:
        raise unreadable(path, error) from None


def _of_array(text: str, name: str, row: int, problems: list[Diagnostic]) -> Iterator[SampleData]:
    """Yield the samples of an array whose text starts in a row, each parsed when it is asked for."""
    end = text.index("[") + 1
    count = known = 0
    column = 1
    while not _END.match(text, end):
        try:
            begin, stop = _element(text, end, _COMMA if count else _SPACE)
        except ValueError:
            begin = stop = end
        breaks = text.count("\n", known, begin)
        column = begin - text.rfind("\n", known, begin) if breaks else column + begin - known
        row += breaks
        known = begin
        if stop == end:
            # Said of the rest as of an array that starts with a text.
            start = '[""' if count else "["
            with _reported(problems, (row, column - len(start))):
                load_json(Source(name, start + text[end:], "json"))
            return
        count += 1
        with _reported(problems, (row, column)):
            yield _sample(text[begin:stop], name, count, (row, column))
        end = stop


def _element(text: str, index: int, before: re.Pattern[str]) -> tuple[int, int]:
    """Return where an element is in a text; raise ValueError where none comes, or not what is before one."""
    match = before.match(text, index)
    if match is None:
        raise ValueError
    return match.end(), end_of_node(text, match.end())


def _sample(text: str, name: str, number: int, start: Position) -> SampleData:
    source = Source(name, text, "json")
    data = load_json(source)
    if not isinstance(data, dict):
        message = "a sample is a mapping of fields, and this is none"
        hint = "write one JSON object a line, or an array of them"
        raise InvalidInput([Diagnostic(NOT_A_MAPPING, message, Place(name), hint)])
    return SampleData(data, number, source, start)


@contextmanager
def _reported(problems: list[Diagnostic], start: Position) -> Iterator[None]:
    """Keep what is wrong with a text on its own, at the places where it stands in the file."""

    def moved(place: Place) -> Place:
        return Place(place.document, position=_behind(start, place.position or (1, 1)), note=place.note)

    try:
        yield
    except (NotJsonError, InvalidInput) as error:
        findings = error.diagnostics if isinstance(error, InvalidInput) else [error.finding]
        problems += (
            replace(finding, place=moved(finding.place), related=tuple(map(moved, finding.related)))
            for finding in findings
        )


def _behind(start: Position, position: Position) -> Position:
    """Return where in a file a position is in a text that starts there."""
    return start[0] + position[0] - 1, position[1] + (start[1] - 1 if position[0] == 1 else 0)
