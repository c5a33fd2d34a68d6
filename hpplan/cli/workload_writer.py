"""What `hpplan workload` writes: one document of all micro-batches, or every finding."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

from hpplan.cli.output import Output
from hpplan.documents.disk.files import replace_file_from
from hpplan.documents.disk.streams import why
from hpplan.documents.source import Format
from hpplan.errors import InvalidInput, UnusableRequest
from hpplan.reports.workload.text import micro_batches_pieces, workload_pieces
from hpplan.routing.buckets import Encoders
from hpplan.wording import plural
from hpplan.workload.micro_batch import MicroBatch
from hpplan.workload.sample_files import SampleFiles


class WorkloadWriter:
    """Writes micro-batches as they are made; `encoders` fill buckets where these are wanted."""

    def __init__(self, output: Output, files: SampleFiles, encoders: Encoders | None) -> None:
        """Take what the micro-batches are made of."""
        self._output, self._files, self._encoders = output, files, encoders
        self._workloads = self._items = self._rows = 0

    def write(self, micro_batches: Iterator[MicroBatch], path: str | None, format_name: Format) -> None:
        """Write one workload, or a document of many; raise InvalidInput and write nothing if any is wrong."""
        with ExitStack() as stack:
            with _spooling():
                spool = stack.enter_context(tempfile.TemporaryFile())
            for piece in self._pieces(self._counted(micro_batches), format_name):
                # Once something is wrong, the rest is read only for what else is wrong.
                if self._files.sound:
                    with _spooling():
                        spool.write(piece.encode())
            self._files.settle()
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
            f"{where}: {plural(self._workloads, 'workload')} of {plural(self._files.samples, 'sample')} "
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
            if self._encoders is not None and not self._files.problems:
                try:
                    self._encoders.fill(micro_batch)
                except InvalidInput as error:
                    self._files.problems += error.diagnostics
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
