"""Failure manners of `hpplan exec`: all ranks end in time, with the documented status and one message."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import sabotage
import yaml
from ranks import Ran, job, run_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKLOAD = {
    "feature_width": 16,
    "payloads": 2,
    "sequence": {"length": 32, "cp_layout": "zigzag"},
    "items": [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 10},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 20, "output_rows": 8},
        {"item_id": 2, "batch_index": 0, "decoder_token_start": 0, "output_rows": 2},
        {"item_id": 3, "batch_index": 0, "decoder_token_start": 16, "output_rows": 2},
    ],
    "buckets": [[0], [1], [2], [3]],
}
"""Each rank has rows: one without any learns the others' dtype first, and breaks off in another place."""
TIMEOUT = 60
"""Seconds, more than `run_command` has patience for: what ends a run must be noticed, not waited out."""

SILENCE = 8
"""Seconds after which ranks that say nothing are given up, where nothing else tells that they are lost."""

NEVER_CAME = f"rank {{}} did not come to the rendezvous within {SILENCE} s"


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Return the arguments of a run on four ranks."""
    path = tmp_path / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    return ["exec", str(path), "--mesh", "cp=2,tp=2,sp", "--iters", "2", "--timeout", str(TIMEOUT)]


@pytest.fixture
def short_arguments(arguments: list[str]) -> list[str]:
    """Return the arguments of such a run that does not wait long for ranks that say nothing."""
    return [*arguments[:-1], str(SILENCE)]


def _check(ran: list[Ran], status: int, message: str, lost: int | None = None) -> None:
    """Check that all ranks but the lost one ended, and alike, and that exactly one said why."""
    others = [one for rank, one in enumerate(ran) if rank != lost]
    assert [one.status for one in others] == [status] * len(others), ran
    assert all(one.stdout == "" for one in others)
    assert "".join(one.stderr for one in others) == f"Error: {message}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deed", "number", "lost"), [("kill", 1, 2), ("kill", 7, 0), ("exit", 1, 0), ("exit", 7, 2)]
)
def test_killed_or_gone_rank_is_named(
    tmp_path: Path, arguments: list[str], deed: str, number: int, lost: int
) -> None:
    """A rank that goes before its first collective or later must not leave the others waiting."""
    ran = run_command(job(4, tmp_path), [arguments] * 4, sabotage.at_collective, lost, number, deed)
    doing = "exchanging features"
    _check(ran, 3, f"rank {lost} is lost: it exited or died while the others were {doing}", lost)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 2])
def test_hanging_rank_is_named_and_ends_too(tmp_path: Path, short_arguments: list[str], lost: int) -> None:
    """A rank that hangs in Python is given up by the others, and ends itself when it hears of that."""
    ran = run_command(job(4, tmp_path), [short_arguments] * 4, sabotage.at_collective, lost, 7, "sleep")
    message = (
        f"rank {lost} is lost: it did not follow within {SILENCE} s while the others were exchanging features"
    )
    _check(ran, 3, message, lost)
    assert (ran[lost].status, ran[lost].stderr) == (3, "")


def test_bug_on_one_rank_ends_all(tmp_path: Path, arguments: list[str]) -> None:
    """The rank with the bug says 70 and shows its traceback; the others say whose bug ended them."""
    ran = run_command(job(4, tmp_path), [arguments] * 4, sabotage.at_collective, 3, 2, "raise")
    _check(ran, 3, "rank 3 failed with KeyError: 'a bug of the test'", 3)
    assert ran[3].status == 70
    assert "Traceback" in ran[3].stderr
    assert "this is a bug in hpplan" in ran[3].stderr


@pytest.mark.slow
def test_rank_lost_before_the_meeting_is_named(tmp_path: Path, short_arguments: list[str]) -> None:
    """A rank that joined and died must be told from one that is merely late."""
    ran = run_command(job(4, tmp_path), [short_arguments] * 4, sabotage.before_meeting, 2, "kill")
    _check(ran, 3, NEVER_CAME.format(2), 2)


@pytest.mark.slow
def test_rank_that_never_comes_is_named(tmp_path: Path, short_arguments: list[str]) -> None:
    """One host that was not started must be named by the ranks of the others."""
    ran = run_command(job(4, tmp_path)[:3], [short_arguments] * 3)
    _check(ran, 3, NEVER_CAME.format(3))


@pytest.mark.slow
def test_first_rank_that_never_comes_is_named(tmp_path: Path, short_arguments: list[str]) -> None:
    """Rank 0 judges whether all go together; without it somebody else must speak."""
    ran = run_command(job(4, tmp_path)[1:], [short_arguments] * 3)
    _check(ran, 3, NEVER_CAME.format(0))


@pytest.mark.slow
def test_another_version_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    """Two versions may plan or pack differently."""
    ran = run_command(job(4, tmp_path), [arguments] * 4, sabotage.other_version, 2)
    assert [one.status for one in ran] == [3] * 4
    assert "rank 2 on " in ran[0].stderr
    assert " runs hpplan 0.9.0, and rank 0 runs " in ran[0].stderr


@pytest.mark.slow
def test_other_routes_or_options_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    """Ranks that read different files, or count different iterations, would wait for each other."""
    row = [*arguments, "--granularity", "row"]
    ran = run_command(job(4, tmp_path), [arguments, arguments, row, arguments])
    assert [one.status for one in ran] == [3] * 4
    assert "has other routes than rank 0: their digests are sha256:" in ran[0].stderr
    for given, words in (
        (["--dtype", "float64"], "with --dtype float64, and rank 0 without --dtype"),
        (["--no-backward"], "with --no-backward, and rank 0 without --no-backward"),
    ):
        ran = run_command(job(4, tmp_path), [arguments, arguments, [*arguments, *given], arguments])
        assert [one.status for one in ran] == [3] * 4
        assert f"was started {words}" in ran[0].stderr
    more = [*arguments, "--warmup", "9"]
    ran = run_command(job(4, tmp_path), [arguments, arguments, arguments, more])
    assert [one.status for one in ran] == [3] * 4
    assert "was started with --warmup 9, and rank 0 with --warmup 3" in ran[0].stderr


@pytest.mark.slow
def test_what_is_wrong_on_one_host_is_said_once(tmp_path: Path, arguments: list[str]) -> None:
    """A file that is missing on one host, or broken on all, is one message and one status."""
    gone = [arguments[0], str(tmp_path / "gone.yaml"), *arguments[2:]]
    ran = run_command(job(4, tmp_path), [arguments, arguments, gone, arguments])
    assert [one.status for one in ran] == [2] * 4
    assert "rank 2 on " in ran[0].stderr
    assert "gone.yaml: there is no such file" in ran[0].stderr
    assert [one.stderr for one in ran[1:]] == [""] * 3
    broken = tmp_path / "broken.yaml"
    broken.write_text("items: 7\n", encoding="utf-8")
    ran = run_command(job(4, tmp_path), [[arguments[0], str(broken), *arguments[2:]]] * 4)
    assert [one.status for one in ran] == [1] * 4
    assert f"{broken}:1:8: " in ran[0].stderr
    assert [one.stderr for one in ran[1:]] == [""] * 3


@pytest.mark.slow
def test_wrong_world_size_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    """Two ranks cannot run routes for four."""
    ran = run_command(job(2, tmp_path), [arguments] * 2)
    assert [one.status for one in ran] == [2, 2]
    mesh = "the mesh cp=2,tp=2,sp has 4 ranks, and the job runs on 2"
    assert f"{arguments[1]}:1:1: HP406 error: {mesh}" in ran[0].stderr
    assert "start 4 ranks, or route for a mesh of 2" in ran[0].stderr
    assert ran[1].stderr == ""


@pytest.mark.slow
def test_missing_rendezvous_is_said_in_time(short_arguments: list[str]) -> None:
    """An address at which nobody listens, as when rank 0's host is down or the name is wrong."""
    environment = {
        "RANK": "1",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "9",
    }
    ran = run_command([environment], [short_arguments])
    _check(ran, 3, "rank 1 finds no rendezvous of rank 0 at 127.0.0.1:9: [Errno 111] Connection refused")


@pytest.mark.slow
def test_report_that_cannot_be_written_is_said_at_the_start(tmp_path: Path, arguments: list[str]) -> None:
    """Nobody wants to hear of it after the run; the other ranks must not wait either."""
    path = tmp_path / "no folder" / "report.json"
    ran = run_command(job(4, tmp_path), [[*arguments, "--report", str(path)]] * 4)
    _check(ran, 2, f"cannot write {path}: its folder is not there or not writable")


def test_failed_verification_is_status_1_with_findings(tmp_path: Path, arguments: list[str]) -> None:
    """A row that the network corrupts: the answer is no, with rank, item and row, once, and in the report."""
    report = tmp_path / "report.json"
    ran = run_command(job(4, tmp_path), [[*arguments, "--report", str(report)]] * 4, sabotage.corrupt, 1)
    assert [one.status for one in ran] == [1] * 4
    found = "HP511 error: rank 3 received item 1 row 7 of payload 0 wrong: it holds no row that was sent"
    assert f"{arguments[1]}:1:1: {found}\n" in ran[0].stderr
    places = [line.partition(": it holds ")[0] for line in ran[0].stderr.splitlines()]
    assert len(places) == len(set(places))
    assert "NO: " in ran[0].stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["verified"] is False
    assert data["mismatches"][0]["code"] == "HP511"
    assert [one.stdout + one.stderr for one in ran[1:]] == [""] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("culprit", "message"),
    [(1, "rank 1 was stopped (SIGTERM)"), (None, "the launcher stopped the job (SIGTERM)")],
)
def test_stopped_job_still_has_its_status(
    tmp_path: Path, arguments: list[str], culprit: int | None, message: str
) -> None:
    """Torchrun ends all ranks with SIGTERM; whoever ends one of them wants to hear of that one."""
    ran = run_command(job(4, tmp_path), [arguments] * 4, sabotage.at_collective, culprit, 7, "terminate")
    _check(ran, 3, message)


@pytest.mark.slow
def test_port_of_something_else_is_said_in_time(short_arguments: list[str]) -> None:
    """A web server, say, takes the connection and never answers as a store does."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        environment = {
            "LOCAL_RANK": "0",
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(other.getsockname()[1]),
        }
        ran = run_command([{**environment, "RANK": "0"}, {**environment, "RANK": "1"}], [short_arguments] * 2)
    assert [one.status for one in ran] == [3, 3]
    where = f"at 127.0.0.1:{environment['MASTER_PORT']}"
    assert ran[0].stderr.startswith(f"Error: rank 0 cannot hold the rendezvous {where}: another process has ")
    why = "what listens there does not answer as a store does"
    assert ran[1].stderr == f"Error: rank 1 finds no rendezvous of rank 0 {where}: {why}\n"


AGENT = """
import time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
time.sleep(600)
"""


@contextmanager
def _agent(folder: Path, world: int) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Hold a store as torchrun's agent does; yield that process's id, and the environment of each rank."""
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", AGENT], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": agent.stdout.readline().decode().strip()}
        try:
            yield agent.pid, job(world, folder, HPPLAN_STORE="", TORCHELASTIC_USE_AGENT_STORE="True", **where)
        finally:
            agent.kill()


@pytest.mark.slow
def test_ranks_do_not_outlive_a_killed_agent(tmp_path: Path, arguments: list[str]) -> None:
    """Ranks whose steps are quick never ask the store that torchrun held, and would run on for hours."""
    endless = [argument if argument != "2" else "1000000" for argument in arguments]
    with _agent(tmp_path, 4) as (agent, environments):
        ran = run_command(environments, [endless] * 4, sabotage.at_collective, 2, 7, "kill", agent)
    assert [one.status for one in ran] == [3] * 4
    (said,) = [one.stderr for one in ran if one.stderr]
    assert said == "Error: the rendezvous store does not answer: the launcher that holds it died or hangs\n"


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_one_rank_speaks_where_the_agent_hangs_before_all_have_met(
    tmp_path: Path, short_arguments: list[str], first: int
) -> None:
    """Ranks that have met, and those that have not, must not leave the last word to each other."""
    with _agent(tmp_path, 4) as (agent, environments):
        given = (first, agent, tmp_path / "stopped")
        ran = run_command(environments, [short_arguments] * 4, sabotage.between_rendezvous, *given)
    assert [one.status for one in ran] == [3] * 4
    (said,) = [rank for rank, one in enumerate(ran) if one.stderr]
    assert said == 0
    assert ran[0].stderr.count("Error: ") == 1
