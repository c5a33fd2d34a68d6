"""What a command says: results on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, TextIO

from hpplan.errors import Failures, HpplanError
from hpplan.reports.terminal.streams import Prints, pieces, standard_output, write

if TYPE_CHECKING:
    from hpplan.documents.source import Sources
    from hpplan.reports.terminal.screen import Screen
    from hpplan.validation.configurations import Configurations


class Output:
    """Collects results, so that standard output stays empty when a command fails.

    One of these is made for each run of the command line and handed down as
    click's context object. `sources` holds the documents that were read, for
    the positions in error messages.
    """

    configurations: Configurations
    """What configuration files say of the plans of this run; known once the options are."""

    def __init__(self) -> None:
        """Start with nothing to say."""
        self.color = "auto"
        self._results: list[str | TextIO] = []
        self._conclusions: list[str] = []
        self._sources: Sources | None = None
        self._has_stdout = standard_output() is not None
        self._stdout = sys.stdout

    @property
    def sources(self) -> Sources:
        """The documents read so far."""
        if self._sources is None:
            from hpplan.documents.source import Sources

            self._sources = Sources()
        return self._sources

    def result(self, text: str) -> None:
        """Keep `text` for standard output."""
        if text:
            self._results.append(text if text.endswith("\n") else text + "\n")

    def result_from(self, stream: TextIO) -> None:
        """Keep what a stream holds for standard output, without all of it in memory; close it then."""
        self._results.append(stream)

    def write(self, path: str | None, text: str) -> None:
        """Write a result to the file at `path`, or keep it for standard output."""
        from hpplan.documents.disk.descriptors import descriptor_of

        if path is None or path == "-" or descriptor_of(path) == 1:
            self.result(text)
        else:
            self.write_files([(path, text)])

    def write_files(
        self, texts: Iterable[tuple[str, str]], folder: str | None = None, replaced: Collection[str] = ()
    ) -> list[bool]:
        """Write results to files, all or none of them; return which of them changed.

        Raises UnusableRequest for a file that was read, unless it is to be `replaced`.
        """
        from hpplan.documents.disk.files import replace_files
        from hpplan.documents.disk.same_file import overwritten
        from hpplan.errors import UnusableRequest

        read = [name for name in self.sources.names if name not in replaced]

        def checked() -> Iterator[tuple[str, str]]:
            for path, text in texts:
                if overwritten([path], read) is not None:
                    raise UnusableRequest(f"Cannot write {path}: it is read as well; name another file.")
                yield path, text

        return replace_files(checked(), self.complain, folder)

    @contextmanager
    def taking_prints(self) -> Iterator[None]:
        """Make results of what click prints in this block by itself: help, version, completion."""
        with redirect_stdout(Prints(self._stdout)) as prints:
            try:
                yield
            finally:
                self.result(prints.text())

    def note(self, text: str) -> None:
        """Write `text` to standard error at once; a verdict stands even where nobody can be told."""
        with suppress(OSError):
            write(sys.stderr, text if text.endswith("\n") else text + "\n")

    def conclude(self, text: str) -> None:
        """Keep `text` for standard error, below the results: it is true once they are written."""
        self._conclusions.append(text)

    def settle(self, failures: Failures) -> None:
        """Raise what keeps the results from being whole, having said them where failures are said."""
        if failures.together() is not None:
            for result in self._results:
                assert isinstance(result, str)
                self.note(result)
        failures.settle()

    def error(self, error: HpplanError) -> None:
        """Write a failure to standard error: findings with their positions, or one line."""
        from hpplan.errors import InvalidInput, SeveralFailures

        if isinstance(error, SeveralFailures):
            for each in error.errors:
                self.error(each)
        elif isinstance(error, InvalidInput):
            from hpplan.reports.findings.concise import render

            self.note(render(error.diagnostics, self.sources, color=self.use_color(sys.stderr)))
        else:
            self.complain(f"Error: {error}")

    def complain(self, text: str) -> None:
        """Write lines about a wrong call to standard error; they may quote what was typed."""
        from hpplan.reports.terminal.visible import visible

        self.note("\n".join(visible(line) for line in text.split("\n")))

    def discard(self) -> None:
        """Forget the results: the command failed."""
        for result in self._results:
            if not isinstance(result, str):
                result.close()
        self._results.clear()
        self._conclusions.clear()

    def flush(self) -> None:
        """Write the results, then what concludes them.

        Raises UnusableRequest where standard output does not take them. A
        reader that has gone away is no failure.
        """
        results, self._results = self._results, []
        try:
            if results and not self._has_stdout:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))  # noqa: TRY301 - one way out for all of them
            for result in results:
                for piece in pieces(result):
                    write(self._stdout, piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError as error:
            from hpplan.errors import UnusableRequest

            raise UnusableRequest(f"Cannot write to standard output: {error.strerror or error}.") from None
        for text in self._conclusions:
            self.note(text)

    def close(self) -> None:
        """Leave nothing in the standard streams that the interpreter could fail to write on its way out."""
        for stream in (self._stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # noqa: PERF203 - of two
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def screen(self, output_file: str | None = None) -> Screen:
        """Return where a result goes: the terminal, a pipe, or a file."""
        from shutil import get_terminal_size

        from hpplan.reports.terminal.screen import Screen

        if output_file not in {None, "-"}:
            return Screen()
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        return Screen(width, self.use_color(sys.stdout))

    def use_color(self, stream: TextIO) -> bool:
        """Whether to colour what people read on `stream`.

        The flag, then NO_COLOR (non-empty), then FORCE_COLOR, then the
        terminal. Only the flag colours a pipe.
        """
        if self.color != "auto":
            return self.color == "always"
        if not stream.isatty() or os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or os.environ.get("TERM") != "dumb"
