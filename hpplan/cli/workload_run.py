"""The run behind `hpplan workload`: batch files in, one document out, or every finding."""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.disk.files import replace_file_from
from hpplan.documents.disk.streams import document_name, why
from hpplan.documents.json_text.lines import read_records
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.reports.terminal.progress import progress_bar
from hpplan.reports.workload.text import micro_batches_pieces, workload_pieces
from hpplan.wording import plural
from hpplan.workload.sample_codes import NO_SAMPLES
from hpplan.workload.samples import read_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hpplan.cli.output import Output
    from hpplan.documents.source import Format
    from hpplan.errors import Failures
    from hpplan.routing.buckets import Encoders
    from hpplan.workload.families.base import Family
    from hpplan.workload.micro_batch import MicroBatch
    from hpplan.workload.samples import Sample


class WorkloadRun:
    """Reads samples one by one; what is wrong with any is kept until all are read."""

    def __init__(self, output: Output, family: Family, encoders: Encoders | None, failures: Failures) -> None:
        """Take the family whose arithmetic applies, and who encodes where buckets are wanted.

        `failures` has what keeps files from being read, and gets more of it.
        """
        self._output = output
        self._family = family
        self._encoders = encoders
        self.problems: list[Diagnostic] = []
        self._failures = failures
        self._samples = 0
        self._workloads = 0
        self._items = 0
        self._rows = 0

    def samples(self, paths: Iterable[str]) -> Iterator[Sample]:
        """Yield the samples of all files that have nothing wrong with them."""
        paths = tuple(paths)
        color = self._output.use_color(sys.stderr)
        with progress_bar("reading samples", _bytes_of(paths), in_bytes=True, color=color) as bar:
            for path in paths:
                with self._failures:
                    yield from self._samples_of(path, bar.advance)

    def _samples_of(self, path: str, progress: Callable[[int], object]) -> Iterator[Sample]:
        before, known, records = self._samples + len(self.problems), len(self.problems), 0
        for record in read_records(path, self.problems, progress):
            records += 1
            try:
                sample = read_sample(record, self._family)
            except InvalidInput as error:
                self.problems += error.diagnostics
                continue
            self._samples += 1
            yield sample
        if not records and len(self.problems) > known + 1:
            # Not a line is a sample: one finding says so as well as a thousand.
            first = self.problems[known]
            hint = "BATCH has one JSON object a line, or one JSON array of them"
            self.problems[known:] = [replace(first, hint=hint)]
        if before == self._samples + len(self.problems):
            place = Place(document_name(path), position=(1, 1))
            self.problems.append(Diagnostic(NO_SAMPLES, "there is not a single sample", place))

    def write(self, micro_batches: Iterator[MicroBatch], path: str | None, format_name: Format) -> None:
        """Write one workload, or a document of many; raise InvalidInput and write nothing if any is wrong."""
        with ExitStack() as stack:
            with _spooling():
                spool = stack.enter_context(tempfile.TemporaryFile())
            for piece in self._pieces(self._counted(micro_batches), format_name):
                # Once something is wrong, the rest is read only for what else is wrong.
                if not (self.problems or self._failures.together()):
                    with _spooling():
                        spool.write(piece.encode())
            with self._failures:
                if self.problems:
                    raise InvalidInput(self.problems)
            self._failures.settle()
            with _spooling():
                spool.flush()
            if path is not None and path != "-":
                replace_file_from(path, spool, self._output.complain)
            else:
                spool.seek(0)
                stack.pop_all()
                self._output.result_from(io.TextIOWrapper(spool, encoding="utf-8", newline=""))
        where = path if path not in {None, "-"} else "<stdout>"
        self._output.conclude(
            f"{where}: {plural(self._workloads, 'workload')} of {plural(self._samples, 'sample')} "
            f"with {plural(self._items, 'item')} and {plural(self._rows, 'row')}"
        )

    def _pieces(self, micro_batches: Iterator[MicroBatch], format_name: Format) -> Iterator[str]:
        first, second = next(micro_batches, None), next(micro_batches, None)
        if first is None:
            return
        if second is None:
            yield from workload_pieces(first, format_name)
        else:
            yield from micro_batches_pieces(chain((first, second), micro_batches), format_name)

    def _counted(self, micro_batches: Iterable[MicroBatch]) -> Iterator[MicroBatch]:
        for micro_batch in micro_batches:
            if self._encoders is not None and not self.problems:
                try:
                    self._encoders.fill(micro_batch)
                except InvalidInput as error:
                    self.problems += error.diagnostics
            self._workloads += 1
            for rows in micro_batch.batches:
                self._items += rows.items
                self._rows += rows.feature_rows
            yield micro_batch


@contextmanager
def _spooling() -> Iterator[None]:
    """Say that the temporary file takes no more."""
    try:
        yield
    except OSError as error:
        raise UnusableRequest(
            f"cannot keep the workload in {tempfile.gettempdir()} until it is whole: {why(error)}; "
            "set TMPDIR to a folder with room for it"
        ) from None


def _bytes_of(paths: tuple[str, ...]) -> int | None:
    """Return the bytes of all files; None where standard input, or a pipe, has no known end."""
    files = [Path(path) for path in paths if path != "-"]
    known = len(files) == len(paths) and all(file.is_file() for file in files)
    return sum(file.stat().st_size for file in files) if known else None
