"""Inputs, encoding and features of a rank on one time line: where its track is empty, it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.reports.route.balance import loads_of
from hpplan.reports.route.blocks import shown_parents
from hpplan.reports.route.markup import escape
from hpplan.reports.terminal.quantities import duration, load, size
from hpplan.routing.traffic import Link

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.reports.route.view import RouteView

MOST_LANES = 8
"""Ranks up to which each has its track."""

_BUSIEST = 3
_ENCODING = 50.0
"""Share of the width, in percent, that encoding has: how long it takes is not known in seconds."""

STYLE = """\
.phases { position: relative; height: 1.1rem; background: var(--lane); border-radius: 2px;
  margin: .1rem 0 .6rem; }
.phases .fill { position: absolute; top: 0; bottom: 0; }
.phases .cut { position: absolute; top: -3px; bottom: -3px; width: 0; border-left: 2px dashed var(--quiet); }
.track-name { font-size: .85rem; font-variant-numeric: tabular-nums; }
"""


class _Lane(NamedTuple):
    """What one rank does: its load in the cost, and the bytes that it sends and receives."""

    rank: int
    load: int
    inputs: tuple[int, int]
    features: tuple[int, int]

    @property
    def moved(self) -> int:
        """Bytes of features in the direction that takes longer."""
        return max(self.features)


def timeline(view: RouteView) -> str:
    """Return a track for each rank, or for those that others wait for, as HTML."""
    lanes = _lanes(view)
    scale = _Scale(
        max(max(one.inputs) for one in lanes), max(one.load for one in lanes), max(one.moved for one in lanes)
    )
    chosen = _chosen(lanes)
    some = ""
    if len(chosen) < len(lanes):
        idle = "" if all(one.load for one in lanes) else ", and the first that encodes nothing"
        some = f" Shown are those that encode most, those that move most, one in the middle{idle}."
    parts = [f"<p>{_how_to_read(view, scale)}{some}</p>"]
    parts += [_track(view, lane, scale) for lane in chosen]
    return "\n".join(parts)


class _Scale(NamedTuple):
    """The most of each phase. Both exchanges are drawn to one scale."""

    inputs: int
    load: int
    features: int

    @property
    def cuts(self) -> tuple[float, float]:
        """Where encoding begins and ends, in percent of the width."""
        moved = self.inputs + self.features
        start = (100 - _ENCODING) * self.inputs / moved if moved else 0.0
        return start, start + _ENCODING


def _lanes(view: RouteView) -> list[_Lane]:
    parents = shown_parents(view)
    loads = loads_of(parents, view.cost)
    each = view.table.workload.encoder_cp_size
    traffic = {one.rank: one for one in view.traffic.per_rank()}
    row, input_row = view.traffic.row_bytes, view.table.workload.input_row_bytes
    lanes = []
    for own, parent in zip(loads, parents, strict=True):
        totals = parent.inputs.totals if view.traffic.inputs and parent.inputs else None
        for at, rank in enumerate(parent.ranks):
            moved = traffic[rank]
            inputs = (totals.sent[at] * input_row, totals.received[at] * input_row) if totals else (0, 0)
            lanes.append(_Lane(rank, own[at // each][0], inputs, (moved.sent * row, moved.received * row)))
    return sorted(lanes)


def _chosen(lanes: list[_Lane]) -> list[_Lane]:
    """Return all lanes of few; of many the busiest, one in the middle, and one that encodes nothing."""
    if len(lanes) <= MOST_LANES:
        return lanes
    by_load = sorted(lanes, key=lambda one: (-one.load, one.rank))
    by_moved = sorted(lanes, key=lambda one: (-one.moved, one.rank))
    idle = [one for one in lanes if not one.load][:1]
    return sorted({*by_load[:_BUSIEST], *by_moved[:_BUSIEST], by_load[len(lanes) // 2], *idle})


def _how_to_read(view: RouteView, scale: _Scale) -> str:
    spell = _spelling(view)
    phases = f"encoding, up to {load(scale.load, view.cost)}, then features, up to {spell(scale.features)}"
    if view.traffic.prediction is not None:
        phases += f" and {duration(view.traffic.prediction.forward)} over the links given"
    if scale.inputs:
        phases = f"inputs, up to {spell(scale.inputs)}, then {phases}"
    last = (
        "the last; each parent goes on when its own last is done"
        if len(shown_parents(view)) > 1
        else "the last"
    )
    return (
        f"From left to right: {phases}. What is empty before a dashed line is waiting for {last}. "
        "Encoding has half of the width, whatever it takes in seconds."
    )


def _spelling(view: RouteView) -> Callable[[int], str]:
    link = view.link
    if not isinstance(link, Link):
        return size
    return lambda moved: f"{size(moved)}, {duration(link.seconds(moved))}"


def _track(view: RouteView, lane: _Lane, scale: _Scale) -> str:
    spell = _spelling(view)
    start, stop = scale.cuts
    name = (
        f"rank {lane.rank}: encodes {load(lane.load, view.cost)}, {_does(lane.features)} {spell(lane.moved)}"
    )
    if scale.inputs:
        name = f"{name}; before, {_does(lane.inputs)} {spell(max(lane.inputs))} of inputs"
    bars = [
        _fill(_kind(lane.inputs), 0.0, start, max(lane.inputs), scale.inputs),
        _fill("encode", start, stop, lane.load, scale.load),
        _fill(_kind(lane.features), stop, 100.0, lane.moved, scale.features),
    ]
    cuts = "".join(f'<i class="cut" style="left:{at:.4g}%"></i>' for at in (start, stop) if at)
    return (
        f'<div class="track-name">{escape(name)}</div>\n'
        f'<div class="phases" role="img" aria-label="{escape(name)}">{"".join(bars)}{cuts}</div>'
    )


def _fill(kind: str, start: float, stop: float, amount: int, most: int) -> str:
    wide = (stop - start) * amount / most if most else 0.0
    return f'<i class="fill {kind}" style="left:{start:.4g}%;width:{wide:.4g}%"></i>'


def _kind(moved: tuple[int, int]) -> str:
    return "send" if moved[0] >= moved[1] else "receive"


def _does(moved: tuple[int, int]) -> str:
    return f"{_kind(moved)}s"
