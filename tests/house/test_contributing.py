"""What CONTRIBUTING says of the house, against the house."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_every_room_is_on_the_map(root: Path) -> None:
    """A newcomer finds a room that nobody explains, or looks for one that is not there."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {file.parent.relative_to(root).as_posix() for file in (root / "hpplan").glob("*/**/__init__.py")}
    assert set(re.findall(r"^\| `(hpplan/[\w/]+)` \|", text, re.MULTILINE)) == rooms


def test_every_file_that_is_named_exists(root: Path) -> None:
    """A trip that leads nowhere."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {
        name.split()[0]
        for name in re.findall(r"`([\w./]+(?:\.py|\.yaml|\.md|/[\w]+)(?: [^`]*)?)`", text)
        if "<" not in name
    }
    assert len(named) > 30
    for name in named:
        places = (root / name, root / "hpplan" / name, root / "hpplan" / "workload" / name)
        more = (root / "hpplan" / "reports" / "findings" / name,)
        assert any(place.exists() for place in (*places, *more)), name
