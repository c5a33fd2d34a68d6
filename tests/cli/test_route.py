"""`hpplan route`: inputs, formats, exports, refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hpplan.cli.routing_options import RouteOptions
from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document, read_document
from hpplan.reports.route.formats import FORMATS, format_of
from hpplan.reports.route.rank import rank_text
from hpplan.reports.route.text import render
from hpplan.reports.route.view import RouteView
from hpplan.reports.terminal.screen import Screen
from hpplan.routing.assignment import POLICIES
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_document import load_routes
from hpplan.routing.traffic import Link
from hpplan.workload.layouts import LAYOUTS
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from conftest import ProcessRunner, Runner

WORKLOAD = """\
feature_width: 2048
payloads: 4
sequence: {length: 32, cp_layout: zigzag}
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
- {item_id: 1, batch_index: 0, decoder_token_start: 20, output_rows: 8}
buckets: [[0], [1], [], []]
"""
PLAN = """\
param_plan: {}
boundary_classes: {}
parallel_dims: {cp_size: 2, tp_size: 2, sequence_parallel: true}
"""
MESH = ("--mesh", "cp=2,tp=2,sp")

EXPECTED = """\
balance  rank 0 encodes 2.22 times the mean of 4 producers, 2 encode nothing; its largest is item 0, 10 rows
cost     294.9 kB leave their rank; the busiest rank moves 163.8 kB, features in 13.3 us
change   --granularity row: 2.22 times the mean, 180.2 kB leave their rank, the busiest moves 114.7 kB

mesh         cp=2,tp=2,sp: 4 ranks, 1 parent of 4 ranks
mode         parent_variable_a2a: cp is above 1, so the tokens of an item lie all over the cp x tp block
granularity  record
sequence     32 tokens, zigzag; 8 a rank
features     4 x 2048 bfloat16: 16,384 bytes a row
items        2 items, 18 rows
producers    4 a parent, encoder cp 1, filled as the input says

Rows per rank
rank  cp,tp  items  encoded  sent  received  kept  send buf  recv buf
   0    0,0      1       10    10         0    10  327.7 kB  163.8 kB
   1    0,1      1        8     8         0     8  262.1 kB  131.1 kB
   2    1,0      0        0     0        10     0       0 B  163.8 kB
   3    1,1      0        0     0         8     0       0 B  131.1 kB

Splits in rows, by parent rank
rank  input splits (to)  output splits (from)
   0  10 0 10 0          10 0 0 0
   1  0 8 0 8            0 8 0 0
   2  0 0 0 0            10 0 0 0
   3  0 0 0 0            0 8 0 0

Rows from rank (line) to rank (column)
      0     1     2     3
0  █ 10     0  █ 10     0
1     0   █ 8     0   █ 8
2     0     0     0     0
3     0     0     0     0
blank: none, ░ up to 2, ▒ up to 5, ▓ up to 7, █ up to 10

arrive in all     36 rows, 589.8 kB
leave their rank  18 rows, 294.9 kB
least that must   11 rows, 180.2 kB; row granularity saves 7 rows, 114.7 kB (38.9%)
largest sender    rank 0: 10 rows, 163.8 kB, 2.22 times the mean
largest receiver  rank 2: 10 rows, 163.8 kB, 2.22 times the mean
producer load     rank 0: 10 rows; bound 10, mean 4.5, 1.00 times the bound
largest buffer    327.7 kB on one side of a rank
estimated time    13.3 us at 50 GB/s and 10 us, for the busiest rank

Warnings
HP436  2 items for 4 producers, and ranks 2, 3 encode none
HP438  rank 2 receives 10 rows from others, 2.2 times the mean
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory of the test, with a workload and a plan."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch.yaml").write_text(WORKLOAD, encoding="utf-8")
    (tmp_path / "plain.yaml").write_text(WORKLOAD.partition("buckets")[0], encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    indented = "".join(f"  {line}\n" for line in WORKLOAD.splitlines())
    (tmp_path / "full.yaml").write_text(f"{PLAN}feature_exchange:\n{indented}", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_table(hpplan: Runner) -> None:
    """What people read changed; look at it, and then correct the test."""
    result = hpplan("route", "batch.yaml", *MESH, "--bandwidth", "50", "--latency", "10")
    assert (result.status, result.stdout) == (0, EXPECTED)
    assert result.stderr == (
        "batch.yaml:5:1: HP438 warning: rank 2 receives 10 rows from others, 2.2 times the mean\n"
        "batch.yaml:7:10: HP436 info: 2 items for 4 producers, and ranks 2, 3 encode none\n"
        "  hint: with `encoder_cp_size: 2` all encode, where the encoder can share out an item\n"
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["json", "yaml"])
def test_documents_read_back(hpplan: Runner, name: str) -> None:
    """A table that was written cannot be shown or run."""
    result = hpplan("route", "batch.yaml", *MESH, "--format", name, "-o", "table")
    assert (result.status, result.stdout) == (0, "")
    table = load_routes(read_document("table"))
    assert table.parents[0].routes.matrix() == [[10, 0, 10, 0], [0, 8, 0, 8], [0] * 4, [0] * 4]
    again = hpplan("route", "table", "--format", name)
    assert (again.status, again.stdout) == (0, Path("table").read_text(encoding="utf-8"))
    shown = hpplan("route", "table", "--bandwidth", "50", "--latency", "10")
    assert shown.stdout == EXPECTED


@pytest.mark.usefixtures("folder")
def test_plan_brings_its_mesh(hpplan: Runner) -> None:
    """A plan is routed on another mesh than its own, or --mesh does not win."""
    own = json.loads(hpplan("route", "full.yaml", "--format", "json").stdout)
    assert own["mesh"]["axes"] == {"pp": 1, "dp": 1, "cp": 2, "tp": 2}
    assert own["mesh"]["sp"] is True
    other = json.loads(hpplan("route", "full.yaml", "--mesh", "cp=4", "--format", "json").stdout)
    assert other["mesh"]["axes"] == {"cp": 4}
    apart = json.loads(hpplan("route", "plan.yaml", "--workload", "batch.yaml", "--format", "json").stdout)
    assert apart["digest"] == own["digest"]


@pytest.mark.usefixtures("folder")
def test_options_change_the_routes(hpplan: Runner) -> None:
    """An option is read and ignored."""

    def rows(*options: str) -> int:
        found: int = json.loads(hpplan("route", "batch.yaml", "--format", "json", *options).stdout)[
            "traffic"
        ]["rows"]
        return found

    assert rows(*MESH) == 36
    assert rows(*MESH, "--granularity", "row") == 18
    assert rows("--mesh", "cp=4") == 46
    assert rows("--mesh", "cp=4", "--cp-layout", "contiguous") == 10 * 2 + 8 * 2
    Path("batch.yaml").write_text(WORKLOAD.replace("length: 32", "length: 30"), encoding="utf-8")
    refused = hpplan("route", "batch.yaml", *MESH)
    assert refused.status == 1
    assert "HP431" in refused.stderr
    assert "or set `pad: true`, or route with --pad" in refused.stderr
    assert rows(*MESH, "--pad") == 36
    Path("batch.yaml").write_text(WORKLOAD.partition("buckets")[0], encoding="utf-8")
    assigned = json.loads(
        hpplan("route", "batch.yaml", *MESH, "--assign", "round-robin", "--format", "json").stdout
    )
    assert assigned["parents"][0]["buckets"] == [[0], [1], [], []]
    assert "assigned by local" in hpplan("route", "batch.yaml", *MESH, "--assign", "local").stdout


@pytest.mark.usefixtures("folder")
def test_csv(hpplan: Runner) -> None:
    """A spreadsheet gets other numbers than the table shows."""
    text = hpplan("route", "batch.yaml", *MESH, "--format", "csv").stdout
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [(one["rank"], one["rows_sent"], one["rows_received"], one["rows_kept"]) for one in lines] == [
        ("0", "10", "0", "10"),
        ("1", "8", "0", "8"),
        ("2", "0", "10", "0"),
        ("3", "0", "8", "0"),
    ]
    assert lines[2]["receive_buffer_bytes"] == str(10 * 2048 * 4 * 2)


@pytest.mark.usefixtures("folder")
def test_one_rank(hpplan: Runner) -> None:
    """One rank's part differs from the routes, or cannot be read."""
    options = ("route", "batch.yaml", *MESH, "--granularity", "row", "--rank", "2")
    data = json.loads(hpplan(*options, "--format", "json").stdout)
    assert data["tokens"] == [[8, 16]]
    assert data["receives"] == [[0, 0, 3, 10]]
    assert data["hand_over"] == [[0, 3, 10, 0]]
    assert data["positions"] == [0, 1, 2, 3, 4, 5, 6]
    assert data["output_splits"] == [7, 0, 0, 0]
    assert yaml.safe_load(hpplan(*options, "--format", "yaml").stdout) == data
    lines = hpplan(*options, "--format", "csv").stdout.splitlines()
    assert lines[1:] == ["receive,0,0,3,10,0", "hand_over,,0,3,10,0"]
    text = hpplan(*options).stdout
    assert "holds          tokens 8 to 15\n" in text
    assert "Sends, in wire order: nothing\n" in text


@pytest.mark.usefixtures("folder")
def test_every_rank(hpplan: Runner) -> None:
    """What --rank all says of a rank is not what --rank R says of it, or leaves a rank out."""
    mesh = ("--mesh", "pp=2,cp=2,tp=2,sp")

    def shown(rank: str, name: str) -> str:
        return hpplan("route", "batch.yaml", *mesh, "--rank", rank, "--format", name).stdout

    alone = [json.loads(shown(str(rank), "json")) for rank in range(8)]
    assert json.loads(shown("all", "json")) == yaml.safe_load(shown("all", "yaml")) == {"ranks": alone}
    lines = shown("all", "csv").splitlines()
    assert lines == [
        f"{rank},{line}" if rank >= 0 else f"rank,{line}"
        for rank in range(-1, 8)
        for line in shown(str(max(rank, 0)), "csv").splitlines()[rank >= 0 : None if rank >= 0 else 1]
    ]
    text = shown("all", "table")
    assert text.count("granularity") == 1
    assert [line.split()[1] for line in text.splitlines() if line.startswith("rank ")] == [
        "0:", "1:", "2:", "3:", "4:", "5:", "6:", "7:",
    ]  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_rank_of_a_later_stage(hpplan: Runner) -> None:
    """A rank that does not exchange is shown with another's routes, or ends in a traceback."""
    result = hpplan("route", "batch.yaml", "--mesh", "pp=2,cp=2,tp=2,sp", "--rank", "5")
    assert result.status == 0
    assert "on pipeline stage 1; only stage 0 exchanges" in result.stdout
    data = json.loads(
        hpplan("route", "batch.yaml", "--mesh", "pp=2,cp=4", "--rank", "7", "--format", "json").stdout
    )
    assert data["exchanges"] is False


@pytest.mark.usefixtures("folder")
def test_nccl_matrix(hpplan: Runner) -> None:
    """nccl-tests reads other bytes, or a matrix that is not square, or in parent ranks."""
    text = hpplan("route", "batch.yaml", "--mesh", "tp=2,cp=2,sp,pp=1", "--export", "nccl-matrix").stdout
    matrix = [[int(cell) for cell in line.split()] for line in text.splitlines()]
    row = 2048 * 4 * 2
    # Parent rank 1 is global rank 2 here, and parent rank 2 global rank 1.
    assert matrix == [[10 * row, 10 * row, 0, 0], [0] * 4, [0, 0, 8 * row, 8 * row], [0] * 4]
    later = hpplan("route", "batch.yaml", "--mesh", "pp=2,cp=2,tp=2,sp", "--export", "nccl-matrix").stdout
    assert [line.split() for line in later.splitlines()][4:] == [["0"] * 8] * 4


@pytest.mark.usefixtures("folder")
def test_param_traces(hpplan: Runner) -> None:
    """A rank's trace has other splits than its routes, so that its replay hangs."""
    one = json.loads(hpplan("route", "batch.yaml", *MESH, "--export", "param", "--rank", "0").stdout)
    (exchange,) = [entry for entry in one if entry["comms"] == "all_to_allv"]
    assert exchange["in_split"] == [10 * 8192, 0, 10 * 8192, 0]
    assert exchange["in_msg_size"] == sum(exchange["in_split"])
    assert exchange["out_msg_size"] == sum(exchange["out_split"]) == 10 * 8192
    assert exchange["dtype"] == "BFloat16"
    assert hpplan("route", "batch.yaml", *MESH, "--export", "param", "-o", "traces").status == 0
    traces = [json.loads(Path("traces", f"{rank}.json").read_text(encoding="utf-8")) for rank in range(4)]
    assert traces[0] == one
    splits = [entry for trace in traces for entry in trace if entry["comms"] == "all_to_allv"]
    sent = [entry["in_split"] for entry in splits]
    assert [entry["out_split"] for entry in splits] == [list(column) for column in zip(*sent, strict=True)]
    # Everybody makes the same process groups, whatever it does in them.
    assert all(trace[0] == one[0] for trace in traces)


REFUSALS: list[tuple[list[str], int, str]] = [
    (["batch.yaml"], 2, "add --mesh dp=2,cp=2,tp=4,sp"),
    (["plan.yaml"], 1, "HP435"),
    (["batch.yaml", *MESH, "--workload", "batch.yaml"], 2, "is a workload itself"),
    (["batch.yaml", "--mesh", "cp=2,xp=2"], 2, "--mesh:1:6: HP402 error: `xp` is no axis"),
    (
        ["batch.yaml", *MESH, "--assign", "best"],
        2,
        "'best' is none of lpt, round-robin, contiguous, local",
    ),
    (["batch.yaml", *MESH, "--granularity", "token"], 2, "'token' is none of record, row"),
    (["batch.yaml", *MESH, "--cp-layout", "striped"], 2, "'striped' is none of contiguous, zigzag"),
    (["batch.yaml", *MESH, "--format", "xml"], 2, "'xml' is none of table, json, yaml, csv"),
    (["batch.yaml", *MESH, "--rank", "4"], 2, "the mesh has ranks 0 to 3"),
    (["batch.yaml", *MESH, "--rank", "-1"], 2, "-1 is not in the range x>=0"),
    (["batch.yaml", *MESH, "--rank", "1.0"], 2, "'1.0' is not a valid"),
    (["batch.yaml", *MESH, "--rank", "9" * 5000], 2, "is not a valid"),
    (["batch.yaml", *MESH, "--rank", "all", "--format", "svg"], 2, "leave out --rank"),
    (
        ["plain.yaml", "--mesh", "cp=128,tp=64,sp", "--pad", "--rank", "all"],
        2,
        "what all 8,192 ranks do is too much to list; give --rank R for one",
    ),
    (["batch.yaml", *MESH, "--bandwidth", "0"], 2, "not a positive number"),
    (["batch.yaml", *MESH, "--bandwidth", "nan"], 2, "not a positive number"),
    (["batch.yaml", *MESH, "--bandwidth", "5e-324", "--format", "json"], 2, "5e-324 GB/s is no link's"),
    (["batch.yaml", *MESH, "--bandwidth", "1e400"], 2, "inf GB/s is no link's; take 1e-06 to 1e+06"),
    (["batch.yaml", *MESH, "--bandwidth", "1", "--latency", "nan"], 2, "nan is not a number of microsec"),
    (["batch.yaml", *MESH, "--bandwidth", "1", "--latency", "-1"], 2, "not a number of microseconds"),
    (["batch.yaml", *MESH, "--latency", "1"], 2, "add --bandwidth"),
    (["batch.yaml", *MESH, "--rank", "3", "--bandwidth", "3"], 2, "--bandwidth is not for --rank; leave it"),
    (
        ["batch.yaml", *MESH, "--rank", "all", "--ranks-per-node", "3"],
        2,
        "--ranks-per-node is not for --rank",
    ),
    (["batch.yaml", *MESH, "--export", "nccl-matrix", "--bandwidth", "3"], 2, "is not for --export"),
    (["batch.yaml", *MESH, "--format", "csv", "--bandwidth", "3"], 2, "is not for --format csv"),
    (["batch.yaml", *MESH, "-o", "a.json", "--ranks-per-node", "2"], 2, "is not for --format json"),
    (
        ["batch.yaml", *MESH, "--bandwidth", "3", "--ranks-per-node", "2", "--node-bandwidth", "9"],
        2,
        "--node-bandwidth is for --compare",
    ),
    (["batch.yaml", *MESH, "--load-factor", "3"], 2, "--load-factor is for --assign local"),
    (
        ["plain.yaml", *MESH, "--assign", "lpt", "--load-factor", "3"],
        2,
        "--load-factor is for --assign local",
    ),
    (["batch.yaml", *MESH, "--rank", "foo"], 2, "'foo' is not a valid rank; give a number from 0, or all"),
    (["batch.yaml", *MESH, "--export", "param"], 2, "add --rank R, or -o FOLDER"),
    (["batch.yaml", *MESH, "--export", "param", "-o", "plan.yaml"], 2, "cannot make the folder plan.yaml"),
    (["batch.yaml", *MESH, "--export", "nccl-matrix", "--rank", "0"], 2, "leave out --rank"),
    (["batch.yaml", *MESH, "--export", "nccl-matrix", "--format", "csv"], 2, "leave out --format"),
    (
        ["batch.yaml", "--mesh", "dp=4096,cp=2,tp=2,sp", "--export", "param", "-o", "out"],
        2,
        "too many to write",
    ),
    (["batch.yaml", "--mesh", "dp=4096,cp=2,tp=2,sp", "--export", "nccl-matrix"], 2, "too large to write"),
    (["-", *MESH, "--workload", "-"], 2, "only once"),
    (["missing.yaml", *MESH], 2, "missing.yaml"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "status", "says"), REFUSALS, ids=[" ".join(one[0]) for one in REFUSALS]
)
def test_refusals(hpplan: Runner, arguments: list[str], status: int, says: str) -> None:
    """A request that cannot be met ends with another status, without saying what to do, or half done."""
    result = hpplan("route", *arguments)
    assert (result.status, result.stdout) == (status, "")
    assert says in " ".join(result.stderr.split())


@pytest.mark.usefixtures("folder")
def test_mesh_and_workload_are_both_reported(hpplan: Runner) -> None:
    """People correct the mesh, and then learn that the workload is wrong as well."""
    Path("bad.yaml").write_text(WORKLOAD.replace("item_id: 1", "item_id: 0"), encoding="utf-8")
    result = hpplan("route", "bad.yaml", "--mesh", "tp=0")
    assert result.status == 2
    assert "--mesh:1:4: HP404" in result.stderr
    assert "bad.yaml:6:13: HP418" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_table_is_planned_already(hpplan: Runner) -> None:
    """Options that cannot have an effect on a table are taken without a word."""
    hpplan("route", "batch.yaml", *MESH, "-o", "routes.json")
    for option in (MESH, ("--granularity", "row"), ("--pad",), ("--assign", "lpt")):
        result = hpplan("route", "routes.json", *option)
        assert result.status == 2
        assert f"leave out {option[0]}" in result.stderr
    text = Path("routes.json").read_text(encoding="utf-8")
    Path("routes.json").write_text(
        text.replace('"feature_width": 2048', '"feature_width": 1024'), encoding="utf-8"
    )
    assert "HP502" in hpplan("route", "routes.json").stderr


def test_format_by_name_of_the_file() -> None:
    """A file called .json gets a table for people in it."""
    names = {"a.json": "json", "a.yml": "yaml", "a.csv": "csv", "a.txt": "table", None: "table"}
    for path, name in names.items():
        assert format_of(None, path).name == name
    assert format_of("csv", "a.json").name == "csv"


def test_help_names_all_there_is(hpplan: Runner) -> None:
    """A format, policy or layout was added that --help does not know."""
    text = " ".join(hpplan("route", "--help").stdout.split())
    for one in (*FORMATS, *POLICIES, *LAYOUTS):
        assert one.name in text
    assert set(RouteOptions().given()) == set()


def views() -> list[RouteView]:
    """Return a small table, one of 32 ranks, and one that is folded, each with everything switched on."""
    found: list[RouteView] = []
    for mesh in ("cp=2,tp=2,sp", "cp=4,tp=8", "cp=64,tp=8,sp", "dp=2,cp=4,tp=16"):
        items: list[dict[str, Any]] = [
            {"item_id": n, "batch_index": 0, "decoder_token_start": 900 * n, "output_rows": 800}
            for n in range(70)
        ]
        data = {"feature_width": 2048, "sequence": {"length": 65536, "cp_layout": "zigzag"}, "items": items}
        table = plan_routes(parse_mesh(mesh), load_workload(data, Place("w")))
        found.append(RouteView(table, "lpt", Link(50.0, 10.0), 8))
    return found


def test_text_fits_a_terminal() -> None:
    """Lines wrap on a terminal of 80 columns."""
    for view in views():
        screen = Screen(80)
        for text in (render(view, screen), rank_text(view, 1, screen)):
            assert max(map(len, text.splitlines())) <= 80
            assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_same_bytes_under_any_hash_seed(hpplan_process: ProcessRunner) -> None:
    """The order of a set shows in the output."""
    Path("batch.yaml").write_text(WORKLOAD.partition("buckets")[0], encoding="utf-8")
    for arguments in (("--format", "json", "--assign", "local"), ("--mesh", "cp=4")):
        runs = {
            hpplan_process("route", "batch.yaml", *MESH, *arguments, PYTHONHASHSEED=seed)
            for seed in ("0", "1")
        }
        assert len(runs) == 1


@pytest.mark.usefixtures("folder")
def test_names_from_documents_are_no_markup(hpplan: Runner) -> None:
    """A file name or a field is taken for markup, or its control characters reach the terminal."""
    Path("[red]x.yaml").write_text(WORKLOAD + "'[b]\\x1b': 1\n", encoding="utf-8")
    result = hpplan("route", "[red]x.yaml", *MESH)
    assert result.status == 0
    assert "[red]x.yaml:8:1: HP413 warning: the field `[b]" in result.stderr
    assert "\x1b" not in result.stderr + result.stdout


def test_samples_route_on_the_mesh_they_name(hpplan: Runner, root: Path) -> None:
    """A sample does not run on the mesh in its header, or its rows are not those of its grids."""
    samples = sorted((root / "sample_plans" / "workloads").glob("*.yaml"))
    assert len(samples) == 4
    for path in samples:
        text = path.read_text(encoding="utf-8")
        mesh = text.partition("# Mesh: ")[2].partition("\n")[0]
        result = hpplan("route", str(path), "--mesh", mesh)
        assert result.status == 0
        workload = load_workload(parse_document(text.encode(), "w").data, Place("w"))
        grids = [line.partition("# grid ")[2].split(" x ") for line in text.splitlines() if "# grid " in line]
        products = [int(t) * int(h) * int(w) // 4 for t, h, w in grids]
        assert products == [item.rows for batch in workload.batches for item in batch.items]


@pytest.mark.parametrize("command", ["route", "compile", "exec"])
@pytest.mark.parametrize("factor", ["nan", "inf", "-inf", "0.99", "x"])
def test_load_factor_is_a_finite_number(hpplan: Runner, tmp_path: Path, command: str, factor: str) -> None:
    """A load factor that is no number ends in a traceback, or is taken."""
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD)
    out = ["-o", str(tmp_path / "out")] if command == "compile" else []
    result = hpplan(command, str(path), *MESH, "--assign", "local", "--load-factor", factor, *out)
    assert (result.status, result.stdout) == (2, "")
    assert "--load-factor" in result.stderr
    assert "Traceback" not in result.stderr


def test_warnings_are_shown_once_on_a_terminal(
    hpplan: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal shows each warning twice, or a pipe leaves the person without any."""
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD + "note: 1\n")
    piped = hpplan("route", str(path), *MESH)
    assert "`note`" in piped.stdout
    assert "`note`" in piped.stderr
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    shown = hpplan("route", str(path), *MESH)
    assert "`note`" in shown.stdout
    assert "`note`" not in shown.stderr
    assert "`note`" in hpplan("route", str(path), *MESH, "--rank", "0").stderr


def test_owners_left_out_and_counts_in_words(hpplan: Runner, tmp_path: Path) -> None:
    """Messages speak of `rank 1, 2` or of `1 replicas`."""
    path = tmp_path / "w.yaml"
    path.write_text(WORKLOAD.replace("zigzag}", "contiguous}") + "destinations: {0: [3]}\n")
    assert "parent ranks 0, 1, which hold some" in " ".join(hpplan("route", str(path), *MESH).stderr.split())
    path.write_text("sequence: {length: 8}\nreplicas: [{items: []}]\n")
    assert "has 1 replica, and the mesh dp=2" in hpplan("route", str(path), "--mesh", "dp=2").stderr


def test_a_file_where_a_folder_belongs(hpplan: Runner, tmp_path: Path) -> None:
    """The message is the operating system's."""
    path, other = tmp_path / "w.yaml", tmp_path / "other"
    path.write_text(WORKLOAD)
    other.write_text("")
    for target, words in ((other, "a file of that name"), (other / "x", "a part of its path is a file")):
        result = hpplan("route", str(path), *MESH, "--export", "param", "-o", str(target))
        assert result.status == 2
        assert words in result.stderr
