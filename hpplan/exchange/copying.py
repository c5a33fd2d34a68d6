"""Copies of many runs of rows: indexed copies of whole rows, or a slice each where that is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from hpplan.exchange.packing import Runs

_FEW = 32
"""Up to so many runs, slices are faster than putting large rows at an index, and need no second buffer."""

_SMALL = 1 << 17
"""Bytes up to which rows are put at an index faster than a few slices are made."""


_CACHED = 1 << 20
"""Bytes that are converted to another dtype at once."""


def gather(buffer: torch.Tensor, rows: torch.Tensor, runs: Runs) -> None:
    """Fill a buffer from `start` of `rows`; the runs lie in it one after the other, without gaps."""
    if len(runs) > 1 and (rows.device.type == "cpu" or len(runs) > _FEW):
        torch.index_select(rows, 0, _starts(runs, rows.device), out=buffer)
    else:
        _gather_slices(buffer, rows, runs)


def gather_apart(buffer: torch.Tensor, rows: torch.Tensor, runs: Runs) -> None:
    """Like `gather`, for runs with gaps between them, which are left as they are."""
    if _in_slices(runs, buffer):
        _gather_slices(buffer, rows, runs)
    else:
        picked = torch.index_select(rows, 0, _starts(runs, rows.device))
        buffer.index_copy_(0, _offsets(runs, rows.device), picked)


def scatter(rows: torch.Tensor, buffer: torch.Tensor, runs: Runs, *, add: bool = False) -> None:
    """Put the runs of a buffer at their `start` in `rows`, or add them there."""
    if _in_slices(runs, buffer):
        for offset, start, count in runs:
            target, source = rows.narrow(0, start, count), buffer.narrow(0, offset, count)
            if add:
                _add(target, source)
            else:
                target.copy_(source)
        return
    index = _starts(runs, rows.device)
    picked = buffer if runs.whole(len(buffer)) else buffer.index_select(0, _offsets(runs, rows.device))
    if add:
        for some, block in zip(_blocks(index, rows), _blocks(picked, rows), strict=True):
            rows.index_add_(0, some, block.to(rows.dtype))
    else:
        rows.index_copy_(0, index, picked)


def _add(target: torch.Tensor, source: torch.Tensor) -> None:
    """Add rows to rows; of another dtype, by blocks: torch's mixed addition takes five times as long."""
    if target.dtype == source.dtype:
        target.add_(source)
        return
    for some, block in zip(_blocks(target, target), _blocks(source, target), strict=True):
        some.add_(block.to(target.dtype))


def _blocks(rows: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return rows in blocks that stay in a CPU's cache in the dtype of a target, in memory used before."""
    if target.device.type != "cpu":
        return (rows,)
    return torch.split(rows, max(1, _CACHED // max(1, target.shape[1] * target.itemsize)))


def clear(rows: torch.Tensor, runs: Runs) -> None:
    """Set the rows at the `start` of each run to zero."""
    if len(runs) <= _FEW:
        for _, start, count in runs:
            rows.narrow(0, start, count).zero_()
    else:
        rows.index_fill_(0, _starts(runs, rows.device), 0)


def _in_slices(runs: Runs, buffer: torch.Tensor) -> bool:
    return len(runs) <= 1 or (len(runs) <= _FEW and (buffer.nbytes > _SMALL or buffer.device.type != "cpu"))


def _gather_slices(buffer: torch.Tensor, rows: torch.Tensor, runs: Runs) -> None:
    for offset, start, count in runs:
        buffer.narrow(0, offset, count).copy_(rows.narrow(0, start, count))


def _starts(runs: Runs, device: torch.device) -> torch.Tensor:
    return _index(runs, "start", device)


def _offsets(runs: Runs, device: torch.device) -> torch.Tensor:
    return _index(runs, "offset", device)


def _index(runs: Runs, field: Literal["start", "offset"], device: torch.device) -> torch.Tensor:
    """Return the numbers of all rows, run after run."""
    found = runs.indices.get((field, device))
    if found is None:
        counts = torch.tensor([run.rows for run in runs])
        ends = torch.cumsum(counts, 0)
        shifts = torch.tensor([getattr(run, field) for run in runs]) - ends + counts
        index = torch.arange(int(ends[-1])) + torch.repeat_interleave(shifts, counts)
        found = runs.indices[field, device] = index.to(device)
    return found
