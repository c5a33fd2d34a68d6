"""Text on its way into a stream: what a terminal or a pipe can take, and all of it."""

from __future__ import annotations

import os
import sys
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20
"""Characters of a long result that are in memory at a time."""

_PLAIN = str.maketrans({"─": "-", "…": "...", "░": ".", "▒": ":", "▓": "*", "█": "#"})
"""What hpplan draws with, for terminals that cannot show it."""


class Prints(TextIOWrapper):
    """Stands for a stream while others print, and looks like it."""

    def __init__(self, stream: TextIO) -> None:
        """Keep what is printed."""
        super().__init__(BytesIO(), "utf-8", "backslashreplace", newline="", write_through=True)
        self._stream = stream

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def text(self) -> str:
        """Return what was printed."""
        self.seek(0)
        return self.read()


def pieces(result: str | TextIO) -> Iterator[str]:
    """Yield a text, or what a stream holds, which is closed then."""
    if isinstance(result, str):
        yield from (result[start : start + _PIECE] for start in range(0, len(result), _PIECE))
        return
    with result:
        while piece := result.read(_PIECE):
            yield piece


def write(stream: TextIO, text: str) -> None:
    """Write UTF-8 whatever the locale; a terminal gets what its encoding can show, and nothing to obey.

    Past the stream's own buffers, which drop what a device does not take at once.
    """
    from hpplan.documents.disk.descriptors import write_all

    try:
        descriptor = stream.fileno()
    except OSError:
        stream.write(text)
        return
    stream.flush()
    encoding = "utf-8"
    if stream.isatty():
        from hpplan.reports.terminal.visible import on_terminal

        text, encoding = on_terminal(text), stream.encoding or encoding
    write_all(descriptor, encoded(text, encoding))


def encoded(text: str, encoding: str) -> bytes:
    """Return the bytes of a text, with what an encoding does not have drawn plainly or escaped."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        # Lone surrogates (undecodable file names) have no UTF-8 form, so they are escaped as well.
        plain = text if encoding == "utf-8" else text.translate(_PLAIN)
        return plain.encode(encoding, errors="backslashreplace")


def standard_output() -> TextIO | None:
    """Return the stream of results, None where a parent closed it, and make all streams fit to be written.

    Python has None in place of a closed stream. In the locale C, for which it
    chooses UTF-8, terminals take ASCII.
    """
    given = sys.stdout
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    chosen = os.environ.get("PYTHONIOENCODING") or os.environ.get("PYTHONUTF8")
    if os.environ.get("LC_ALL") in {"C", "POSIX"} and not chosen:
        for stream in (sys.stdout, sys.stderr):
            if stream.isatty() and hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="ascii", errors="backslashreplace")
    return given


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open until the process ends
