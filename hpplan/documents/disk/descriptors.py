"""Open descriptors: bytes that arrive whole, and paths that stand for one."""
# pathlib has no readlink of one step, and takes longer to import than a plan to write.
# ruff: noqa: PTH115, PTH118

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress

_MOST_LINKS = 40


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: go on after a short write, and wait where a pipe takes nothing at the moment."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:  # noqa: PERF203 - the exception
            import select

            patience = select.poll()
            patience.register(descriptor, select.POLLOUT)
            patience.poll()
    # A network file system says only on closing that its disk is full.
    os.close(os.dup(descriptor))


def descriptor_of(path: str) -> int | None:
    """Return the descriptor of this process that a path stands for, as /dev/stdout and /dev/fd/3 do."""
    ours = {"/dev/fd", f"/proc/{os.getpid()}/fd"}
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(folder) in ours:
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except (OSError, ValueError):
            break
    return None


@contextmanager
def prints_aside() -> Iterator[None]:
    """Let what others print in this block go to standard error; standard output is for results."""
    with ExitStack() as back:
        # A parent may have closed one of them.
        with suppress(OSError):
            kept = os.dup(1)
            back.callback(os.close, kept)
            os.dup2(2, 1)
            back.callback(os.dup2, kept, 1)
        back.callback(_flush_c)
        with redirect_stdout(sys.stderr):
            yield


def _flush_c() -> None:
    """Empty the buffers of C, which would come out when the process ends."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).fflush(None)
