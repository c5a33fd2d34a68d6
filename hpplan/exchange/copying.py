"""Copies of many runs of rows: a slice each while they are few, one indexed copy when they are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.exchange.packing import Run

_FEW = 32
"""Up to so many runs, slices cost no more than an index, and need no second buffer."""


def gather(buffer: torch.Tensor, rows: torch.Tensor, runs: Sequence[Run]) -> None:
    """Fill a buffer from `start` of `rows`; the runs lie in it one after the other, without gaps."""
    if len(runs) <= _FEW:
        for offset, start, count in runs:
            buffer.narrow(0, offset, count).copy_(rows.narrow(0, start, count))
    else:
        torch.index_select(rows, 0, _starts(runs, rows.device), out=buffer)


def gather_apart(buffer: torch.Tensor, rows: torch.Tensor, runs: Sequence[Run]) -> None:
    """Like `gather`, for runs with gaps between them, which are left as they are."""
    if len(runs) <= _FEW:
        gather(buffer, rows, runs)
    else:
        picked = torch.index_select(rows, 0, _starts(runs, rows.device))
        buffer.index_copy_(0, _offsets(runs, rows.device), picked)


def scatter(rows: torch.Tensor, buffer: torch.Tensor, runs: Sequence[Run], *, add: bool = False) -> None:
    """Put the runs of a buffer at their `start` in `rows`, or add them there."""
    if len(runs) <= _FEW:
        for offset, start, count in runs:
            target, source = rows.narrow(0, start, count), buffer.narrow(0, offset, count)
            if add:
                target.add_(source)
            else:
                target.copy_(source)
        return
    index, picked = _starts(runs, rows.device), buffer.index_select(0, _offsets(runs, rows.device))
    if add:
        rows.index_add_(0, index, picked.to(rows.dtype))
    else:
        rows.index_copy_(0, index, picked)


def clear(rows: torch.Tensor, runs: Sequence[Run]) -> None:
    """Set the rows at the `start` of each run to zero."""
    if len(runs) <= _FEW:
        for _, start, count in runs:
            rows.narrow(0, start, count).zero_()
    else:
        rows.index_fill_(0, _starts(runs, rows.device), 0)


def _starts(runs: Sequence[Run], device: torch.device) -> torch.Tensor:
    return _ranges([(run.start, run.rows) for run in runs], device)


def _offsets(runs: Sequence[Run], device: torch.device) -> torch.Tensor:
    return _ranges([(run.offset, run.rows) for run in runs], device)


def _ranges(spans: Sequence[tuple[int, int]], device: torch.device) -> torch.Tensor:
    """Return the numbers of all spans (first, count), one after the other."""
    counts = torch.tensor([count for _, count in spans])
    ends = torch.cumsum(counts, 0)
    shifts = torch.tensor([first for first, _ in spans]) - ends + counts
    return (torch.arange(int(ends[-1])) + torch.repeat_interleave(shifts, counts)).to(device)
