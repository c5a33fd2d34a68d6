"""Rows per rank as bars: what each encodes, sends and receives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.route.blocks import fold_ranks
from hpplan.reports.route.markup import escape, table
from hpplan.reports.route.view import busiest
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.traffic import RankTraffic

MOST_BLOCKS = 64
"""Bars are drawn for so many ranks, or blocks of them."""
BUSIEST = 10

STYLE = """\
.bars { display: grid; grid-template-columns:
  repeat(auto-fill, minmax(min(100%, calc(12rem + var(--value))), 1fr)); gap: 1rem 1.6rem; }
.bars h4 { margin: 0 0 .2rem; font-size: .95rem; }
.bar { display: grid; grid-template-columns: 4.2rem 1fr var(--value); gap: .5rem; align-items: center;
  font-size: .85rem; font-variant-numeric: tabular-nums; }
.bar .track { position: relative; height: .8rem; background: var(--lane); border-radius: 2px; }
.bar .fill { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 2px; }
.bar .most { position: absolute; top: -2px; bottom: -2px; width: 0; border-left: 2px solid var(--ink); }
.bar .value { text-align: right; }
.encode { background: var(--encode); }
.send { background: repeating-linear-gradient(135deg, var(--send) 0 4px, var(--send-2) 4px 7px); }
.receive { background: repeating-linear-gradient(90deg, var(--receive) 0 3px, var(--receive-2) 3px 6px); }
"""


def bars(view: RouteView) -> str:
    """Return three bars for each rank, or for each block of ranks where there are many, as HTML."""
    blocks = fold_ranks(view, MOST_BLOCKS)
    by_rank = {one.rank: one for one in view.traffic.per_rank()}
    groups = [[by_rank[rank] for rank in ranks] for ranks in blocks.ranks]
    everyone = [one for group in groups for one in group]
    largest = max(max(one.produced, one.sent, one.received) for one in everyone)
    folded = any(len(group) > 1 for group in groups)
    parts = [f"<p>{_how_to_read(largest, folded=folded, kind=blocks.kind)}</p>"]
    if folded:
        parts.append(_busiest(everyone))
    # All values have one width, so that all tracks have one, and a row is as long in each.
    letters = len(f"{largest:,}")
    parts.append(f'<div class="bars" style="--value:{2 * letters + 3 if folded else letters}ch">')
    for number, group in enumerate(groups):
        parts.append(f"<div><h4>{escape(_title(blocks.name(number), group))}</h4>")
        parts.append(_bar("encode", [one.produced for one in group], largest))
        parts.append(_bar("send", [one.sent for one in group], largest))
        parts.append(_bar("receive", [one.received for one in group], largest))
        parts.append("</div>")
    parts.append("</div>")
    return "\n".join(parts)


def _how_to_read(largest: int, *, folded: bool, kind: str) -> str:
    text = (
        f"The full width of a bar is {plural(largest, 'row')}. Encoded rows are plain, rows sent to other "
        "ranks have slanted stripes, rows received from others have upright ones."
    )
    if folded:
        text += (
            f" Ranks are folded: a bar is the mean over the ranks of one {kind}, and its tick the most of "
            "any of them; both stand beside it."
        )
    return text


def _busiest(everyone: list[RankTraffic]) -> str:
    busy = busiest(everyone, BUSIEST)
    rows = ([f"{number:,}" for number in (one.rank, one.produced, one.sent, one.received)] for one in busy)
    return table(
        "Busiest ranks",
        ("rank", "encode", "send", "receive"),
        rows,
        caption=f"The {len(busy)} busiest ranks",
    )


def _title(name: str, group: list[RankTraffic]) -> str:
    items = sum(one.items for one in group)
    ranks = f", {len(group)} ranks" if len(group) > 1 else ""
    return f"{name}{ranks}: {plural(items, 'item')}"


def _bar(name: str, values: list[int], largest: int) -> str:
    mean, most = sum(values) / len(values), max(values)
    width = f"{100 * mean / largest:.4g}%" if largest else "0"
    tick, value = "", f"{most:,}"
    if len(values) > 1:
        tick = f'<i class="most" style="left:{100 * most / largest if largest else 0:.4g}%"></i>'
        value = f"{mean:,.0f} / {most:,}"
    return (
        f'<div class="bar"><span>{name}</span><span class="track">'
        f'<i class="fill {name}" style="width:{width}"></i>{tick}</span>'
        f'<span class="value">{value}</span></div>'
    )
