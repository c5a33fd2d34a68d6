"""JSONL files and JSON arrays, one sample at a time, with positions in the file."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpplan.documents.json_text.samples import read_samples
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from pathlib import Path

    from hpplan.diagnostics import Diagnostic


def read(path: Path, content: bytes) -> tuple[list[object], list[Diagnostic]]:
    """Return the data of all samples of a file, and what is wrong with the others."""
    path.write_bytes(content)
    problems: list[Diagnostic] = []
    return [sample.data for sample in read_samples(str(path), problems)], problems


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


def test_other_encodings(tmp_path: Path) -> None:
    """A file in UTF-16 is faulty in every line, or nobody says what it is."""
    found, problems = read(tmp_path / "a", '{"a": 1}\n{"a": 2}\n'.encode("utf-16"))
    assert found == []
    assert [(item.code.id, item.place.position) for item in problems] == [("HP001", (1, 1))]
    assert problems[0].hint == "it looks like UTF-16; save it as UTF-8"


def test_places_of_a_line(tmp_path: Path) -> None:
    """A place within a sample is that of the file, not of the line."""
    (tmp_path / "a").write_bytes(b'\n{"a": {"b": [1,\t22]}}\n')
    (sample,) = read_samples(str(tmp_path / "a"), [])
    assert sample.at([("a", "b", 1)])[0].position == (2, 17)
    assert sample.place.position == (2, 1)


def test_places_in_an_array(tmp_path: Path) -> None:
    """A place within an array is found in the text of the file, leading blank lines included."""
    path = tmp_path / "a"
    path.write_bytes(b'\n\n[{"a": 1},\n  {"a": 2}, 3]')
    problems: list[Diagnostic] = []
    samples = list(read_samples(str(path), problems))
    places = [*samples[0].at([("a",)]), *samples[1].at([("a",)]), problems[0].place]
    assert [place.position for place in places] == [(3, 8), (4, 9), (4, 13)]


def test_bad_elements_of_an_array(tmp_path: Path) -> None:
    """A bad element hides the next, or is reported where it is not."""
    content = b'\n[{"a": 1},\n {"c": 1, "c": 2}, 3, {"e": [NaN]}, {"f": 5}]'
    found, problems = read(tmp_path / "a", content)
    assert found == [{"a": 1}, {"f": 5}]
    assert [(item.place.position, item.code.id) for item in problems] == [
        ((3, 11), "HP004"),
        ((3, 20), "HP014"),
        ((3, 30), "HP018"),
    ]
    assert problems[0].related[0].position == (3, 3)


def test_an_array_that_breaks_off(tmp_path: Path) -> None:
    """What is not JSON hides the samples before it, or is reported more than once or not at all."""
    found, problems = read(tmp_path / "a", b'\n[{"a": 1}, {"b" 2},\n {"c": 3}]')
    assert found == [{"a": 1}]
    assert [(item.place.position, item.code.id) for item in problems] == [((2, 17), "HP003")]
    found, problems = read(tmp_path / "a", b'\n[{"a": 1},\n {"d": "\xff"}]')
    assert found == []
    assert [(item.place.position, item.code.id) for item in problems] == [((3, 9), "HP001")]
    found, problems = read(tmp_path / "a", b'[{"a": 1},\n ' + b"[" * 100_000)
    assert found == [{"a": 1}]
    assert [item.code.id for item in problems] == ["HP009"]


@pytest.mark.parametrize(
    ("content", "message", "position"),
    [
        ('[{"ä": 1} {"b": 2}]', "a ',' or a ':' is missing here", (1, 11)),
        ('[{"a": 1}9]', "a ',' or a ':' is missing here", (1, 10)),
        ('[{"a": 1}e9]', "a ',' or a ':' is missing here", (1, 10)),
        ('[{"ä": 1},, {"b": 2}]', "a value is expected here", (1, 11)),
        ('[{"a": 1},\n]', "a ',' before a closing bracket", (2, 1)),
        ('[{"a": 1},\n', "the text ends before the document does", (2, 1)),
        ('[{"a": 1}\n', "the text ends before the document does", (2, 1)),
        ("[", "the text ends before the document does", (1, 2)),
        ('[{"a": 1}]\n[2]', "text after the end of the document", (2, 1)),
        ('[{"a": 1}, {"b": [2}]', "a ',' or a ':' is missing here", (1, 20)),
        ('[{"a": 1}, {"b": 2, }]', "a ',' before a closing bracket", (1, 21)),
        ('[{"a": 1}, {"b": ,}]', "a value is expected here", (1, 18)),
        ('[{"a": 1}, {"b": [2,\n]}]', "a ',' before a closing bracket", (2, 1)),
        ('[{"a": 1}, {"b": "2]', "a text that is never closed", (1, 18)),
    ],
)
def test_what_stands_between_elements(
    tmp_path: Path, content: str, message: str, position: tuple[int, int]
) -> None:
    """An array that is none passes, or one fault is reported as two, or in another place."""
    found, problems = read(tmp_path / "a", content.encode())
    assert found[0:1] == ([] if content == "[" else [{content[3]: 1}])
    assert [(item.message, item.place.position) for item in problems] == [(message, position)]


@given(
    elements=st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('"\\[]{}, \näx')),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('"\\]}x')), inner),
            max_leaves=6,
        ),
        max_size=5,
    ),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
)
@settings(max_examples=150)
def test_elements_of_any_array(
    tmp_path_factory: pytest.TempPathFactory, elements: list[object], indent: int | None, ascii_only: bool
) -> None:
    """An element is cut in two or put together with the next, or its line and column are wrong."""
    path = tmp_path_factory.mktemp("array") / "a"
    text = json.dumps([{"": element} for element in elements], indent=indent, ensure_ascii=ascii_only)
    path.write_bytes(b"\n" + text.encode())
    problems: list[Diagnostic] = []
    samples = list(read_samples(str(path), problems))
    assert [sample.data[""] for sample in samples] == elements
    assert not problems
    lines = ["", *text.split("\n")]
    for sample in samples:
        row, column = sample.start
        rest = "\n".join([lines[row - 1][column - 1 :], *lines[row:]])
        assert rest.startswith(sample.source.text)


def test_an_array_takes_the_memory_of_its_text(tmp_path: Path) -> None:
    """The data of all samples of an array is in memory at once, several times their text."""
    (tmp_path / "a").write_text(json.dumps([{"input_ids": [300] * 1000}] * 600), encoding="utf-8")
    tracemalloc.start()
    count = sum(1 for _ in read_samples(str(tmp_path / "a"), []))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 600
    assert peak < 2.5 * (tmp_path / "a").stat().st_size


@pytest.mark.parametrize(
    "piece",
    [b"x", b"\\\\", b'\\"', b"\\u0061", "\N{LATIN SMALL LETTER E WITH ACUTE}\\n".encode()],
    ids=["plain", "backslashes", "quotes", "escapes", "wide"],
)
def test_a_long_text(tmp_path: Path, piece: bytes) -> None:
    """A text of megabytes is read over and over, or each of its escapes takes a hundred bytes."""
    count = 4_000_000 // len(piece)
    for content in (b'[{"a": "' + piece * count + b'"}, 5', b'[{"a": "' + piece * count):
        start = time.process_time()
        tracemalloc.start()
        found, problems = read(tmp_path / "a", content)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(found) == content.endswith(b"5")
        assert len(problems) == 1 + len(found)
        assert peak < 80e6
        assert time.process_time() - start < 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is a question that cannot be asked, not a bad sample."""
    with pytest.raises(UnusableRequest, match="no such file"):
        list(read_samples(str(tmp_path / "missing"), []))
    with pytest.raises(UnusableRequest, match="folder"):
        list(read_samples(str(tmp_path), []))


def test_progress_counts_bytes(tmp_path: Path) -> None:
    """Progress adds up to the size of the file, so that a bar reaches its end."""
    for content in (b'{"a": 1}\n\n{"a": 2}\n', b'\n[{"a": 1},\n{"a": 2}]\n'):
        (tmp_path / "a").write_bytes(content)
        sizes: list[int] = []
        list(read_samples(str(tmp_path / "a"), [], sizes.append))
        assert sum(sizes) == len(content)
