"""Files that a plan recorded: nothing outside its folder is read, and nothing is waited for."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from hpplan.documents.reader import read_document
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    import pytest

OTHER = "0" * 64


def found(folder: Path, *names: str) -> list[tuple[str, str]]:
    """Return code and message of each finding about files that a plan in a folder recorded."""
    plan = folder / "plan.yaml"
    recorded = "".join(f"  {name}: '{OTHER}'\n" for name in names)
    plan.write_text(
        f"boundary_classes: {{}}\nparam_plan: {{a: {{}}}}\noutputs:\n{recorded}", encoding="utf-8"
    )
    run = CheckRun()
    run.check(read_document(str(plan)))
    run.finish()
    return [(item.code.id, item.message) for item in run.findings]


def test_links_that_lead_out(tmp_path: Path) -> None:
    """A link in the folder of a plan tells whoever sees the findings about files elsewhere."""
    inside = tmp_path / "plans"
    inside.mkdir()
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (inside / "m.py").write_text("x", encoding="utf-8")
    for link, target in (("out", "../secret"), ("up", ".."), ("within", "m.py"), ("zero", "/dev/zero")):
        (inside / link).symlink_to(target)
    outside = "is not looked at: it lies outside the folder of the plan"
    digest = sha256(b"x").hexdigest()[:12]
    changed = f"the file 'within' has the sha256 {digest}…, and the plan recorded 000000000000…"
    assert found(inside, "out", "up/secret", "within", "zero") == [
        ("HP114", f"the file 'out' {outside}"),
        ("HP114", f"the file 'up/secret' {outside}"),
        ("HP221", changed),
        ("HP114", f"the file 'zero' {outside}"),
    ]


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe that nobody writes to is waited for forever, or what cannot be read passes for unchanged."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    names = {
        "pipe": "it is no regular file",
        ".": "it is a folder",
        "loop": "too many levels of symbolic links",
        "x" * 300: "file name too long",
        "m.py/below": None,
        "gone": None,
    }
    (tmp_path / "m.py").write_text("x", encoding="utf-8")
    expected = [f"the file '{name}' is not looked at: {reason}" for name, reason in names.items() if reason]
    assert [message for _, message in found(tmp_path, *names)] == expected


def test_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without end is read to its end, or one that is recorded many times is read as often."""
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (message,) = (message for _, message in found(tmp_path, "sparse"))
    assert message == "the file 'sparse' is not looked at: it is larger than 1 GiB"
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(3_000_000)
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr("os.open", lambda path, *rest: (opened.append(str(path)), real(path, *rest))[1])
    digest = sha256(b"\0" * 3_000_000).hexdigest()[:12]
    messages = [message for _, message in found(tmp_path, "sparse", "./sparse", "/a/sparse")]
    assert [digest in message for message in messages] == [True] * 3
    assert sum(Path(path).name == "sparse" for path in opened) == 1
