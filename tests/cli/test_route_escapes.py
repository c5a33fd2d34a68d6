"""Text from a document that a terminal or a browser would obey."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hpplan.reports.terminal.screen import Screen

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runner

NASTY = "\x1b[31mred\x1b]0;pwn\x07\u202e\x9b"


@pytest.mark.parametrize("format_name", ["table", "html", "svg", "csv", "json", "yaml"])
def test_names_from_documents_are_escaped(hpplan: Runner, tmp_path: Path, format_name: str) -> None:
    """A field name that holds escape codes colours the terminal, retitles it, or hides text in a page."""
    workload = {
        "sequence": {"length": 8},
        "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2, NASTY: 1}],
        NASTY: 1,
    }
    path = tmp_path / f"w{NASTY.replace('/', '')}.json"
    path.write_text(json.dumps(workload))
    result = hpplan("route", str(path), "--mesh", "cp=2", "--format", format_name)
    assert result.status == 0
    for text in (result.stdout, result.stderr):
        assert [one for one in text if not one.isprintable() and one != "\n"] == []


@pytest.mark.parametrize("width", [None, 20, 80])
def test_screens_escape_what_they_show(width: int | None) -> None:
    """A title, a header, a cell, a name or a value reaches the terminal raw."""
    screen = Screen(width)
    text = (
        screen.table(NASTY, [NASTY, "x"], [[NASTY, f"a{NASTY}\nb"]], (1,))
        + screen.facts([(NASTY, f"{NASTY} and {NASTY}\nb")])
        + screen.folded("", NASTY)
    )
    assert [one for one in text if not one.isprintable() and one != "\n"] == []
