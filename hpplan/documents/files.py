"""Files that change all at once or not at all."""
# pathlib has no open() with flags, and takes longer to import than a plan to write.
# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import os
import stat

from hpplan.documents.reader import why
from hpplan.documents.spelling import unwritable
from hpplan.errors import UnusableRequest

_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")


def replace_file(path: str, text: str) -> bool:
    """Make `text`, as UTF-8, the content of the file at `path`; return whether anything changed.

    The content is written to a temporary file in the same folder, which then
    takes the place of the file, so whoever reads or kills sees the old content
    or the new. A symbolic link is followed to its target, and the mode is kept.
    What is no regular file (a terminal, a pipe) is written to directly.

    Raises UnusableRequest when the file cannot be written.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise unwritable() from None
    try:
        return _replace(path, data)
    except (OSError, ValueError) as error:
        raise UnusableRequest(f"Cannot write {path}: {why(error)}.") from None


def _replace(path: str, data: bytes) -> bool:
    try:
        status: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if path.startswith(_STREAMS) or (status is not None and not stat.S_ISREG(status.st_mode)):
        _write_directly(path, data)
        return True
    target = os.path.realpath(path)
    if status is not None and status.st_size == len(data) and _content(target) == data:
        return False
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".hpplan-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            if status is not None:
                _keep_owner_and_mode(descriptor, status)
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)
    return True


def _write_directly(path: str, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(path, "wb", buffering=0) as stream:
        view = memoryview(data)
        while view:
            view = view[stream.write(view) :]


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


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
