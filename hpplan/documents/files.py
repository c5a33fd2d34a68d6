"""Files that change all at once or not at all."""
# pathlib has no open() with flags, and takes longer to import than a plan to write.
# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import io
import os
import stat
from typing import TYPE_CHECKING

from hpplan.documents.spelling import unwritable
from hpplan.documents.streams import why
from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
_PIECE = 1 << 20


def replace_file(path: str, text: str) -> bool:
    """Make `text`, as UTF-8, the content of the file at `path`; return whether anything changed.

    The content is written to a temporary file in the same folder, which then
    takes the place of the file, so whoever reads or kills sees the old content
    or the new. A symbolic link is followed to its target, and the mode is kept.
    What is no regular file (a terminal, a pipe) is written to directly.

    Raises UnusableRequest when the file cannot be written.
    """
    return replace_files([(path, text)])[0]


def replace_files(texts: Iterable[tuple[str, str]]) -> list[bool]:
    """Do as `replace_file` does with several paths, once the new content of all of them is on disk.

    Where one of them cannot be written, all keep what they have.
    """
    try:
        contents = [(path, io.BytesIO(text.encode("utf-8"))) for path, text in texts]
    except UnicodeEncodeError:
        raise unwritable() from None
    return _replace(contents)


def replace_file_from(path: str, content: BinaryIO) -> bool:
    """Do as `replace_file` does with what a stream holds, without all of it in memory.

    Raises UnusableRequest when the file cannot be written.
    """
    return _replace([(path, content)])[0]


def _replace(contents: Iterable[tuple[str, BinaryIO]]) -> list[bool]:
    with contextlib.ExitStack() as unused:
        ready = []
        for path, content in contents:
            with _named(path):
                ready.append((path, _prepare(path, content, unused)))
        changed = []
        for path, put in ready:
            with _named(path):
                changed.append(put())
        return changed


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Say which file cannot be written, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UnusableRequest(f"Cannot write {path}: {why(error)}.") from None


def _prepare(path: str, content: BinaryIO, unused: contextlib.ExitStack) -> Callable[[], bool]:
    """Return what puts the content in its place and says whether that changed anything.

    `unused` gets what removes a temporary file that never came to be used.
    """
    try:
        status: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if path.startswith(_STREAMS) or (status is not None and not stat.S_ISREG(status.st_mode)):
        return lambda: _write_directly(path, content)
    target = os.path.realpath(path)
    if status is not None:
        if status.st_size == content.seek(0, os.SEEK_END) and _is_same(target, content):
            return lambda: False
        # Whoever may write to the folder could replace a file that is protected against them.
        if not os.access(target, os.W_OK):
            raise PermissionError
    temporary = os.path.join(os.path.dirname(target), f".hpplan-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    unused.callback(_remove, temporary)
    with open(descriptor, "wb") as stream:
        if status is not None:
            _keep_owner_and_mode(descriptor, status)
        stream.writelines(_pieces(content))
        stream.flush()
        os.fsync(descriptor)
    return lambda: _rename(temporary, target)


def _rename(temporary: str, target: str) -> bool:
    os.replace(temporary, target)
    _sync_folder(os.path.dirname(target))
    return True


def _remove(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


def _pieces(content: BinaryIO) -> Iterator[bytes]:
    content.seek(0)
    while piece := content.read(_PIECE):
        yield piece


def _write_directly(path: str, content: BinaryIO) -> bool:
    with contextlib.suppress(BrokenPipeError), open(path, "wb", buffering=0) as stream:
        for piece in _pieces(content):
            view = memoryview(piece)
            while view:
                view = view[stream.write(view) :]
    return True


def _is_same(path: str, content: BinaryIO) -> bool:
    """Whether a file of the same size holds the same."""
    try:
        with open(path, "rb") as stream:
            return all(stream.read(len(piece)) == piece for piece in _pieces(content))
    except OSError:
        return False


def _keep_owner_and_mode(descriptor: int, status: os.stat_result) -> None:
    fresh = os.fstat(descriptor)
    if (fresh.st_uid, fresh.st_gid) != (status.st_uid, status.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: str) -> None:
    """Make the new name last; some file systems cannot, and have nothing to lose."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
