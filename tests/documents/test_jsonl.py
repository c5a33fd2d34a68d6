"""JSONL files and JSON arrays, one record at a time, with positions in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hpplan.documents.jsonl import read_records
from hpplan.documents.source import Sources
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from pathlib import Path

    from hpplan.diagnostics import Diagnostic


def read(path: Path, content: bytes, sources: Sources | None = None) -> tuple[list[object], list[Diagnostic]]:
    """Return the data of all records of a file, and what is wrong with the others."""
    path.write_bytes(content)
    problems: list[Diagnostic] = []
    return [record.data for record in read_records(str(path), problems, sources)], problems


def test_lines_and_blank_lines(tmp_path: Path) -> None:
    """Blank lines, a byte order mark and either line break are neither samples nor faults."""
    found, problems = read(tmp_path / "a", b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": 2}')
    assert (found, problems) == ([{"a": 1}, {"a": 2}], [])


def test_an_array_of_samples(tmp_path: Path) -> None:
    """One JSON array, also over many lines, has the same samples."""
    found, problems = read(tmp_path / "a", b'\n[\n {"a": 1},\n {"a": 2}\n]\n')
    assert (found, problems) == ([{"a": 1}, {"a": 2}], [])


def test_every_bad_line_is_reported_where_it_is(tmp_path: Path) -> None:
    """A bad line does not hide the next; each is reported with its line and column in the file."""
    content = b'{"a": 1}\n{"a": 1, "a": 2}\n[1]\n{"b": }\n"x"\n{"c": "\xff"}\n{"d": NaN}\n{"ok": 1}\n'
    found, problems = read(tmp_path / "a", content)
    assert found == [{"a": 1}, {"ok": 1}]
    assert [(item.place.position, item.code.id) for item in problems] == [
        ((2, 10), "HP004"),
        ((3, 1), "HP014"),
        ((4, 7), "HP003"),
        ((5, 1), "HP014"),
        ((6, 8), "HP001"),
        ((7, 7), "HP018"),
    ]
    assert problems[0].related[0].position == (2, 2)


def test_places_of_a_line(tmp_path: Path) -> None:
    """A place within a record is that of the file, not of the line."""
    (tmp_path / "a").write_bytes(b'\n{"a": {"b": [1,\t22]}}\n')
    (record,) = read_records(str(tmp_path / "a"), [])
    assert record.at("a", "b", 1).position == (2, 17)
    assert record.place.position == (2, 1)


def test_places_in_an_array(tmp_path: Path) -> None:
    """A place within an array is found in the text of the file, leading blank lines included."""
    path, sources = tmp_path / "a", Sources()
    path.write_bytes(b'\n\n[{"a": 1},\n  {"a": 2}, 3]')
    problems: list[Diagnostic] = []
    records = list(read_records(str(path), problems, sources))
    places = [records[1].at("a"), problems[0].place]
    assert [sources.positions(places)[place] for place in places] == [(4, 9), (4, 13)]


def test_a_broken_array(tmp_path: Path) -> None:
    """An array that does not parse has no samples, and says where it breaks."""
    found, problems = read(tmp_path / "a", b'\n[{"a": 1},\n {"a" 2}]')
    assert found == []
    assert [item.place.position for item in problems] == [(3, 7)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is a question that cannot be asked, not a bad sample."""
    with pytest.raises(UnusableRequest, match="no such file"):
        list(read_records(str(tmp_path / "missing"), []))
    with pytest.raises(UnusableRequest, match="folder"):
        list(read_records(str(tmp_path), []))


def test_progress_counts_bytes(tmp_path: Path) -> None:
    """Progress adds up to the size of the file, so that a bar reaches its end."""
    for content in (b'{"a": 1}\n\n{"a": 2}\n', b'\n[{"a": 1},\n{"a": 2}]\n'):
        (tmp_path / "a").write_bytes(content)
        sizes: list[int] = []
        list(read_records(str(tmp_path / "a"), [], None, sizes.append))
        assert sum(sizes) == len(content)
