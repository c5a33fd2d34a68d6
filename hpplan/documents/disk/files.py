"""Files that change all at once or not at all."""
# pathlib has no open() with flags, and takes longer to import than a plan to write.
# ruff: noqa: PTH103, PTH105, PTH108, PTH112, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from hpplan.documents.disk.attributes import keep_attributes
from hpplan.documents.disk.descriptors import descriptor_of, write_all
from hpplan.documents.disk.streams import why
from hpplan.documents.spelling import unwritable
from hpplan.errors import UnusableRequest
from hpplan.signals import Postponed

if TYPE_CHECKING:
    Note = Callable[[str], object]

_PIECE = 1 << 20


def replace_file(path: str, text: str, note: Note | None = None) -> bool:
    """Make `text`, as UTF-8, the content of the file at `path`; return whether anything changed.

    The content is written to a temporary file in the same folder, which then
    takes the one of the file, so whoever reads or kills sees the old content
    or the new. A symbolic link is followed to its target; owner, group, mode,
    access control lists and extended attributes are kept. Of a file with
    several hard links this one alone changes, and `note` hears of it. What is
    no regular file (a terminal, a pipe) is written to directly.

    Raises UnusableRequest when the file cannot be written.
    """
    return replace_files([(path, text)], note)[0]


def replace_files(
    texts: Iterable[tuple[str, str]], note: Note | None = None, folder: str | None = None
) -> list[bool]:
    """Do as `replace_file` does with several paths, once the new content of all of them is on disk.

    Where one of them cannot be written, all keep what they have. `folder` is
    made for them where it is not there.
    """
    return _replace(((path, io.BytesIO(_encoded(text))) for path, text in texts), note, folder)


def replace_file_from(path: str, content: BinaryIO, note: Note | None = None) -> bool:
    """Do as `replace_file` does with what a stream holds, without all of it in memory.

    Raises UnusableRequest when the file cannot be written.
    """
    return _replace([(path, content)], note)[0]


def check_writable(path: str) -> None:
    """Raise UnusableRequest for a path at which no file can be written; an open descriptor takes anything."""
    if descriptor_of(path) is not None:
        return
    folder = os.path.dirname(os.path.realpath(path))  # of the file a link leads to
    if not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise UnusableRequest(f"cannot write {path}: its folder is not there or not writable")


@dataclass(eq=False)
class _Replacement:
    """A path, and what is to come there."""

    path: str
    target: str
    """The file that links lead to."""
    status: os.stat_result | None
    temporary: str = ""
    """A file with the new content, in the folder of the target."""
    kept: str = ""
    """A second name of the old content, by which it can be put back."""


def _replace(
    contents: Iterable[tuple[str, BinaryIO]], note: Note | None, folder: str | None = None
) -> list[bool]:
    replacements: dict[str, _Replacement] = {}
    direct: list[tuple[str, BinaryIO]] = []
    changed: list[bool] = []
    with Postponed() as signals, contextlib.ExitStack() as unused:
        if folder is not None:
            _make_folder(folder, unused)
        for path, content in contents:
            with _named(path):
                replacement = _replacement(path)
                if replacement is None:
                    direct.append((path, content))
                elif replacement.target in replacements:
                    _check_twin(replacement, replacements[replacement.target], content)
                elif replacement.status is not None and _is_same(replacement.target, content):
                    changed.append(False)
                    continue
                else:
                    replacements[replacement.target] = replacement
                    _write_temporary(replacement, content, unused, signals)
                changed.append(True)
        with signals.waiting():
            for path, content in direct:
                with _named(path):
                    _write_directly(path, content)
        _put(list(replacements.values()), unused)
    for replacement in replacements.values():
        links = 1 if replacement.status is None else replacement.status.st_nlink
        if note is not None and links > 1:
            note(f"{replacement.path}: was one of {links} hard links, and is a file of its own now")
    return changed


@contextlib.contextmanager
def _named(path: str, doing: str = "write") -> Iterator[None]:
    """Say which file cannot be written, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UnusableRequest(f"Cannot {doing} {path}: {why(error)}.") from None


def _replacement(path: str) -> _Replacement | None:
    """Return where a path leads; None where it is written to directly."""
    try:
        status: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if descriptor_of(path) is not None or (status is not None and not stat.S_ISREG(status.st_mode)):
        return None
    target = os.path.realpath(path)
    # Whoever may write to the folder could replace a file that is protected against them.
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError
    return _Replacement(path, target, status)


def _check_twin(replacement: _Replacement, twin: _Replacement, content: BinaryIO) -> None:
    """Refuse another content for a file that gets one already, by another path."""
    if not _is_same(twin.temporary, content):
        raise UnusableRequest(f"Cannot write {replacement.path}: it is the same file as {twin.path}.")


def _is_same(path: str, content: BinaryIO) -> bool:
    size = content.seek(0, os.SEEK_END)
    try:
        with open(path, "rb") as stream:
            same_size = stream.seek(0, os.SEEK_END) == size and stream.seek(0) == 0
            return same_size and all(stream.read(len(piece)) == piece for piece in _pieces(content))
    except OSError:
        return False


def _write_temporary(
    replacement: _Replacement, content: BinaryIO, unused: contextlib.ExitStack, signals: Postponed
) -> None:
    replacement.temporary = _new_name(replacement, unused)
    descriptor = os.open(replacement.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(descriptor, "wb") as stream:
        if replacement.status is not None:
            keep_attributes(descriptor, replacement.target, replacement.status)
        for piece in _pieces(content):
            signals.check()
            stream.write(piece)
        stream.flush()
        os.fsync(descriptor)
    signals.check()


def _new_name(replacement: _Replacement, unused: contextlib.ExitStack) -> str:
    """Return a name in the folder of a file, under which nothing is left once `unused` ends."""
    name = os.path.join(os.path.dirname(replacement.target), f".hpplan-{os.urandom(8).hex()}.tmp")
    unused.callback(_remove, name)
    return name


def _put(replacements: list[_Replacement], unused: contextlib.ExitStack) -> None:
    """Put the new content of all files in its place, or of none."""
    with contextlib.ExitStack() as back:
        for replacement in replacements if len(replacements) > 1 else ():
            if replacement.status is not None:
                with _named(replacement.path):
                    replacement.kept = _new_name(replacement, unused)
                    _keep(replacement)
        for replacement in replacements:
            with _named(replacement.path):
                os.replace(replacement.temporary, replacement.target)
            back.callback(_put_back, replacement)
        back.pop_all()
    for folder in {os.path.dirname(replacement.target) for replacement in replacements}:
        _sync_folder(folder)


def _keep(replacement: _Replacement) -> None:
    try:
        os.link(replacement.target, replacement.kept)
    except OSError:
        # Some file systems have no hard links, and some files must not get any.
        assert replacement.status is not None
        with open(replacement.target, "rb") as old, open(replacement.kept, "xb") as copy:
            keep_attributes(copy.fileno(), replacement.target, replacement.status)
            copy.writelines(_pieces(old))


def _put_back(replacement: _Replacement) -> None:
    with _named(replacement.path, "put back"):
        if replacement.kept:
            os.replace(replacement.kept, replacement.target)
        else:
            os.unlink(replacement.target)


def _make_folder(path: str, unused: contextlib.ExitStack) -> None:
    """Make a folder where there is none; `unused` takes away what then stays empty."""
    missing = []
    above = path
    while above and not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    for folder in reversed(missing):
        unused.callback(_remove, folder, os.rmdir)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UnusableRequest(f"cannot make the folder {path}: {_why_no_folder(error)}") from None


def _why_no_folder(error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return "there is a file of that name"
    if isinstance(error, NotADirectoryError):
        return "a part of its path is a file"
    return why(error)


def _remove(path: str, remove: Callable[[str], None] = os.unlink) -> None:
    with contextlib.suppress(OSError):
        remove(path)


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    content.seek(0)
    while piece := content.read(_PIECE):
        yield piece


def _write_directly(path: str, content: BinaryIO) -> None:
    stream = descriptor_of(path)
    with contextlib.suppress(BrokenPipeError):
        # To open what a descriptor leads to would begin it anew, or fail.
        descriptor = os.open(path, os.O_WRONLY) if stream is None else os.dup(stream)
        with open(descriptor, "wb", buffering=0):
            for piece in _pieces(content):
                write_all(descriptor, piece)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise unwritable() from None


def _sync_folder(folder: str) -> None:
    """Make the new name last; some file systems cannot, and have nothing to lose."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
