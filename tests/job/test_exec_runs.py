"""`hpplan exec` where all goes well: every mode, options, the table and the report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from ranks import job, run_command

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = {
    "feature_width": 16,
    "sequence": {"length": 32, "cp_layout": "zigzag"},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 1, "decoder_token_start": 20, "output_rows": 8},
    ],
}


def _run(tmp_path: Path, mesh: str, world: int, *more: str, **fields: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - fields of a workload
    """Run a workload; check that only rank 0 speaks; return its table and its report."""
    path, report = tmp_path / "workload.yaml", tmp_path / "report.json"
    given = {**WORKLOAD, **fields}
    if "replicas" in fields:
        del given["items"]
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    timed = [] if "--iters" in more else ["--iters", "2", "--warmup", "1"]
    arguments = ["exec", str(path), "--mesh", mesh, *timed, "--timeout", "60", "--report", str(report), *more]
    ran = run_command(job(world, tmp_path), [arguments] * world)
    assert [one.status for one in ran] == [0] * world, ran
    assert [one.stderr for one in ran] == [""] * world
    assert [one.stdout for one in ran[1:]] == [""] * (world - 1)
    return ran[0].stdout, json.loads(report.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("mesh", "world", "mode", "granularity", "rows"),
    [
        ("cp=2,tp=2,sp", 4, "parent_variable_a2a", "record", 36),
        ("cp=2,tp=2,sp", 4, "parent_variable_a2a", "row", 18),
        # Without sp each of the 18 rows ends on two ranks.
        ("cp=2,tp=2", 4, "parent_variable_a2a", "once", 36),
        ("tp=2,sp", 2, "tp_variable_a2a", "record", 18),
        ("tp=3", 3, "tp_variable_all_gather", "record", 54),
        ("dp=2,pp=1", 2, "local", "row", 36),
        pytest.param("tp=2,dp=2,cp=2,sp", 8, "parent_variable_a2a", "row", 36, marks=pytest.mark.slow),
    ],
)
def test_every_mode_is_verified(
    tmp_path: Path, mesh: str, world: int, mode: str, granularity: str, rows: int
) -> None:
    """A mode or mesh whose rows do not arrive, or whose report says otherwise, would show here."""
    length = 48 if "tp=3" in mesh else 32
    sequence = {"length": length, "cp_layout": "zigzag"}
    table, report = _run(tmp_path, mesh, world, "--granularity", granularity, sequence=sequence)
    assert (report["verified"], report["world_size"], report["mode"]) == (True, world, mode)
    assert report["forward_ratio"] > 0
    assert report["backward_ratio"] > 0
    assert report["total"]["rows"] == rows
    assert table.startswith(f"{mode} on {mesh}, gloo on cpu\n")
    assert [rank["rank"] for rank in report["ranks"]] == list(range(world))
    assert all(rank["mismatch_count"] == 0 for rank in report["ranks"])


def test_report_adds_up(tmp_path: Path, root: Path) -> None:
    """Rows, bytes and times of a rank that are not what was sent would mislead whoever sizes a cluster."""
    table, report = _run(tmp_path, "cp=2", 2, payloads=2, dtype="float32", buckets=[[0, 1], []])
    # Row bytes: 16 columns x 4 bytes x 2 payloads. Zigzag over cp 2: rank 0 holds tokens 0-7 and 24-31,
    # rank 1 holds 8-23: item 0 (5-14) goes to both, and so does item 1 (20-27).
    schema = json.loads((root / "schemas" / "execution.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    first, second = report["ranks"]
    assert (first["rows_sent"], first["rows_received"], first["rows_kept"]) == (18, 0, 18)
    assert (second["rows_sent"], second["rows_received"], second["rows_kept"]) == (0, 18, 0)
    assert (first["bytes_sent"], second["bytes_received"]) == (18 * 128, 18 * 128)
    total = report["total"]
    assert (total["rows"], total["rows_leaving"], total["bytes_leaving"]) == (36, 18, 18 * 128)
    # Twice: rows that arrived and gradients that came back, of both payloads, before and after measuring.
    assert total["rows_verified"] == 2 * 2 * (36 + 18)
    assert first["algbw"] == pytest.approx(36 * 128 / first["forward_ms"] / 1e6, abs=1e-4)
    assert (report["dtype"], report["payloads"], report["feature_width"]) == ("float32", 2, 16)
    assert "verified          yes: 216 rows and gradients" in table


def test_options_leave_parts_out(tmp_path: Path) -> None:
    """--no-backward, --no-verify, --iters 0 and --dtype must do what they say, and the report say so."""
    table, report = _run(tmp_path, "cp=2", 2, "--no-backward", "--no-verify", "--dtype", "float16")
    assert (report["verified"], report["backward_ratio"], report["dtype"]) == (None, None, "float16")
    assert "not asked for" in table
    table, report = _run(tmp_path, "cp=2", 2, "--iters", "0")
    assert (report["verified"], report["forward_ratio"]) == (True, None)
    assert "forward / plain" not in table


def test_later_stages_wait_for_the_first(tmp_path: Path) -> None:
    """Ranks of the second pipeline stage exchange nothing, and must not hold up or outrun the others."""
    _, report = _run(tmp_path, "pp=2,cp=2", 4)
    assert (report["verified"], report["world_size"]) == (True, 4)
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1]


def test_no_images_at_all(tmp_path: Path) -> None:
    """A batch of text alone must run, and measure nothing by nothing."""
    _, report = _run(tmp_path, "cp=2,tp=2,sp", 4, items=[])
    assert (report["verified"], report["total"]["rows"], report["total"]["algbw"]) == (True, 0, 0.0)


def test_report_can_go_to_standard_output(tmp_path: Path) -> None:
    """`--report -` is JSON alone, for a program that reads it from a pipe."""
    path = tmp_path / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    arguments = ["exec", str(path), "--mesh", "cp=2", "--iters", "0", "--report", "-"]
    ran = run_command(job(2, tmp_path), [arguments] * 2)
    assert json.loads(ran[0].stdout)["verified"] is True
    assert ran[1].stdout == ""


def test_one_pool_alone_says_its_inputs(tmp_path: Path) -> None:
    """Whether inputs travel is a matter of each pool: taken from the first, exec fails or leaves them out."""
    item = {"item_id": 0, "batch_index": 0, "decoder_token_start": 1, "output_rows": 6}
    told, untold, empty = {"items": [{**item, "input_rows": 24}]}, {"items": [item]}, {"items": []}
    for replicas, rows in (([told, empty, untold, empty], 24), ([empty, empty, told, empty], 24)):
        _, report = _run(tmp_path, "dp=4", 4, "--iters", "0", encoder_pool=2, replicas=replicas)
        # Features of 6 rows arrive and their gradients come back, of each item; inputs of one.
        items = sum(len(replica["items"]) for replica in replicas)
        assert report["total"]["rows_verified"] == items * 2 * 6 + rows


def test_links_are_measured_and_predict(tmp_path: Path, root: Path) -> None:
    """A job that measures its links ends otherwise than with a document from which times follow."""
    links = tmp_path / "links.yaml"
    ran = run_command(job(2, tmp_path), [["exec", "--calibrate", "-o", str(links)]] * 2)
    assert [(one.status, one.stdout, one.stderr) for one in ran] == [(0, "", "")] * 2
    schema = json.loads((root / "schemas" / "links.schema.json").read_text(encoding="utf-8"))
    measured = yaml.safe_load(links.read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(measured)
    assert measured["ranks_per_node"] == 2
    assert "between_nodes" not in measured
    (tmp_path / "run").mkdir()
    table, report = _run(tmp_path / "run", "cp=2", 2, "--links", str(links))
    for way in ("forward", "backward"):
        assert report[f"predicted_{way}_seconds"] > 0
        assert report[f"{way}_seconds"] == pytest.approx(report["total"][f"{way}_ms"] / 1e3, abs=1e-5)
        assert f"predicted {way}" in table


def test_a_rank_alone_has_no_links(tmp_path: Path) -> None:
    """A figure about links that were not there."""
    ran = run_command(job(1, tmp_path), [["exec", "--calibrate"]])
    assert (ran[0].status, ran[0].stdout) == (2, "")
    assert "one rank alone has no links" in ran[0].stderr


def test_ranks_calibrate_together(tmp_path: Path) -> None:
    """One rank measures links while another runs routes."""
    path = tmp_path / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    ran = run_command(job(2, tmp_path), [["exec", "--calibrate"], ["exec", str(path), "--mesh", "cp=2"]])
    assert [one.status for one in ran] == [3, 3]
    said = "".join(one.stderr for one in ran)
    assert "was started without --calibrate, and rank 0 with --calibrate" in said
