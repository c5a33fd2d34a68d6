"""Codes: unique, in their ranges, documented under the same headings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hpplan.diagnostics import SEVERITIES, Code, CodeFile
from hpplan.validation.catalog import all_codes, declared_codes, find_code

if TYPE_CHECKING:
    from pathlib import Path

HEADINGS = ["## What it finds", "## Why it hurts", "## Example", "## What to do"]


def test_ids_and_names_are_unique() -> None:
    """A code that stands for two things cannot be looked up, ignored or counted."""
    declared = set(declared_codes())
    for field in ("id", "name"):
        counts = Counter(getattr(code, field) for code in declared)
        assert [text for text, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("code", all_codes(), ids=lambda code: code.id)
def test_documentation(code: Code) -> None:
    """`hpplan explain` prints this text: what is missing in it, nobody is told."""
    prose = "".join(code.doc.split("```")[::2])
    assert [line for line in prose.splitlines() if line.startswith("#")] == HEADINGS
    parts = [code.doc.index(heading) for heading in HEADINGS]
    assert parts == sorted(parts)
    assert parts[0] == 0
    for start, stop in zip(parts, [*parts[1:], len(code.doc)], strict=True):
        assert code.doc[start:stop].partition("\n")[2].strip(), "a heading without text"
    assert code.doc.endswith("\n")
    assert code.severity in SEVERITIES
    assert code.name == code.name.lower()
    assert " " not in code.name
    assert code.summary.endswith(".")
    assert code.summary.isascii(), "a table of codes moves where a terminal shows no more"


def test_every_layer_is_there() -> None:
    """A range that is missing would leave its findings without explanation."""
    assert {code.id[:3] for code in all_codes()} == {"HP0", "HP1", "HP2", "HP3", "HP4", "HP5"}
    assert [code.id for code in all_codes()] == sorted(code.id for code in all_codes())


@pytest.mark.parametrize("text", ["HP213", "hp213", "one-sided-contract", "One-Sided-Contract"])
def test_a_code_is_found_by_id_or_name(text: str) -> None:
    """People paste whichever of the two a report shows."""
    found = find_code(text)
    assert found is not None
    assert (found.id, found.name) == ("HP213", "one-sided-contract")


def test_an_unknown_code_is_none() -> None:
    """`HP2` is a range and no code."""
    assert find_code("HP2") is None


def test_no_text_is_left_without_its_code(root: Path) -> None:
    """A text that `explain` never prints, or prints for a code of another name, is a leftover."""
    headings = {
        line.removeprefix("# ")
        for file in sorted((root / "hpplan").rglob("*codes.md"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("# HP")
    }
    assert headings == {f"{code.id} {code.name}" for code in all_codes() if not isinstance(code.text, str)}


def test_a_code_without_its_text_says_so(tmp_path: Path) -> None:
    """Whoever adds a code forgets its section."""
    (tmp_path / "codes.md").write_text("# HP001 not-utf8\n\n## What it finds\nBytes.\n", encoding="utf-8")
    file = CodeFile(str(tmp_path / "codes.py"))
    assert file.code("HP001", "not-utf8", "error").doc == "## What it finds\nBytes.\n"
    other = file.code("HP002", "other", "error")
    with pytest.raises(LookupError, match=r"no text of HP002 other in .*codes.md"):
        _ = other.doc
    assert [code.id for code in file.codes()] == ["HP001", "HP002"]
