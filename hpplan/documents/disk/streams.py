"""What a path or standard input holds: its bytes, the text that they are, and its name in messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import NOT_UTF8
from hpplan.documents.limits import MAX_BYTES
from hpplan.documents.source import BOM, Source
from hpplan.errors import InvalidInput, UnusableRequest

STDIN: Final = "-"
"""The path that stands for standard input."""

STDIN_NAME: Final = "<stdin>"
"""The name of the document that standard input holds."""

_PIECE: Final = 1 << 22

UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def document_name(path: str) -> str:
    """Return what the document at a path is called in messages."""
    return STDIN_NAME if path == STDIN else path


def typed(name: str) -> str:
    """Return the path that has a name in messages."""
    return STDIN if name == STDIN_NAME else name


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a path, or standard input; raise UnusableRequest where that cannot be."""
    if path == STDIN:
        # A parent may have closed it; Python then has None in its place.
        if sys.stdin is None or sys.stdin.closed:
            raise UnusableRequest("Cannot read standard input: it is closed.")
        yield sys.stdin.buffer
        return
    try:
        stream = open(path, "rb")  # noqa: PTH123, SIM115 - closed below; pathlib takes longer to import than a plan to read
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    with stream:
        yield stream


def read_bytes(path: str) -> bytes:
    """Return what is at a path, or on standard input; raise UnusableRequest where it cannot be read."""
    with opened(path) as stream:
        return b"".join(pieces_of(stream, path))


def pieces_of(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield what is left in the stream opened from a path, which must be no more than a document may hold."""
    size = 0
    try:
        while piece := stream.read(_PIECE):
            size += len(piece)
            if size > MAX_BYTES:
                raise endless(path, MAX_BYTES)
            yield piece
    except OSError as error:
        raise unreadable(path, error) from None


def endless(path: str, most: int) -> UnusableRequest:
    """Return the failure to read what goes on beyond `most` bytes."""
    return UnusableRequest(f"Cannot read {_named(path)}: it goes on beyond {most >> 20:,} MiB.")


def unreadable(path: str, error: OSError | ValueError) -> UnusableRequest:
    """Return the failure to read what is at a path."""
    return UnusableRequest(f"Cannot read {_named(path)}: {why(error)}.")


def _named(path: str) -> str:
    return "standard input" if path == STDIN else path or "''"


def why(error: OSError | ValueError) -> str:
    """Say in a few words why a file cannot be used."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    if not isinstance(error, OSError):
        return "no file can have this name"
    reason = error.strerror or "it does not work"
    return reason[:1].lower() + reason[1:]


def decoded(raw: bytes, name: str) -> str:
    """Return the text of a document or of a part of one; raise InvalidInput where it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = Source(name, raw[: error.start].decode("utf-8").removeprefix(BOM), "yaml")
        place = Place(name, position=before.position(len(before.text)))
        is_utf16 = raw.startswith(UTF16_MARKS)
        hint = "it looks like UTF-16; save it as UTF-8" if is_utf16 else "save the file as UTF-8"
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise InvalidInput([Diagnostic(NOT_UTF8, message, place, hint)]) from None
