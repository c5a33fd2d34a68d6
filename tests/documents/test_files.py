"""Files that change all at once or not at all, and files that cannot be read or written."""

from __future__ import annotations

import io
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hpplan.documents.disk import files
from hpplan.documents.disk.files import replace_file, replace_files
from hpplan.documents.reader import read_document
from hpplan.documents.source import Sources
from hpplan.errors import UnusableRequest


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_new_file(tmp_path: Path) -> None:
    """A new file would be missing, readable for its owner alone, or stand beside a temporary one."""
    target = tmp_path / "plan.yaml"
    old = os.umask(0o027)
    try:
        assert replace_file(str(target), "a: \xe4\n")
    finally:
        os.umask(old)
    assert target.read_bytes() == b"a: \xc3\xa4\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(tmp_path) == ["plan.yaml"]


def test_mode_is_kept(tmp_path: Path) -> None:
    """A private plan would become readable for everyone, or a shared one private."""
    target = tmp_path / "plan.yaml"
    target.write_text("old")
    for mode in (0o600, 0o664, 0o750):
        target.chmod(mode)
        assert replace_file(str(target), f"new {mode}")
        assert stat.S_IMODE(target.stat().st_mode) == mode
        assert target.read_text() == f"new {mode}"


def test_unchanged_file_is_left_alone(tmp_path: Path) -> None:
    """Build systems would take an unchanged file for a new one."""
    target = tmp_path / "plan.yaml"
    target.write_text("same\n")
    os.utime(target, ns=(1, 1))
    before = target.stat()
    assert not replace_file(str(target), "same\n")
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (1, before.st_ino)
    assert replace_file(str(target), "sAme\n")
    assert target.stat().st_mtime_ns != 1


def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    """A link would turn into a file, and what it points to stay as it was."""
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "plan.yaml"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to("there/plan.yaml")
    second = tmp_path / "second"
    second.symlink_to(link)
    assert replace_file(str(second), "new")
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "there") == ["plan.yaml"]
    target.unlink()
    assert replace_file(str(link), "again")
    assert target.read_text() == "again"


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the current folder could not be written."""
    monkeypatch.chdir(tmp_path)
    assert replace_file("plan.yaml", "a: 1\n")
    assert read_document("plan.yaml").data == {"a": 1}


def test_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk would cost the old file, or leave a temporary one."""
    target = tmp_path / "plan.yaml"
    target.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(UnusableRequest, match=r"^Cannot write .*plan\.yaml: no space left on device\.$"):
        replace_file(str(target), "new")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["plan.yaml"]


def test_several_files_change_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full at the last of several files would leave the first ones changed."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("old")
    assert replace_files(
        (str(path), text) for path, text in zip(paths, ("new", "old", "x"), strict=True)
    ) == [
        True,
        False,
        True,
    ]
    assert [path.read_text() for path in paths] == ["new", "old", "x"]
    with pytest.raises(
        UnusableRequest, match=r"^Cannot write .*/missing/c: there is no such file or folder\.$"
    ):
        replace_files([(str(paths[0]), "newer"), (str(tmp_path / "missing" / "c"), "newer")])
    assert [path.read_text() for path in paths] == ["new", "old", "x"]
    sync = os.fsync
    calls: list[int] = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == len(paths):
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(UnusableRequest, match=r"^Cannot write .*/c: no space left on device\.$"):
        replace_files((str(path), "newest") for path in paths)
    assert [path.read_text() for path in paths] == ["new", "old", "x"]
    assert names(tmp_path) == ["a", "b", "c"]


def test_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C would leave a temporary file."""

    def interrupted(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_file(str(tmp_path / "plan.yaml"), "new")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing/plan.yaml", "there is no such file or folder"),
        (".", "it is a folder"),
        ("file/plan.yaml", "not a directory"),
        ("a\0b", "no file can have this name"),
        ("a\ud800", "no file can have this name"),
        ("loop", "too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_written(path: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that cannot be written would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    Path("loop").symlink_to("loop")
    with pytest.raises(UnusableRequest) as caught:
        replace_file(path, "new")
    assert str(caught.value) == f"Cannot write {path}: {why}."
    assert names(tmp_path) == ["file", "loop"]


def test_pipes_and_devices_are_written_directly(tmp_path: Path) -> None:
    """A pipe, or /dev/stdout, would be replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "x" * 200_000
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    assert replace_file(str(pipe), text)
    reader.join(10)
    assert received == [text]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    program = "from hpplan.documents.disk.files import replace_file; replace_file('/dev/stdout', 'a: 1\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout == "a: 1\n"
    assert replace_file("/dev/null", "new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116 - as a user would look


WRITER = """
import sys
from hpplan.documents.disk.files import replace_file
forms = [letter * int(sys.argv[2]) for letter in "ab"]
print("ready", flush=True)
while True:
    for form in forms:
        replace_file(sys.argv[1], form)
"""


def test_kill_leaves_old_or_new(tmp_path: Path) -> None:
    """A file that is being replaced when the process dies would be cut short or gone."""
    target = tmp_path / "plan.yaml"
    size = 1_000_000
    target.write_text("a" * size)
    chance = random.Random(1)  # noqa: S311 - no secret
    for _ in range(12):
        command = [sys.executable, "-c", WRITER, str(target), str(size)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.uniform(0, 0.03))
            child.send_signal(signal.SIGKILL)
        content = target.read_text()
        assert content in {"a" * size, "b" * size}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing.yaml", "there is no such file or folder"),
        ("", "there is no such file or folder"),
        (".", "it is a folder"),
        ("file/plan.yaml", "not a directory"),
        ("a\0b", "no file can have this name"),
        ("a\ud800", "no file can have this name"),
        ("/proc/self/mem", "input/output error"),
    ],
)
def test_what_cannot_be_read(path: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that cannot be read would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    with pytest.raises(UnusableRequest) as caught:
        read_document(path)
    named = path or "''"
    assert str(caught.value) == f"Cannot read {named}: {why}."


AS_NOBODY = """
import os, sys
from hpplan.documents.reader import read_document
from hpplan.documents.disk.files import replace_file
from hpplan.errors import UnusableRequest
if os.geteuid() == 0:
    os.setuid(65534)
actions = [lambda: read_document(sys.argv[1])]
actions += [lambda path=path: replace_file(path, "x") for path in sys.argv[2:]]
for action in actions:
    try:
        action()
    except UnusableRequest as error:
        print(error)
"""


def test_permission_denied(tmp_path: Path) -> None:
    """A file of somebody else would end in a traceback, or one that is protected be replaced."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "plan.yaml").write_text("a: 1")
    secret.chmod(0)
    tmp_path.chmod(0o777)
    protected = tmp_path / "protected.yaml"
    protected.write_text("a: 1")
    protected.chmod(0o444)
    paths = (str(secret / "plan.yaml"), str(secret / "other.yaml"), str(protected))
    command = [sys.executable, "-c", AS_NOBODY, *paths]
    try:
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    finally:
        secret.chmod(0o700)
    assert done.stdout.splitlines() == [
        f"Cannot read {paths[0]}: permission denied.",
        f"Cannot write {paths[1]}: permission denied.",
        f"Cannot write {paths[2]}: permission denied.",
    ]
    assert protected.read_text() == "a: 1"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan could not be piped in."""
    sources = Sources()
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeffa: \xe4".encode()), encoding="latin-1")
    )
    document = read_document("-", sources)
    assert (document.data, document.source.name) == ({"a": "\xe4"}, "<stdin>")
    assert sources.get("<stdin>") is document.source
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnusableRequest, match=r"^Cannot read standard input: it is closed\.$"):
        read_document("-")


def test_pipe_as_a_path(tmp_path: Path) -> None:
    """A shell's `<(command)` could not be read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a: 1\n",))
    writer.start()
    assert read_document(str(pipe)).data == {"a": 1}
    writer.join(10)
