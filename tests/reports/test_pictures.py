"""The pictures of a page against sums over its workload: curves, parents, time line, bars, squares."""

from __future__ import annotations

import doctest
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from route_views import crowded, view_of, worked_case

from hpplan.reports.route import bars as route_bars
from hpplan.reports.route import html as route_html
from hpplan.reports.route import markup, plot, svg
from hpplan.reports.route.balance import balance, sorted_curve
from hpplan.reports.route.blocks import fold_pairs, fold_ranks
from hpplan.reports.route.plot import MOST_COLUMNS
from hpplan.reports.route.svg import heat_map
from hpplan.reports.route.timeline import timeline
from hpplan.reports.terminal import quantities
from hpplan.routing.cluster import cluster_from_data
from hpplan.routing.traffic import Link

if TYPE_CHECKING:
    from types import ModuleType

    from hpplan.reports.route.view import RouteView

BAR = re.compile(r'<rect class="bar" [^>]*height="([^"]*)"><title>([^<]*)</title>')


@pytest.mark.parametrize("module", [markup, plot, quantities, svg])
def test_examples_run(module: ModuleType) -> None:
    """An example of a docstring shows what no longer comes out."""
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


def many(dp: int, *, seed: int = 1, mesh: str = "cp=2,tp=2,sp", **fields: Any) -> RouteView:  # noqa: ANN401 - of a workload
    """Return a view of replicas of their own, with items of many sizes in random buckets of four."""
    draw = random.Random(seed)  # noqa: S311 - test data
    replicas = []
    item = 0
    for _ in range(dp):
        items, buckets = [], [[] for _ in range(4)]
        for row in range(draw.choice([0, 2, 5])):
            rows = draw.randrange(1, 60)
            items.append({"item_id": item, "batch_index": row, "decoder_token_start": 0, "output_rows": rows})
            draw.choice(buckets).append(item)
            item += 1
        replicas.append({"items": items, "buckets": buckets})
    return replace(view_of(f"dp={dp},{mesh}", [], 64, replicas=replicas, **fields), assigned_by="")


def loads(view: RouteView) -> list[list[int]]:
    """Add up the rows of each bucket of each replica."""
    found = []
    for batch in view.table.workload.batches:
        rows = {item.item_id: item.rows for item in batch.items}
        found.append([sum(rows[item] for item in bucket) for bucket in batch.buckets or ()])
    return found


def bars_of(drawing: str) -> list[float]:
    """Return the heights of the bars of a chart."""
    return [float(height) for height, _ in BAR.findall(drawing)]


def charts(html: str) -> list[str]:
    """Return the charts of a piece of a page."""
    return re.findall(r'<svg [^>]*class="plot".*?</svg>', html, re.DOTALL)


def scaled(values: list[float]) -> list[float]:
    """Return values as parts of the largest."""
    return [value / max(values) for value in values]


@pytest.mark.parametrize("seed", range(3))
def test_the_load_curve(seed: int) -> None:
    """Producers stand by their load, the most first, and the line is at their mean."""
    view = many(5, seed=seed)
    drawn = charts(balance(view))[0]
    own = sorted((load for parent in loads(view) for load in parent), reverse=True)
    assert scaled(bars_of(drawn)) == pytest.approx(scaled([float(load) for load in own]), abs=1e-3)
    (line,) = re.findall(r'<line class="mean" x1="0" x2="100%" y1="([^"]*)"', drawn)
    bottom = 190 - 22
    tallest = max(bars_of(drawn))
    assert (bottom - float(line)) / tallest == pytest.approx(sum(own) / len(own) / own[0], abs=1e-3)


def test_the_load_curve_of_thousands() -> None:
    """Of more producers than columns, each bar is as high as the first of those it stands for."""
    amounts = [((at * 7919) % 1009, at) for at in range(1000)]
    curve = sorted_curve(amounts, "rows", "producer")
    own = sorted((amount for amount, _ in amounts), reverse=True)
    assert [column.value for column in curve.columns] == own[::8]
    assert sum(column.width for column in curve.columns) == 1000
    assert len(curve.columns) <= MOST_COLUMNS
    assert curve.mean == sum(own) / 1000


def test_parent_by_parent() -> None:
    """Each parent has a bar for its busiest producer, with its own mean across it; one parent has none."""
    view = many(6)
    drawn = charts(balance(view))[3]
    assert scaled(bars_of(drawn)) == pytest.approx(scaled([float(max(own)) for own in loads(view)]), abs=1e-3)
    hovers = [hover for _, hover in BAR.findall(drawn)]
    for number, own in enumerate(loads(view)):
        assert hovers[number].startswith(f"parent {number}: rank ")
        assert hovers[number].endswith(f"mean {sum(own) / 4:,.1f}")
    assert len(charts(balance(worked_case()))) == 3


def fills(html: str) -> list[list[tuple[str, float, float]]]:
    """Return kind, left and width of what each track of a time line has, in percent."""
    return [
        [
            (kind, float(left), float(width))
            for kind, left, width in re.findall(
                r'<i class="fill (\w+)" style="left:([\d.]+)%;width:([\d.]+)%">', track
            )
        ]
        for track in html.split('<div class="phases"')[1:]
    ]


def test_the_time_line_of_the_worked_case() -> None:
    """Rank 0 encodes 10 rows and rank 1 eight; 10 and 8 of them go to ranks 2 and 3, after both are done."""
    html = timeline(worked_case())
    found = fills(html)
    encode = [track[1][1:] for track in found]
    assert encode == [(0.0, 50.0), (0.0, 40.0), (0.0, 0.0), (0.0, 0.0)]
    moved = [track[2] for track in found]
    assert moved == [
        ("send", 50.0, 50.0),
        ("send", 50.0, 40.0),
        ("receive", 50.0, 50.0),
        ("receive", 50.0, 40.0),
    ]
    assert "rank 1: encodes 8 rows, sends 16 B" in html


def test_the_time_line_has_seconds_where_links_are_known() -> None:
    """A row is two bytes: 20 bytes at 1 GB/s and 5 us are 5.02 us."""
    view = view_of(
        "cp=2,tp=2,sp", [(0, 5, 10), (0, 20, 8)], 32, buckets=[[0], [1], [], []], link=Link(1.0, 5.0)
    )
    assert "rank 0: encodes 10 rows, sends 20 B, 5.0 us" in timeline(view)


def test_the_time_line_begins_with_inputs() -> None:
    """In a pool inputs travel first; both exchanges have one scale in bytes, and half of the width.

    Two items of 8 rows and 96 input rows, of replica 0, on two producers: one goes to replica 1 as 96 rows of
    inputs, 192 bytes, and comes back as 8 rows of features, 16 bytes.
    """
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 8, "input_rows": 96}
        for at in range(2)
    ]
    view = view_of("dp=2", [], 8, replicas=[{"items": items}, {"items": []}], encoder_pool=2)
    first, second = fills(timeline(view))
    inputs = 50 * 192 / (192 + 16)
    assert first[0] == ("send", 0.0, pytest.approx(inputs, abs=0.01))
    assert second[0] == ("receive", 0.0, pytest.approx(inputs, abs=0.01))
    assert first[1] == ("encode", pytest.approx(inputs, abs=0.01), 50.0)
    assert first[2] == ("receive", pytest.approx(50 + inputs, abs=0.01), pytest.approx(50 - inputs, abs=0.01))


def test_the_time_line_of_many_ranks_names_those_that_count() -> None:
    """Of 64 ranks a few are shown: the busiest, one in the middle, one that is idle."""
    view = many(16)
    own = {rank: load for parent, ranks in zip(loads(view), range(0, 64, 4), strict=True)
           for rank, load in enumerate(parent, start=ranks)}  # fmt: skip
    shown = {int(rank) for rank in re.findall(r'<div class="track-name">rank (\d+):', timeline(view))}
    assert len(shown) <= 8
    assert set(sorted(own, key=lambda rank: (-own[rank], rank))[:3]) < shown
    assert min(rank for rank, load in own.items() if load == 0) in shown


def test_bars_of_a_page_have_one_scale() -> None:
    """Folded or not, the values beside all tracks have one width, and a row is as wide in each bar."""
    for view in (worked_case(), many(40)):
        html = route_bars.bars(view)
        (letters,) = {int(number) for number in re.findall(r"--value:(\d+)ch", html)}
        values = re.findall(r'<span class="value">([^<]*)</span>', html)
        assert max(map(len, values)) <= letters
    view = worked_case()
    widths = re.findall(r'class="fill \w+" style="width:([\d.]+)', route_bars.bars(view))
    rows = [rows for one in view.traffic.per_rank() for rows in (one.produced, one.sent, one.received)]
    assert [float(width) for width in widths] == [10.0 * one for one in rows]  # of 10 rows, the most of any


def test_squares_of_many_parents_lie_on_each_other() -> None:
    """Ranks of different parents exchange nothing: 12 parents are one square of four by four, added up."""
    view = many(12)
    heat = heat_map(view)
    assert (heat.blocks.kind, heat.blocks.labels) == ("parent rank", ("0", "1", "2", "3"))
    naive = [[0] * 4 for _ in range(4)]
    for _, routes in view.table.parents:
        for transfer in routes.transfers():
            naive[transfer.source][transfer.destination] += transfer.row_stop - transfer.row_start
    assert heat.matrix == naive
    page = route_html.render(view)
    assert "12 parents added up. A square adds up one pair of ranks of every parent" in page


def test_squares_of_a_pool_are_replicas() -> None:
    """A pool of 64 replicas has a line for each, and not one for CP groups of all of them together."""
    items = [
        {"item_id": at, "batch_index": 0, "decoder_token_start": 0, "output_rows": 8, "input_rows": 32}
        for at in range(64)
    ]
    view = view_of("dp=64,cp=2,tp=4", [], 16, replicas=[{"items": [item]} for item in items], encoder_pool=64)
    blocks = fold_pairs(view, 64)
    assert (blocks.kind, blocks.labels) == ("replica", tuple(map(str, range(64))))
    assert all(ranks == tuple(range(8 * at, 8 * at + 8)) for at, ranks in enumerate(blocks.ranks))
    assert fold_ranks(view, 20).labels[:3] == ("0-3", "4-7", "8-11")
    assert "A square adds up 8 x 8 pairs of ranks." in route_html.render(view)


@pytest.mark.parametrize("mesh", ["dp=64,cp=2,tp=4,sp", "dp=512,cp=4,tp=4,sp", "cp=64,tp=8,sp"])
def test_something_is_drawn_for_thousands(mesh: str) -> None:
    """A heat map of many ranks is a thin diagonal; here a twentieth of its squares at least are filled."""
    view = crowded(mesh, rows=4, length=16384)
    heat = heat_map(view)
    filled = sum(rows > 0 for line in heat.matrix for rows in line)
    assert filled >= len(heat.matrix) ** 2 / 20
    assert len(heat.svg) < 1_000_000


def test_the_time_line_over_the_links_of_a_cluster() -> None:
    """On one node of four ranks the slowest rank moves 20 bytes of 10 rows at 1 GB/s, packing is free.

    Three peers of 1 us each are begun with, one after the other.
    """
    view = view_of("cp=2,tp=2,sp", [(0, 5, 10), (0, 20, 8)], 32, buckets=[[0], [1], [], []])
    links = {"ranks_per_node": 4, "within_node": {"bandwidth": 1.0, "latency": 1.0}, "copy": 1e6}
    html = timeline(replace(view, link=cluster_from_data(links)))
    assert "then features, up to 20 B and 3.0 us over the links given." in html
    assert "rank 0: encodes 10 rows, sends 20 B<" in html
