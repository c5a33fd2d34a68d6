"""The page in a real browser, wide and on a phone, light and dark: nothing is cut, everything can be read."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from route_views import crowded, view_of, worked_case

from hpplan.diagnostics import Place
from hpplan.reports.micro_batches import html as batches_html
from hpplan.reports.route import html as route_html
from hpplan.reports.route import svg as route_svg
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.meshes import compare_meshes
from hpplan.routing.statistics import statistics
from hpplan.routing.traffic import Link
from hpplan.workload.workload import Workload, load_workload

if TYPE_CHECKING:
    from pathlib import Path

    from hpplan.reports.route.view import RouteView

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs chromium (Debian's package of that name)"),
    pytest.mark.slow,
]

PAGES = {
    "worked case": lambda: route_html.render(worked_case()),
    "no sp": lambda: route_html.render(crowded("dp=2,cp=2,tp=4")),
    "folded": lambda: route_html.render(crowded("dp=8,cp=32,tp=8,sp", rows=8, length=32768)),
    "nothing": lambda: route_html.render(view_of("tp=4", [], 64)),
    "512 ranks": lambda: route_html.render(_differing(128, 4)),
    "a pool of 512 ranks": lambda: route_html.render(_differing(128, 4, encoder_pool=128)),
    "8,192 ranks": lambda: route_html.render(_differing(512, 16)),
    "many micro-batches": lambda: batches_html.render(statistics(parse_mesh("dp=16,cp=2"), _many(300))),
    "meshes": lambda: batches_html.render_meshes(
        compare_meshes([parse_mesh("dp=16,cp=2"), parse_mesh("dp=16,cp=4,tp=2,sp")], _many(1))
    ),
}


def _replicas(number: int) -> list[dict[str, Any]]:
    """Return replicas of their own, every seventh without items, with ever larger ones."""
    return [
        {
            "items": [
                {
                    "item_id": 8 * at + row,
                    "batch_index": row,
                    "decoder_token_start": 40 * row,
                    "output_rows": 1 + (at * 37 + row * 101) % 300,
                    "input_rows": 4,
                }
                for row in range(at % 7)
            ]
        }
        for at in range(number)
    ]


def _differing(dp: int, cp: int, **fields: int) -> RouteView:
    return view_of(f"dp={dp},cp={cp}", [], 1024, replicas=_replicas(dp), link=Link(50.0, 10.0), **fields)


def _many(number: int) -> list[Workload]:
    data = {"sequence": {"length": 1024}, "replicas": _replicas(number + 16)}
    return [
        load_workload({**data, "replicas": data["replicas"][at : at + 16]}, Place("w"))
        for at in range(number)
    ]


WIDTHS = (360, 1280)

PROBE = """
<script>
function contrast(a, b) {
  function light(color) {
    const [red, green, blue] = color.match(/[0-9.]+/g).slice(0, 3).map(value => {
      value = value / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
  return (bright + 0.05) / (dark + 0.05);
}
function behind(element) {
  for (; element; element = element.parentElement) {
    const color = getComputedStyle(element).backgroundColor;
    if (!color.match(/, 0\\)$/) && color !== "transparent") return color;
  }
  return "rgb(255, 255, 255)";
}
window.addEventListener("load", () => {
  document.querySelectorAll("details").forEach(element => element.open = true);
  const wide = document.documentElement.clientWidth;
  const found = {width: wide, page: document.documentElement.scrollWidth, cut: [], outside: [], faint: []};
  for (const element of document.querySelectorAll("main *")) {
    const scrolled = element.closest(".scroll");
    const box = element.getBoundingClientRect();
    const text = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!text || element.closest("svg")) continue;
    if (!scrolled && (box.right > wide + 0.5 || box.left < -0.5))
      found.outside.push(element.outerHTML.slice(0, 200));
    if (element.clientWidth && element.scrollWidth > element.clientWidth + 1)
      found.cut.push(element.outerHTML.slice(0, 200));
    const range = document.createRange();
    range.selectNodeContents(element);
    if (element.matches(".piece") && range.getBoundingClientRect().width > box.width)
      found.cut.push(element.outerHTML.slice(0, 200));
    if (!element.matches(".piece") && contrast(getComputedStyle(element).color, behind(element)) < 4.5)
      found.faint.push(element.outerHTML.slice(0, 200));
  }
  for (const drawing of document.querySelectorAll("svg")) {
    // Labels of a plot stand beside it, in the margin of its figure.
    const frame = (drawing.matches(".plot") ? drawing.parentElement : drawing).getBoundingClientRect();
    for (const text of drawing.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5 || box.top < frame.top - 0.5
          || box.bottom > frame.bottom + 0.5) found.cut.push(text.textContent);
    }
    const number = drawing.querySelector(".number");
    if (!drawing.matches(".heat")) continue;
    found.squares = drawing.querySelectorAll("rect > title").length;
    found.size = number ? parseFloat(getComputedStyle(number).fontSize) : null;
  }
  found.tracks = [...document.querySelectorAll(".bar .track")].map(one => one.getBoundingClientRect().width);
  found.scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  found.paper = getComputedStyle(document.body).backgroundColor;
  const result = parent.document.createElement("pre");
  result.className = "found";
  result.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
  parent.document.body.append(result);
});
</script>
"""


def browse(folder: Path, url: str, *arguments: str) -> str:
    """Run the browser on a page and return what it prints."""
    assert BROWSER is not None
    finished = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}",
            *arguments, url,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def probe(folder: Path, text: str, *, dark: bool = False) -> list[dict[str, Any]]:
    """Lay a page out in frames of two widths, as browsers have no narrow windows; return what each finds."""
    page = html.escape(text.replace("</body>", PROBE + "</body>"))
    frames = "".join(
        f'<iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe>'
        for width in WIDTHS
    )
    outer = folder / "page.html"
    outer.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{frames}</body>", encoding="utf-8")
    printed = browse(folder, outer.as_uri(), "--dump-dom", *(["--force-dark-mode"] if dark else []))
    found = [
        json.loads(base64.b64decode(text))
        for text in re.findall(r'<pre class="found">([^<]*)</pre>', printed)
    ]
    assert sorted(one["width"] for one in found) == sorted(WIDTHS)
    return sorted(found, key=lambda one: int(one["width"]))


@pytest.mark.parametrize("name", ["folded", "512 ranks"])
def test_bars_of_a_page_are_of_one_length(tmp_path: Path, name: str) -> None:
    """A row is longer in one bar than in the next, as the numbers beside them differ in length."""
    for found in probe(tmp_path, PAGES[name]()):
        assert len(found["tracks"]) > 90
        assert max(found["tracks"]) - min(found["tracks"]) < 1


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut(tmp_path: Path, name: str, *, dark: bool) -> None:
    """The page does not scroll sideways; no text leaves its box or the window, or is too faint to read."""
    for found in probe(tmp_path, PAGES[name](), dark=dark):
        assert found["page"] <= found["width"]
        assert (found["cut"], found["outside"], found["faint"]) == ([], [], [])
        assert found["scheme"] == ("dark" if dark else "light")
        assert (found["paper"] == "rgb(255, 255, 255)") is not dark


def test_numbers_of_a_small_heat_map_can_be_read(tmp_path: Path) -> None:
    """On a phone the numbers in the squares keep their size; the drawing scrolls instead of shrinking."""
    found = probe(tmp_path, PAGES["no sp"]())[0]
    assert found["size"] >= 11
    assert found["squares"] > 8


def test_the_heat_map_alone_is_drawn(tmp_path: Path) -> None:
    """The SVG file opens as a picture of its own: a screenshot of it is not one colour."""
    drawing, picture = tmp_path / "heat.svg", tmp_path / "heat.png"
    drawing.write_text(route_svg.render(crowded("dp=2,cp=2,tp=4")), encoding="utf-8")
    browse(tmp_path, drawing.as_uri(), "--window-size=420,420", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    # A picture of one colour compresses to some hundred bytes.
    assert len(data) > 5_000
