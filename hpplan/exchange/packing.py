"""Where rows lie in the buffers of one rank: features, send buffer, receive buffer, local sequence."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hpplan.routing.rank_route import RankRoute


_FEW = 256
"""Rows up to which one copy of all, and one more of the own ones, is faster than two copies apart."""


class Run(NamedTuple):
    """`rows` rows from `offset` on in a buffer; `start` is where they lie in features or sequence."""

    offset: int
    start: int
    rows: int


class Runs(list[Run]):
    """Runs of rows, with room for what whoever copies them works out once."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        """Hold these runs."""
        super().__init__(runs)
        self.indices: dict[tuple[str, object], Any] = {}

    def whole(self, rows: int) -> bool:
        """Whether the runs are a buffer of so many rows, from its start to its end."""
        if self.indices.get(("whole", rows)) is None:
            ends = [0, *accumulate(run.rows for run in self)]
            self.indices["whole", rows] = ends == [*(run.offset for run in self), rows]
        return bool(self.indices["whole", rows])


class Record(NamedTuple):
    """Rows `[row_start, row_stop)` of one item, from `offset` on in the receive buffer."""

    item_id: int
    row_start: int
    row_stop: int
    offset: int


@dataclass(frozen=True)
class Packing:
    """The layout of one rank's buffers, for one order of the ranks in the process group.

    Rows that the rank sends to itself do not pass through the collective: they
    are copied from the features to the start of the receive buffer, and the
    blocks of the other ranks follow in process-group order. Own rows are handed
    to the collective too, `through`, where the features lie in send order
    already, so that nothing is copied, and where rows are few.
    """

    route: RankRoute
    order: tuple[int, ...]
    """Group ranks (of the route) by rank in the process group."""

    @cached_property
    def _own(self) -> int:
        return self.route.group_rank

    @cached_property
    def bucket_rows(self) -> int:
        """Rows of the features this rank brings."""
        return sum(rows for _, rows in self.route.bucket)

    @cached_property
    def received_rows(self) -> int:
        """Rows that this rank gets, its own included."""
        return sum(self.route.output_splits)

    @cached_property
    def _blocks(self) -> dict[int, list[Run]]:
        """Per destination, the runs of features it gets; offsets count from the start of its block."""
        places = zip(self.route.bucket, self._bucket_offsets, self.route.bucket_starts, strict=True)
        starts = {item: offset - first for (item, _), offset, first in places}
        blocks: dict[int, list[Run]] = {rank: [] for rank in self.order}
        filled = dict.fromkeys(self.order, 0)
        for destination, item, row_start, row_stop in self.route.sends:
            rows = row_stop - row_start
            _append(blocks[destination], Run(filled[destination], starts[item] + row_start, rows))
            filled[destination] += rows
        return blocks

    @cached_property
    def _bucket_offsets(self) -> list[int]:
        return [0, *accumulate(rows for _, rows in self.route.bucket)][:-1]

    @cached_property
    def in_order(self) -> bool:
        """Whether the features are the send buffer as they lie: every row once, in send order."""
        runs = _joined(self._blocks, self.order)
        return (
            runs in ([], [Run(0, 0, self.bucket_rows)]) and sum(self.route.input_splits) == self.bucket_rows
        )

    @cached_property
    def through(self) -> bool:
        """Whether the blocks of all ranks, the own one included, pass through the collective."""
        gathers = self.route.mode.collective == "all_gather"
        return self.in_order or (not gathers and self.route.send_buffer_rows <= _FEW)

    @cached_property
    def send_splits(self) -> tuple[int, ...]:
        """Rows handed to the collective for each rank of the process group."""
        return self._splits(self.route.input_splits)

    @cached_property
    def receive_splits(self) -> tuple[int, ...]:
        """Rows the collective delivers from each rank of the process group."""
        return self._splits(self.route.output_splits)

    def _splits(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(rows[rank] if self.through or rank != self._own else 0 for rank in self.order)

    @cached_property
    def own_rows(self) -> int:
        """Rows at the start of the receive buffer that were copied there without the collective."""
        return 0 if self.through else self.route.input_splits[self._own]

    @cached_property
    def own_runs(self) -> Runs:
        """Where those own rows come from."""
        return Runs([] if self.through else self._blocks[self._own])

    @cached_property
    def send_runs(self) -> Runs:
        """Where the rows of the send buffer come from."""
        others = self.order if self.through else [rank for rank in self.order if rank != self._own]
        return Runs(_joined(self._blocks, others))

    @cached_property
    def sent_rows(self) -> int:
        """Rows of the send buffer."""
        return sum(self.send_splits)

    @cached_property
    def return_runs(self) -> Runs:
        """Where gradients lie that go back to other ranks."""
        return Runs([Run(0, self.own_rows, self.received_rows - self.own_rows)])

    @cached_property
    def most_receivers(self) -> int:
        """To how many ranks a row goes at most: above 1, gradients of some rows may add up."""
        sent: dict[int, int] = {}
        receivers: dict[int, set[int]] = {}
        for destination, item, row_start, row_stop in self.route.sends:
            sent[item] = sent.get(item, 0) + row_stop - row_start
            receivers.setdefault(item, set()).add(destination)
        rows = dict(self.route.bucket)
        return max((len(receivers[item]) if sent[item] > rows[item] else 1 for item in sent), default=1)

    @cached_property
    def block_offsets(self) -> dict[int, int]:
        """Where the block of each source starts in the receive buffer."""
        others = [rank for rank in self.order if self.through or rank != self._own]
        ends = accumulate((self.route.output_splits[rank] for rank in others), initial=self.own_rows)
        return {self._own: 0, **dict(zip(others, ends, strict=False))}

    def _shifts(self) -> tuple[list[int], list[int]]:
        """Where each source's block starts on the wire, and how far from there it is in the buffer."""
        starts = [0, *accumulate(self.route.output_splits)][:-1]
        return starts, [self.block_offsets[source] - start for source, start in enumerate(starts)]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """What the rank gets, in the order of handing over."""
        starts, shifts = self._shifts()
        return tuple(
            Record(item, row_start, row_stop, offset + shifts[bisect_right(starts, offset) - 1])
            for item, row_start, row_stop, offset in self.route.hand_over
        )

    @cached_property
    def owned_runs(self) -> Runs:
        """Buffer rows whose token the rank owns; `start` is the flat position in its local sequence.

        Flat positions are `batch_index * local_length + local position`.
        """
        starts, shifts = self._shifts()
        runs = Runs()
        for offset, rows, start in self.route.position_runs:
            if start >= 0:
                _append(runs, Run(offset + shifts[bisect_right(starts, offset) - 1], start, rows))
        return runs


def _append(runs: list[Run], run: Run) -> None:
    """Add a run, joined to the last one where it carries on from there."""
    if runs and runs[-1].start + runs[-1].rows == run.start and runs[-1].offset + runs[-1].rows == run.offset:
        run = Run(runs[-1].offset, runs[-1].start, runs.pop().rows + run.rows)
    if run.rows:
        runs.append(run)


def _joined(blocks: dict[int, list[Run]], order: Iterable[int]) -> list[Run]:
    """Lay blocks one after the other."""
    joined: list[Run] = []
    filled = 0
    for rank in order:
        base = filled
        for offset, start, rows in blocks[rank]:
            _append(joined, Run(base + offset, start, rows))
            filled += rows
    return joined
