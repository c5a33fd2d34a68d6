"""Samples in batch files, read one by one; what is wrong with any is kept until all are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.disk.folder import SAMPLES, files_in, named
from hpplan.documents.disk.streams import document_name
from hpplan.documents.json_text.samples import read_samples
from hpplan.errors import Failures, InvalidInput, UnusableRequest
from hpplan.workload.families.base import Family
from hpplan.workload.sample_codes import NO_SAMPLES
from hpplan.workload.samples import Sample, Splitting, read_sample


class SampleFiles:
    """The batch files that are named, and those in folders."""

    def __init__(self, arguments: Iterable[str]) -> None:
        """Look for the files; what keeps any from being read goes into `failures`."""
        self.failures = Failures()
        self.problems: list[Diagnostic] = []
        """What is wrong with samples."""
        self.paths: list[str] = []
        self.samples = 0
        """How many samples were read."""
        for argument in arguments:
            with self.failures:
                for path in named([argument]):
                    batches = files_in(path, SAMPLES) if os.path.isdir(path) else [path]  # noqa: PTH112 - pathlib takes longer to import
                    if not batches:
                        raise UnusableRequest(f"There is no batch in {path}: no name there ends in .jsonl.")
                    self.paths += batches

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where standard input, or a pipe, has no known end."""
        if not all(path != "-" and os.path.isfile(path) for path in self.paths):  # noqa: PTH113 - the same
            return None
        return sum(os.path.getsize(path) for path in self.paths)  # noqa: PTH202 - the same

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong so far."""
        return not (self.problems or self.failures.together())

    def settle(self) -> None:
        """Raise everything that was wrong."""
        with self.failures:
            if self.problems:
                raise InvalidInput(self.problems)
        self.failures.settle()

    def read(
        self, family: Family, progress: Callable[[int], object], splitting: Splitting | None = None
    ) -> Iterator[Sample]:
        """Yield the samples that have nothing wrong with them; `progress` is called with bytes read."""
        for path in self.paths:
            with self.failures:
                yield from self._samples_of(path, family, progress, splitting)

    def _samples_of(
        self, path: str, family: Family, progress: Callable[[int], object], splitting: Splitting | None
    ) -> Iterator[Sample]:
        before, known, parsed = self.samples + len(self.problems), len(self.problems), 0
        for data in read_samples(path, self.problems, progress):
            parsed += 1
            try:
                sample = read_sample(data, family, splitting)
            except InvalidInput as error:
                self.problems += error.diagnostics
                continue
            self.samples += 1
            yield sample
        if not parsed and len(self.problems) > known + 1:
            # Not a line is a sample: one finding says so as well as a thousand.
            first = self.problems[known]
            hint = "BATCH has one JSON object a line, or one JSON array of them"
            self.problems[known:] = [replace(first, hint=hint)]
        if before == self.samples + len(self.problems):
            place = Place(document_name(path), position=(1, 1))
            self.problems.append(Diagnostic(NO_SAMPLES, "there is not a single sample", place))
