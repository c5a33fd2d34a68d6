"""Several files change all or none, whatever fails or ends the process; what files keep beside content."""

from __future__ import annotations

import errno
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import interrupted_replacing
import pytest
from interrupted_replacing import NEW, OLD, STEPS, Steps, found, lay_out

from hpplan.documents.disk.files import replace_file, replace_files
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: what is on it after a power cut is not what is looked at here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


def test_a_fault_at_any_step_changes_nothing(tmp_path: Path) -> None:
    """A disk that fails at some step leaves files changed beside others that are not, or a temporary file."""

    def fail() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    faults = 0
    for number in range(1000):
        folder = tmp_path / str(number)
        texts = lay_out(folder)
        steps = Steps(number, fail)
        with pytest.MonkeyPatch.context() as patches:
            for step in set(STEPS) - {"unlink"}:
                patches.setattr(os, step, steps.wrap(getattr(os, step)))
            try:
                replace_files(texts, folder=str(folder / "made"))
                expected = NEW
            except UnusableRequest:
                expected = OLD
        assert found(folder) == expected, f"step {number}"
        assert (folder / "made").exists() == (expected is NEW)
        if steps.left >= 0:
            break
        faults += expected is OLD
    assert faults > 10


def test_put_back_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without hard links, the first files stay changed where the last cannot be."""
    texts = lay_out(tmp_path)
    (tmp_path / "a").chmod(0o640)
    replace, calls = os.replace, []

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    def third_fails(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(source, target)

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", third_fails)
    with pytest.raises(UnusableRequest, match=r"^Cannot write .*/c: input/output error\.$"):
        replace_files(texts, folder=str(tmp_path / "made"))
    assert found(tmp_path) == OLD
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_what_cannot_be_put_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file keeps its new content after a failure, and nobody is told."""
    for name in "ab":
        (tmp_path / name).write_text("old")
    replace, calls = os.replace, []

    def from_the_second_on(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) > 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(source, target)

    monkeypatch.setattr(os, "replace", from_the_second_on)
    with pytest.raises(UnusableRequest, match=r"^Cannot put back .*/a: input/output error\.$"):
        replace_files((str(tmp_path / name), "new") for name in "ab")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_handlers_of_others_still_act(tmp_path: Path, number: int) -> None:
    """A worker that catches a signal is not told, or is told in the middle of putting files in place."""

    class ToldError(Exception):
        """What the handler raises."""

    def tell(*_: object) -> None:
        raise ToldError

    before = signal.signal(number, tell)
    try:
        for step in range(1000):
            folder = tmp_path / str(step)
            texts = lay_out(folder)
            steps = Steps(step, lambda: os.kill(os.getpid(), number))
            told = False
            with pytest.MonkeyPatch.context() as patches:
                for name in STEPS:
                    patches.setattr(os, name, steps.wrap(getattr(os, name)))
                try:
                    replace_files(texts, folder=str(folder / "made"))
                except ToldError:
                    told = True
            assert signal.getsignal(number) is tell
            assert found(folder) in (OLD, NEW), f"step {step}"
            assert told == (steps.left < 0)
            if not told:
                break
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_signals_leave_all_or_none(tmp_path: Path) -> None:
    """A process that is ended while it writes leaves a temporary file, a folder, or some files changed."""
    command = [sys.executable, interrupted_replacing.__file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == ["SIGTERM", "SIGHUP", "SIGINT"]
    assert all(int(steps) > 10 for _, steps in lines)


def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    """A command under nohup ends with its terminal while it writes."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        steps = Steps(0, lambda: os.kill(os.getpid(), signal.SIGHUP))
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(os, "fsync", steps.wrap(os.fsync))
            assert replace_file(str(tmp_path / "a"), "new")
        assert (steps.left, (tmp_path / "a").read_text()) == (-2, "new")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread(tmp_path: Path) -> None:
    """A program that writes from another thread, where no signals can be held back, cannot write."""
    thread = threading.Thread(target=replace_file, args=(str(tmp_path / "a"), "new"))
    thread.start()
    thread.join(30)
    assert (tmp_path / "a").read_text() == "new"


def test_two_names_of_one_file(tmp_path: Path) -> None:
    """Of two results that go to the same file one is lost."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").symlink_to("a")
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    with pytest.raises(UnusableRequest, match=r"^Cannot write .*/b: it is the same file as .*/a\.$"):
        replace_files([(a, "one"), (b, "two")])
    assert (tmp_path / "a").read_text() == "old"
    assert replace_files([(a, "one"), (b, "one")]) == [True, True]
    assert (tmp_path / "a").read_text() == "one"
    assert (tmp_path / "b").is_symlink()


def test_hard_links_are_split_aloud(tmp_path: Path) -> None:
    """The other name of a file keeps its old content, and nobody is told."""
    target, other = tmp_path / "a", tmp_path / "b"
    target.write_text("old")
    other.hardlink_to(target)
    said: list[str] = []
    assert replace_file(str(target), "new", said.append)
    assert said == [f"{target}: was one of 2 hard links, and is a file of its own now"]
    assert (target.read_text(), other.read_text()) == ("new", "old")
    assert replace_file(str(target), "newer", said.append)
    assert len(said) == 1


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    """A label that somebody put on a plan is gone."""
    target = tmp_path / "a"
    target.write_text("old")
    try:
        os.setxattr(target, "user.owner", b"the team")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    replace_file(str(target), "new")
    assert os.getxattr(target, "user.owner") == b"the team"


ACL = "system.posix_acl_access"
LIST = struct.pack(
    "<I" + "HHI" * 5,
    2,  # the version
    *(0x01, 6, 0xFFFFFFFF),  # its owner may read and write,
    *(0x02, 6, 1234),  # and so may a user,
    *(0x04, 4, 0xFFFFFFFF),  # its group may read,
    *(0x10, 6, 0xFFFFFFFF),  # of all but the owner nobody may do more than read and write,
    *(0x20, 0, 0xFFFFFFFF),  # and everyone else may do nothing
)


def with_list(path: Path) -> Path:
    """Make a file with an access control list, or skip the test."""
    path.write_text("old")
    path.chmod(0o640)
    try:
        os.setxattr(path, ACL, LIST)
    except OSError:
        pytest.skip("this file system has no access control lists")
    return path


def test_access_control_lists_are_kept(tmp_path: Path) -> None:
    """People who were let in by name are locked out, or the group is let in instead."""
    target = with_list(tmp_path / "a")
    mode = target.stat().st_mode
    replace_file(str(target), "new")
    assert os.getxattr(target, ACL) == LIST
    assert target.stat().st_mode == mode


def test_lists_that_a_folder_gives_are_not_taken(tmp_path: Path) -> None:
    """A private file is open to those whom its folder lets read new files."""
    target = tmp_path / "a"
    target.write_text("old")
    target.chmod(0o600)
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", LIST)
    except OSError:
        pytest.skip("this file system has no access control lists")
    replace_file(str(target), "new")
    assert ACL not in os.listxattr(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


AS_SOMEBODY = """
import os, sys
from hpplan.documents.disk.files import replace_file
os.setgroups([int(sys.argv[1])])
os.setgid(65534)
os.setuid(65534)
for path in sys.argv[2:]:
    replace_file(path, "new")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_group_is_kept_where_the_owner_cannot_be(tmp_path: Path) -> None:
    """A shared file belongs to the group of whoever wrote it last, or is open to that group."""
    tmp_path.chmod(0o777)
    ours, foreign, listed = tmp_path / "ours", tmp_path / "foreign", with_list(tmp_path / "listed")
    for path, group, mode in ((ours, 1001, 0o664), (foreign, 1002, 0o666)):
        path.write_text("old")
        os.chown(path, 0, group)
        path.chmod(mode)
    foreign.chmod(0o662)
    os.setxattr(listed, ACL, LIST.replace(struct.pack("<I", 1234), struct.pack("<I", 65534)))
    os.chown(listed, 0, 1002)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    paths = [str(path) for path in (ours, foreign, listed)]
    subprocess.run([sys.executable, "-c", AS_SOMEBODY, "1001", *paths], check=True, timeout=60)
    kept = [(path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) for path in (ours, foreign)]
    assert kept == [(1001, 0o664), (65534, 0o622)]
    assert listed.stat().st_gid == 65534
    entries = [struct.unpack_from("<HHI", os.getxattr(listed, ACL), at) for at in range(4, 44, 8)]
    assert entries[1:3] == [(0x02, 6, 65534), (0x04, 0, 0xFFFFFFFF)]


def test_a_stream_is_written_where_it_is(tmp_path: Path) -> None:
    """A log that a shell appends to is emptied by -o /dev/stdout."""
    log = tmp_path / "log"
    log.write_text("before\n")
    program = "from hpplan.documents.disk.files import replace_file; replace_file('/dev/stdout', 'a: 1\\n')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", program], stdout=stream, check=True, timeout=60)
    assert log.read_text() == "before\na: 1\n"
