"""Samples to the workload of one micro-batch, kept small while a batch file streams past."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from hpplan.diagnostics import Place
from hpplan.workload.families.base import Kind
from hpplan.workload.samples import Sample
from hpplan.workload.workload import Batch, Item, Workload, workload_of

_MADE = Place("workload")
"""Of a workload that stands in no document yet."""


@dataclass(frozen=True)
class WorkloadSettings:
    """What every workload of a run has beside its samples."""

    fields: Mapping[str, Any]
    """Fields of a workload and of its sequence, as a document has them."""
    length: int | None = None
    """Decoder tokens per batch row; None: those of the longest sample."""
    replicas: int | None = None
    """Data-parallel replicas with samples of their own; None: all run the same."""
    described: bool = False
    """Whether items say what they are of, and the rows of their inputs."""


class Rows:
    """The batch rows of one replica. Items are packed into numbers: a file may have a million of them."""

    def __init__(self, *, described: bool = False) -> None:
        """Start without samples; items may be `described`."""
        self._packed: dict[Kind, array[int]] = {"image": array("q"), "video": array("q")}
        self._about: dict[Kind, list[dict[str, Any]]] = {"image": [], "video": []}
        self._described = described
        self.samples = 0
        self.length = 0
        """Tokens of the longest sample."""
        self.items = 0
        self.feature_rows = 0
        self.documents: list[int] = []
        """Lengths of packed documents; empty where a batch row is one sample."""

    def add(self, sample: Sample) -> None:
        """Make a sample the next batch row."""
        self.place(sample, self.samples, 0)

    def place(self, sample: Sample, batch_index: int, offset: int) -> None:
        """Put a sample at token `offset` of a batch row."""
        for item in sample.items:
            if self._described:
                about = {"input_rows": item.input_rows, "grid": item.grid, "slices": item.slices}
                self._about[item.kind].append({**about, "sample": sample.sample_id})
            packed = self._packed[item.kind]
            packed.extend((batch_index, len(item.spans)))
            for start, rows in item.spans:
                packed.extend((offset + start, rows))
                self.feature_rows += rows
        self.items += len(sample.items)
        self.samples += 1
        self.length = max(self.length, offset + sample.length)

    def __iter__(self) -> Iterator[Item]:
        """Yield the items with numbers from 0; see `numbered`."""
        return self.numbered(0)

    def numbered(self, item_id: int) -> Iterator[Item]:
        """Yield the items as encoders get them: the images of all samples, then the videos.

        They are numbered in that order from `item_id` on; their tokens are where the text has them.
        """
        for kind, packed in self._packed.items():
            at = number = 0
            while at < len(packed):
                batch_index, runs = packed[at], packed[at + 1]
                numbers = packed[at + 2 : at + 2 + 2 * runs]
                spans = tuple(zip(numbers[::2], numbers[1::2], strict=True))
                about = self._about[kind][number] if self._described else {}
                yield Item(item_id, batch_index, sum(numbers[1::2]), spans, **about)
                number += 1
                at += 2 + 2 * runs
                item_id += 1


@dataclass
class MicroBatch:
    """One workload in the making; `batches` has one element, or one for each replica."""

    settings: WorkloadSettings
    batches: list[Rows]
    buckets: list[list[list[int]]] | None = None
    """Of each of `batches`; None: left to whoever routes the workload."""

    @property
    def documents(self) -> list[int]:
        """Documents of the first replica."""
        return self.batches[0].documents

    @property
    def length(self) -> int:
        """Decoder tokens per batch row."""
        return self.settings.length or max(1, *(rows.length for rows in self.batches))

    @property
    def items(self) -> int:
        """Items of all replicas."""
        return sum(rows.items for rows in self.batches)

    @property
    def samples(self) -> int:
        """Samples of all replicas."""
        return sum(rows.samples for rows in self.batches)

    def head(self) -> dict[str, Any]:
        """Return the fields of the workload before its items."""
        return self._workload((), _MADE).head()

    def to_data(self) -> dict[str, Any]:
        """Return the workload as a document."""
        return self.workload().to_data()

    def workload(self, place: Place = _MADE) -> Workload:
        """Return the workload, whose items nothing has checked."""
        per_replica = self.settings.replicas is not None
        # Replicas may share the encoder work, so that no two of their items have one number.
        firsts = accumulate((rows.items for rows in self.batches), initial=0)
        batches = tuple(
            Batch(
                tuple(rows.numbered(first)),
                None if self.buckets is None else tuple(map(tuple, self.buckets[number])),
                {},
                place,
                tuple(rows.documents) or None if per_replica else None,
            )
            for number, (rows, first) in enumerate(zip(self.batches, firsts, strict=False))
        )
        return self._workload(batches, place)

    def _workload(self, batches: tuple[Batch, ...], place: Place) -> Workload:
        fields, per_replica = self.settings.fields, self.settings.replicas is not None
        sequence = {
            **fields,
            "length": self.length,
            "documents": () if per_replica else tuple(self.documents),
        }
        return workload_of(fields, sequence, batches, place, per_replica=per_replica)
