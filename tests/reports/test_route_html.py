"""The page and the heat map of a routing table: what they say, and that they stand on their own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from route_views import crowded, view_of, worked_case

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.reports.route import bars as route_bars
from hpplan.reports.route import html as route_html
from hpplan.reports.route import ribbon as route_ribbon
from hpplan.reports.route import svg as route_svg
from hpplan.reports.route.blocks import fold_ranks
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.quantities import duration, share, short_count, size
from hpplan.routing.routes import plan_routes
from hpplan.workload.workload import load_workload

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "link", "img", "input", "hr", "wbr"}

VIEWS = {
    "worked case": worked_case,
    "no sp, replicas": lambda: crowded("dp=2,cp=2,tp=4"),
    "all-gather without items": lambda: view_of("tp=4", [], 64),
    "one rank": lambda: view_of("tp=1", [(0, 0, 4)], 64),
    "thousands of ranks": lambda: crowded("dp=64,cp=16,tp=8,sp", rows=16, length=32768),
    "later stages": lambda: crowded("pp=2,dp=2,cp=2,tp=2"),
    "tp is not innermost": lambda: crowded("tp=4,cp=4"),
}


class Checker(HTMLParser):
    """Checks that every element is closed in order, and collects text and attributes."""

    def __init__(self) -> None:
        """Start outside of everything."""
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that closes itself, as in SVG."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect text, but not style."""
        if self.open and self.open[-1] != "style":
            self.text += data


def parsed(page: str) -> Checker:
    """Return a page that was found to be well formed."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


@pytest.mark.parametrize("name", VIEWS)
def test_pages_stand_on_their_own(name: str) -> None:
    """A page that loads anything, or runs anything, is no file to mail to a colleague."""
    page = route_html.render(VIEWS[name]())
    found = parsed(page)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in found.tags)
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []
    assert "url(" not in page
    assert "@import" not in page
    assert not any(key in {"src", "href", "onclick"} for _, attributes in found.tags for key in attributes)
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", VIEWS)
def test_pages_are_the_same_every_time(name: str) -> None:
    """The same table gives the same bytes."""
    assert route_html.render(VIEWS[name]()) == route_html.render(VIEWS[name]())


def test_the_page_says_what_the_table_says() -> None:
    """Mode and why, rows that leave, what row granularity saves, and where each item goes."""
    text = parsed(route_html.render(worked_case())).text
    for words in (
        "parent_variable_a2a: cp is above 1",
        "18 rows, 36 B",  # of 36 rows that arrive, 18 stay on their rank
        "row granularity saves 7 rows",  # 18 as records, 11 as owned rows
        "38.9%",
        "Take row: its busiest ranks move the fewest rows",
        "sha256:",
    ):
        assert words in " ".join(text.split()), words


def squares(svg: str) -> list[tuple[str, float, str]]:
    """Return shade, side and hover text of each square of a heat map that stands for rows."""
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    found = []
    for rectangle in root.iter(f"{SVG}rect"):
        title = rectangle.find(f"{SVG}title")
        if title is not None:
            found.append((rectangle.get("class", ""), float(rectangle.get("width", "0")), title.text or ""))
    return found


def test_the_heat_map_of_the_worked_case() -> None:
    """Each pair that exchanges has a square with its rows and bytes, and no other pair has one."""
    assert [title for _, _, title in squares(route_svg.render(worked_case()))] == [
        "rank 0 to itself: 10 rows, 20 B",
        "rank 0 to rank 2: 10 rows, 20 B",
        "rank 1 to itself: 8 rows, 16 B",
        "rank 1 to rank 3: 8 rows, 16 B",
    ]


def test_colour_is_not_the_only_carrier() -> None:
    """A darker square is larger as well, rows that stay are dashed, and few ranks have their numbers."""
    svg = route_svg.render(crowded("dp=2,cp=2,tp=4"))
    sides: dict[str, set[float]] = {}
    for shade, side, _ in squares(svg):
        sides.setdefault(shade, set()).add(side)
    assert len(sides) > 1
    assert all(len(found) == 1 for found in sides.values())
    ordered = [sides[shade] for shade in sorted(sides)]
    assert [max(found) for found in ordered] == sorted(max(found) for found in ordered)
    assert 'class="kept"' in svg
    assert len(re.findall('class="number', svg)) == len(squares(svg))
    page = route_html.render(worked_case())
    for name in ("encode", "send", "receive"):
        assert f'<span>{name}</span><span class="track"><i class="fill {name}"' in page


def test_shades_and_legend() -> None:
    """The largest has the last shade, one row of many the first, and none has none."""
    assert [route_svg.shade_of(rows, [20, 40, 60, 80, 100]) for rows in (0, 1, 20, 21, 100)] == [
        0,
        1,
        1,
        2,
        5,
    ]
    svg = route_svg.render(worked_case())
    assert re.findall(r"≤ [0-9]+", svg) == ["≤ 2", "≤ 4", "≤ 6", "≤ 8", "≤ 10"]


@pytest.mark.parametrize(
    ("mesh", "most", "per_node", "kind", "labels"),
    [
        ("cp=2,tp=2", 4, None, "rank", ["0", "1", "2", "3"]),
        ("cp=2,tp=2", 3, 2, "node", ["0", "1"]),
        ("cp=2,tp=2", 3, None, "CP group", ["0", "1"]),
        ("tp=2,cp=2", 3, None, "CP group", ["0", "1"]),
        ("cp=8,tp=2", 3, None, "block of CP groups", ["0-2", "3-5", "6-7"]),
        ("cp=7", 3, None, "block of CP groups", ["0-2", "3-5", "6"]),
        ("tp=8", 3, None, "block of ranks", ["0-2", "3-5", "6-7"]),
    ],
)
def test_folding(mesh: str, most: int, per_node: int | None, kind: str, labels: list[str]) -> None:
    """The finest partition that fits is taken; every rank is in one block."""
    view = view_of(mesh, [(0, 0, 8)], 32, ranks_per_node=per_node)
    blocks = fold_ranks(view, most)
    assert (blocks.kind, list(blocks.labels)) == (kind, labels)
    assert sorted(rank for ranks in blocks.ranks for rank in ranks) == list(range(view.table.mesh.world_size))
    matrix = blocks.matrix(view.table.parents)
    assert sum(map(sum, matrix)) == view.traffic.rows


def test_thousands_of_ranks_fold() -> None:
    """A page for 8,192 ranks stays a page: what is drawn is limited, and it says what is not."""
    view = VIEWS["thousands of ranks"]()
    page = route_html.render(view)
    assert len(page) < 2_000_000
    assert page.count('<div class="bar">') <= 3 * route_bars.MOST_BLOCKS
    assert page.count('<b class="piece') <= route_ribbon.MOST_PIECES
    assert "Ranks are folded" in page
    assert "Of the first of 64 replicas, which are all alike." in page
    many = view_of("cp=64,tp=8,sp", [(row, 0, 500) for row in range(20)], 1024)
    assert "more batch rows with images.</p>" in route_html.render(many)
    assert "Not drawn: 32 more CP ranks." in route_html.render(many)


@pytest.mark.parametrize("mesh", ["cp=128", "cp=129", "cp=32,tp=8,sp", "dp=2,cp=64,tp=32,sp", "cp=4096"])
@pytest.mark.parametrize("per_node", [None, 8])
@pytest.mark.parametrize("rows", [40, 4000])
def test_heat_maps_fit_the_page(mesh: str, per_node: int | None, rows: int) -> None:
    """A heat map of 256 nodes is cut at the right on a desktop, and as high as two screens."""
    view = view_of(mesh, [(0, 5, rows)], 4096, ranks_per_node=per_node)
    size = re.match(r'<svg [^>]*width="(\d+)" height="(\d+)"', route_svg.heat_map(view).svg)
    assert size is not None
    assert int(size[1]) <= 1088  # 70rem, less the margins
    assert int(size[2]) <= 1088


def test_replicas_of_their_own() -> None:
    """Where replicas differ each has its ribbons, and the matrix shows all of them."""
    items = [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": start, "output_rows": 4} for start in (0, 16)
    ]
    view = view_of("dp=2,cp=2", [], 32)
    data = {
        "sequence": {"length": 32, "cp_layout": "zigzag"},
        "replicas": [{"items": [item]} for item in items],
    }
    table = plan_routes(view.table.mesh, load_workload(data, Place("w")))
    page = route_html.render(RouteView(table, "lpt"))
    assert "<h3>Replica 0</h3>" in page
    assert "<h3>Replica 1</h3>" in page
    assert "<th scope=col>replica</th>" in page


def pieces(html: str) -> list[list[tuple[float, float, str]]]:
    """Return left, width and hover text of the pieces of each ribbon."""
    return [
        [
            (float(left), float(width), hover)
            for hover, left, width in re.findall(
                r'<b class="piece \w+" title="([^"]*)" style="left:([\d.]+)%;width:([\d.]+)%">', lane
            )
        ]
        for lane in html.split('<div class="lane">')[1:]
    ]


def test_ribbons_of_the_worked_case() -> None:
    """CP rank 0 holds tokens 0-7 and 24-31, rank 1 the rest: items are where their tokens are."""
    found = pieces(route_ribbon.ribbons(worked_case()))
    assert found == [
        [
            (31.25, 18.75, "item 0: rows 0 to 2 of 10 at local tokens 5 to 7"),
            (50.0, 25.0, "item 1: rows 4 to 7 of 8 at local tokens 8 to 11"),
        ],
        [
            (0.0, 43.75, "item 0: rows 3 to 9 of 10 at local tokens 0 to 6"),
            (75.0, 25.0, "item 1: rows 0 to 3 of 8 at local tokens 12 to 15"),
        ],
    ]


def test_ribbons_cover_every_row() -> None:
    """Over all CP ranks each row of each item is drawn once."""
    view = crowded("cp=4,tp=2,sp", rows=2, length=4096)
    drawn: dict[int, int] = {}
    for lane in pieces(route_ribbon.ribbons(view)):
        for _, _, hover in lane:
            item, first, last = map(int, re.findall(r"item (\d+): rows (\d+) to (\d+)", hover)[0])
            drawn[item] = drawn.get(item, 0) + last - first + 1
    assert drawn == {item.item_id: item.rows for item in view.table.workload.batches[0].items}


def test_text_is_escaped() -> None:
    """Text that comes from a document is text on the page, not markup."""
    view = worked_case()
    code = Code("HP438", "overloaded-receiver", "warning", "")
    view.__dict__["warnings"] = [Diagnostic(code, "<script>&\"'", Place("w"), hint="<b>")]
    page = route_html.render(view)
    assert "<script>" not in page
    assert "&lt;script&gt;&amp;" in page
    assert "(&lt;b&gt;)" in page


def test_quantities() -> None:
    """Units change where the number would grow a digit too many."""
    assert [short_count(number) for number in (0, 999, 1000, 9949, 9950, 999_499, 999_500)] == [
        "0", "999", "1k", "9.9k", "10k", "999k", "1M",
    ]  # fmt: skip
    assert (size(0), size(1000), size(1.5e12)) == ("0 B", "1.0 kB", "1.5 TB")
    assert (duration(0), duration(1e-3), duration(90)) == ("0.0 us", "1.0 ms", "90.0 s")
    assert (share(1, 8), share(0, 0)) == ("12.5%", "0.0%")


def test_the_page_names_what_was_routed() -> None:
    """Two pages side by side cannot be told apart, or a mesh is broken inside an axis."""
    view = replace(worked_case(), name="a<b>.yaml")
    page = route_html.render(view)
    assert "<title>a&lt;b&gt;.yaml: feature exchange on cp=2,tp=2,sp</title>" in page
    assert "on cp=2,<wbr>tp=2,<wbr>sp</h1>" in page


def test_large_heat_maps_have_their_numbers_as_well() -> None:
    """Who has no pointer cannot read a number of a large map."""
    page = route_html.render(crowded("cp=8,tp=8,sp"))
    assert "The 500 busiest of" in page or "All pairs of" in page
    assert "The same in numbers" in page
