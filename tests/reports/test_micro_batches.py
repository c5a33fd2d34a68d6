"""Many micro-batches as CSV, SVG and page: every value against sums over the buckets that the input gives."""

from __future__ import annotations

import csv
import io
import random
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from test_route_html import SVG, parsed

from hpplan.reports.micro_batches import csv as batches_csv
from hpplan.reports.micro_batches import html as batches_html
from hpplan.reports.micro_batches import svg as batches_svg
from hpplan.reports.micro_batches import text as batches_text
from hpplan.reports.route.plot import MOST_COLUMNS
from hpplan.reports.terminal.quantities import duration, size
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.meshes import compare_meshes
from hpplan.routing.statistics import GIVEN, statistics
from hpplan.routing.traffic import Link
from hpplan.workload.micro_batches import load_micro_batches

if TYPE_CHECKING:
    from hpplan.routing.statistics import Statistics

DP, PRODUCERS = 2, 4
MESH = "dp=2,cp=2,tp=2,sp"


class Naive(NamedTuple):
    """What a micro-batch comes to, added up bucket by bucket."""

    rank: int
    largest: int
    mean: float
    bound: int
    idle: int


def document(seed: int, number: int) -> dict[str, Any]:
    """Return micro-batches with items in random buckets, some replicas and some buckets empty."""
    rng = random.Random(seed)  # noqa: S311 - test data
    batches = []
    for _ in range(number):
        replicas = []
        for _ in range(DP):
            items, buckets = [], [[] for _ in range(PRODUCERS)]
            for item in range(rng.choice([0, 1, 3, 6])):
                rows = rng.randrange(1, 40)
                items.append(
                    {"item_id": item, "batch_index": item, "decoder_token_start": 0, "output_rows": rows}
                )
                rng.choice(buckets).append(item)
            replicas.append({"items": items, "buckets": buckets})
        batches.append({"sequence": {"length": 64}, "replicas": replicas})
    return {"micro_batches": batches}


def naive(batch: dict[str, Any]) -> Naive:
    """Add up the rows of each bucket; rank 4 * replica + bucket produces it on this mesh."""
    loads, bounds = [], []
    for replica in batch["replicas"]:
        rows = {item["item_id"]: item["output_rows"] for item in replica["items"]}
        loads += [sum(rows[item] for item in bucket) for bucket in replica["buckets"]]
        bounds.append(max([-(-sum(rows.values()) // PRODUCERS), *rows.values()]))
    rank = loads.index(max(loads))
    return Naive(rank, max(loads), sum(loads) / len(loads), bounds[rank // PRODUCERS], loads.count(0))


def busiest_bytes(found: Statistics, number: int) -> int:
    """Add up the rows of two bytes that each rank sends to others and receives, transfer by transfer."""
    most = 0
    for ranks, routes in found.table(found.running.way, number).parents:
        for rank in range(len(ranks)):
            others = [one for one in routes.transfers() if one.source != one.destination]
            for own in (
                [one for one in others if one.source == rank],
                [one for one in others if one.destination == rank],
            ):
                most = max(most, 2 * sum(one.row_stop - one.row_start for one in own))
    return most


def made(data: dict[str, Any], **options: Any) -> Statistics:  # noqa: ANN401 - of statistics
    """Return the statistics of a document."""
    return statistics(parse_mesh(MESH), load_micro_batches(data), **options)


def bars(svg: str) -> list[list[tuple[float, str]]]:
    """Return the height and the hover text of each bar, chart by chart."""
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    charts = [one for one in root.iter(f"{SVG}svg") if one.get("class") == "plot"]
    return [
        [(float(bar.get("height", "")), bar[0].text or "") for bar in chart.iter(f"{SVG}rect")]
        for chart in charts
    ]


@pytest.mark.parametrize("seed", range(3))
def test_lines_of_csv(seed: int) -> None:
    """A line for each policy and micro-batch, whose loads are those of the buckets."""
    data = document(seed, 9)
    found = made(data)
    lines = list(csv.DictReader(io.StringIO(batches_csv.render(found))))
    assert [line["policy"] for line in lines] == [name for name in found.policies for _ in range(9)]
    for number, (line, batch) in enumerate(
        zip([line for line in lines if line["policy"] == GIVEN], data["micro_batches"], strict=True)
    ):
        own = naive(batch)
        items = [item["output_rows"] for replica in batch["replicas"] for item in replica["items"]]
        assert (int(line["micro_batch"]), int(line["items"]), int(line["rows"])) == (
            number,
            len(items),
            sum(items),
        )
        assert own == Naive(
            int(line["busiest_rank"]),
            int(line["largest_load"]),
            float(line["mean_load"]),
            int(line["bound"]),
            int(line["idle_producers"]),
        )
        times = own.largest / own.mean if own.mean else 1
        assert float(line["encode_imbalance"]) == pytest.approx(times)


def test_charts_are_to_scale() -> None:
    """The bars of a chart have one scale, and are the loads, imbalances and idle producers of the input."""
    data = document(3, 12)
    found = made(data, link=Link(1.0, 3.0))
    load, imbalance, idle, moving = bars(batches_svg.render(found))
    own = [naive(batch) for batch in data["micro_batches"]]
    wanted = [
        (load, [one.largest for one in own]),
        (imbalance, [one.largest / one.mean if one.mean else 1 for one in own]),
        (idle, [one.idle for one in own]),
        (moving, [busiest_bytes(found, number) for number in range(12)]),
    ]
    for drawn, values in wanted:
        tallest = max(height for height, _ in drawn)
        assert [height / tallest for height, _ in drawn] == pytest.approx(
            [value / max(values) for value in values], abs=1e-3
        )
    assert load[5][1] == (
        f"micro-batch 5: rank {own[5].rank} encodes {own[5].largest:,} rows, mean {own[5].mean:,.1f}, "
        f"bound {own[5].bound:,}"
    )
    moved = busiest_bytes(found, 5)
    assert moving[5][1] == f"micro-batch 5: {size(moved)}, {duration(moved / 1e9 + 3e-6)}"


def test_many_columns_fold_to_the_worst() -> None:
    """Of 300 micro-batches each column is the worst of three, and the worst of all is drawn."""
    data = document(4, 300)
    load = bars(batches_svg.render(made(data, only="lpt")))[0]
    assert len(load) == 100 <= MOST_COLUMNS
    assert "Each bar is the worst of 3 micro-batches." in batches_html.render(made(data))


def test_worst_have_pages_of_their_own() -> None:
    """Links lead to the micro-batches furthest above the mean, in the same file, and back."""
    data = document(5, 10)
    found = made(data)
    page = batches_html.render(found)
    own = [naive(batch) for batch in data["micro_batches"]]
    order = sorted(range(10), key=lambda at: (own[at].mean - own[at].largest, at))[: batches_html.WORST]
    checked = parsed(page)
    links = [attributes["href"] for tag, attributes in checked.tags if tag == "a"]
    assert links == [f"#micro-batch-{at}" for at in order] + ["#worst"] * len(order)
    ids = [attributes["id"] for _, attributes in checked.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {f"micro-batch-{at}-matrix" for at in order} < set(ids)
    assert {"script", "link", "img", "iframe"}.isdisjoint(tag for tag, _ in checked.tags)
    for at in order:
        assert f"rank {own[at].rank} encodes {own[at].largest / own[at].mean:.2f} times the mean" in page


def test_verdict_adds_up() -> None:
    """The first line is the sum of busiest loads over the sum of means, and names the worst micro-batch."""
    data = document(6, 7)
    own = [naive(batch) for batch in data["micro_batches"]]
    times = sum(one.largest for one in own) / sum(one.mean for one in own)
    worst = max(range(7), key=lambda at: own[at].largest - own[at].mean)
    first = batches_text.render(made(data), Screen()).split("\n", 1)[0]
    assert f"encode {times:.2f} times the mean" in first
    assert f"micro-batch {worst}: rank {own[worst].rank} with {own[worst].largest:,} rows" in first
    assert f"up to {max(one.idle for one in own)} producers encode nothing" in first


def test_names_are_escaped() -> None:
    """A file name is text on the page."""
    page = batches_html.render(made(document(7, 2), name="<b>&.json"))
    assert (
        "<title>&lt;b&gt;&amp;.json: feature exchange of 2 micro-batches on dp=2,cp=2,tp=2,sp</title>" in page
    )


def test_pages_of_thousands_of_ranks_are_bounded() -> None:
    """A page of 8,192 ranks and many micro-batches can be mailed."""
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 8, "output_rows": 900} for at in range(8)
    ]
    one = {"sequence": {"length": 32768}, "items": items}
    mesh = parse_mesh("dp=64,cp=16,tp=8,sp")
    page = batches_html.render(statistics(mesh, load_micro_batches({"micro_batches": [one] * 5}), only="lpt"))
    assert len(page) < 4_000_000
    assert len(re.findall('<section aria-labelledby="micro-batch-[0-9]+"', page)) == batches_html.WORST


MESHES = ("dp=2,cp=2,tp=2,sp", "dp=2,cp=4", "dp=2")


@pytest.mark.parametrize("seed", range(3))
def test_meshes_side_by_side(seed: int) -> None:
    """Each mesh has the sums of a greedy assignment written down here, with its own number of producers."""
    data = document(seed, 5)
    found = compare_meshes([parse_mesh(mesh) for mesh in MESHES], load_micro_batches(data))
    shown = found.to_data()
    assert [one["mesh"] for one in shown["meshes"]] == list(MESHES)
    for one, producers in zip(shown["meshes"], (4, 4, 1), strict=True):
        largest, mean, idle = 0, 0.0, 0
        for batch in data["micro_batches"]:
            loads = []
            for replica in batch["replicas"]:
                own = [0] * producers
                for rows in sorted((item["output_rows"] for item in replica["items"]), reverse=True):
                    own[own.index(min(own))] += rows
                loads += own
            largest, mean = largest + max(loads), mean + sum(loads) / len(loads)
            idle = max(idle, loads.count(0))
        assert (one["largest_load"], one["idle_producers"]) == (largest, idle)
        assert one["mean_load"] == pytest.approx(mean)
        assert one["times_mean"] == pytest.approx(largest / mean)
    assert shown["meshes"][2]["bytes_leaving"] == 0


def test_meshes_have_one_scale() -> None:
    """Bars of two meshes are as high as their loads, whichever chart they stand in."""
    found = compare_meshes([parse_mesh(mesh) for mesh in MESHES], load_micro_batches(document(8, 6)))
    drawn = bars(batches_svg.render_meshes(found))
    loads = [[load.largest for load in one.running.loads] for one in found.statistics]
    heights = [[height for height, _ in chart] for chart in drawn]
    unit = max(map(max, heights)) / max(map(max, loads))
    assert heights == [pytest.approx([unit * load for load in own], abs=1e-2) for own in loads]
    checked = parsed(batches_html.render_meshes(found))
    assert all(mesh in checked.text for mesh in MESHES)
    lines = list(csv.DictReader(io.StringIO(batches_csv.render_meshes(found))))
    assert [int(line["largest_load"]) for line in lines] == [load for own in loads for load in own]
    assert {line["mesh"] for line in lines} == set(MESHES)


def test_pools_that_run_are_the_ones_that_are_shown() -> None:
    """A page about pools of two replicas shows what pools of one would do."""
    items = [
        {"item_id": at, "batch_index": at, "decoder_token_start": 0, "output_rows": 8, "input_rows": 32}
        for at in range(4)
    ]
    one = {
        "sequence": {"length": 8},
        "encoder_pool": 2,
        "replicas": [{"items": items}, *[{"items": []}] * 3],
    }
    found = statistics(parse_mesh("dp=4"), load_micro_batches({"micro_batches": [one, one]}))
    assert found.running.way.name == "lpt, pool 2"
    assert [load.largest for load in found.running.loads] == [16, 16]


def test_the_verdict_counts_inputs_and_what_stands_above_nothing() -> None:
    """Inputs may be a thousand times the features, and a balanced batch has no rank above the mean."""
    items = [
        {"item_id": at, "batch_index": 0, "decoder_token_start": 20 * at, "output_rows": 16, "input_rows": 64}
        for at in range(2)
    ]
    one = {
        "feature_width": 8,
        "dtype": "float32",
        "input_width": 4000,
        "encoder_pool": "all",
        "sequence": {"length": 64},
        "replicas": [{"items": items}, {"items": []}],
    }
    found = statistics(parse_mesh("dp=2"), load_micro_batches({"micro_batches": [one, one]}), only="lpt")
    text = batches_text.render(found, Screen())
    # The other replica encodes one of two: 16 rows of 8 float32 come back, 64 of 4,000 bfloat16 go.
    assert "512 B of features leave their rank in the median micro-batch, 512 B in micro-batch 0" in text
    assert "; of inputs 512.0 kB, 512.0 kB in micro-batch 0\n" in text
    assert text.startswith("balance  lpt, pool 2: the busiest producers encode 1.00 times the mean")
    assert "furthest above" not in text.split("\n", 1)[0]
