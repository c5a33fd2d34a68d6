"""`hpplan exec` as a command: what it needs, what it says outside a job, and its launchers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from hpplan.job.worker import Callbacks, Outcome

if TYPE_CHECKING:
    from conftest import ProcessRunner, Runner

WORKLOAD = {
    "feature_width": 16,
    "sequence": {"length": 32},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 5, "output_rows": 20}],
}

# An interpreter in which torch cannot be found, as where it is not installed.
WITHOUT_TORCH = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find(name, package)
sys.modules["torch"] = None
from hpplan.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture
def workload(tmp_path: Path) -> str:
    """Return the path of a workload."""
    path = tmp_path / "workload.yaml"
    path.write_text(yaml.safe_dump(WORKLOAD), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def _outside_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_outside_a_job_it_says_what_to_type(hpplan: Runner, workload: str) -> None:
    """Somebody who has never used torchrun must be able to go on from the message alone."""
    result = hpplan("exec", workload, "--mesh", "cp=2,tp=2,sp")
    assert (result.status, result.stdout) == (2, "")
    assert f"    hpplan exec {workload} --mesh cp=2,tp=2,sp --launch 4\n" in result.stderr
    assert f"    torchrun --nproc-per-node 4 -m hpplan exec {workload} --mesh cp=2,tp=2,sp\n" in result.stderr


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"RANK": "0", "WORLD_SIZE": "2"}, "not LOCAL_RANK, MASTER_ADDR, MASTER_PORT"),
        (
            {"RANK": "2", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"},
            "RANK=2 of WORLD_SIZE=2",
        ),
        (
            {"RANK": "x", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"},
            "RANK='x', which is no whole number",
        ),
    ],
)
def test_half_a_job_is_refused(
    hpplan: Runner, workload: str, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], words: str
) -> None:
    """A job set up by hand with a variable forgotten or wrong would hang, or end in a traceback."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = hpplan("exec", workload, "--mesh", "cp=2")
    assert (result.status, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_report_holds_the_report_alone(
    hpplan: Runner, workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What collectives write to standard output (NCCL does, where it is asked to tell) breaks the JSON."""

    def run(_job: object, _settings: object, callbacks: Callbacks) -> Outcome:
        print("from Python")  # noqa: T201 - what is tested
        os.write(1, b"from below\n")
        callbacks.publish({"verified": True})
        return Outcome(0)

    job = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "here", "MASTER_PORT": "29500"}
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("hpplan.job.worker.run_worker", run)
    result = hpplan("exec", workload, "--mesh", "cp=1", "--report", "-")
    assert result.status == 0, result.stderr
    assert json.loads(result.stdout) == {"verified": True}
    assert sorted(result.stderr.splitlines()) == ["from Python", "from below"]


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "soon", "100000"])
def test_timeout_is_a_number_of_seconds(hpplan: Runner, workload: str, value: str) -> None:
    """A time limit that never runs out, or has run out already, lets ranks hang or fall."""
    result = hpplan("exec", workload, "--mesh", "cp=2", "--launch", "2", "--timeout", value)
    assert (result.status, result.stdout) == (2, "")
    assert "'--timeout'" in result.stderr


def test_launcher_refuses_what_cannot_run(hpplan: Runner, workload: str, tmp_path: Path) -> None:
    """Wrong input or a wrong number of workers is said once, before any worker starts."""
    result = hpplan("exec", workload, "--mesh", "cp=4", "--launch", "2")
    assert (result.status, result.stderr.count("HP406 error")) == (2, 1)
    assert "the mesh cp=4 has 4 ranks, and the job runs on 2" in result.stderr
    broken = tmp_path / "broken.yaml"
    broken.write_text("sequence: 3\n", encoding="utf-8")
    result = hpplan("exec", str(broken), "--mesh", "cp=2", "--launch", "2")
    assert result.status == 1
    assert "broken.yaml:1:11: " in result.stderr
    result = hpplan("exec", str(tmp_path / "gone.yaml"), "--mesh", "cp=2", "--launch", "2")
    assert result.status == 2


def test_report_does_not_take_the_place_of_its_input(hpplan: Runner, workload: str) -> None:
    """A slip of the completion key must not cost somebody their workload."""
    result = hpplan("exec", workload, "--mesh", "cp=2", "--launch", "2", "--report", workload)
    assert (result.status, result.stdout) == (2, "")
    assert f"--report {workload} would overwrite what is read from it" in result.stderr
    plan = str(Path(workload).with_name("plan.yaml"))
    result = hpplan(
        "exec", plan, "--workload", workload, "--mesh", "cp=2", "--launch", "2", "--report", workload
    )
    assert result.status == 2
    assert f"--report {workload} would overwrite" in result.stderr


@pytest.mark.slow
def test_backend_and_device_must_go_together(hpplan_process: ProcessRunner, workload: str) -> None:
    """NCCL on a CPU, or an accelerator that is not there, is wrong on every rank and said once."""
    arguments = ("exec", workload, "--mesh", "tp=1", "--launch", "1")
    result = hpplan_process(*arguments, "--backend", "nccl", "--device", "cpu")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == "Error: --backend nccl does not run on --device cpu\n"


def test_without_torch_it_says_what_to_install(workload: str) -> None:
    """Everything but exec itself works without torch; exec says what is missing, not a traceback."""

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH, *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, **environment},
            timeout=60,
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    status, text = run("exec", "--help")
    assert status == 0
    assert "--launch" in text
    install = "which is not installed; in the folder of hpplan, type: python -m pip install '.[exec]'\n"
    needed = f"Error: exec needs PyTorch, {install}"
    assert run("exec", workload, "--mesh", "tp=1", "--launch", "1") == (2, needed)
    job = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    assert run("exec", workload, "--mesh", "tp=1", **job) == (2, needed)


def test_the_library_without_torch_says_what_to_install() -> None:
    """A trainer's first import ends in the bowels of hpplan, and no word on what is missing."""
    program = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from hpplan.exchange import InvalidInput, UnusableRequest\n"
        "try:\n"
        "    from hpplan.exchange import FeatureExchange\n"
        "except ImportError as error:\n"
        "    print(error.name, error, sep=': ')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == (
        "torch: FeatureExchange needs PyTorch, which is not installed; "
        "in the folder of hpplan, type: python -m pip install '.[exec]'\n"
    )


# Says what is typed on a machine without an accelerator, and what that comes to.
WITHOUT_ACCELERATOR = """
import sys
from hpplan.errors import UnusableRequest
from hpplan.job import session
session._is_there = lambda device_type: device_type == "cpu"
for asked in sys.argv[1:]:
    try:
        print(session.choose_backend(*asked.split(), 0).name)
    except UnusableRequest as error:
        print(error)
"""


@pytest.mark.slow
def test_the_way_out_without_an_accelerator_is_one() -> None:
    """Whoever follows the message is refused again, now for what it told them to type."""

    def said(*asked: str) -> list[str]:
        command = [sys.executable, "-c", WITHOUT_ACCELERATOR, *asked]
        return subprocess.run(
            command, capture_output=True, check=True, text=True, timeout=60
        ).stdout.splitlines()

    refused = said("auto cuda", "auto npu", "nccl auto", "nccl cuda")
    assert [line.partition(", and there is none here; ")[2] for line in refused] == [
        "leave out --device, or take --device cpu",
        "leave out --device, or take --device cpu",
        "take --backend gloo",
        "take --device cpu --backend gloo",
    ]
    assert said("auto auto", "auto cpu", "gloo auto", "gloo cpu") == ["gloo"] * 4


def test_importing_names_costs_no_torch() -> None:
    """`hpplan exec --help` and whatever imports hpplan.exchange must start at once."""
    program = (
        "import sys, hpplan.exchange, hpplan.cli.exec, hpplan.job.worker, hpplan.job.launch\n"
        "assert 'torch' not in sys.modules and 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.slow
def test_launch_runs_workers_of_its_own(hpplan_process: ProcessRunner, tmp_path: Path) -> None:
    """The shortest way to a proof: one command, input from a pipe, a report, status 0."""
    report = tmp_path / "report.json"
    result = hpplan_process(
        *("exec", "-", "--mesh", "cp=2", "--launch", "2", "--iters", "2", "--report", str(report)),
        stdin=yaml.safe_dump(WORKLOAD).encode(),
    )
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith("parent_variable_a2a on cp=2, gloo on cpu\nrank  sent ")
    assert "\x1b" not in result.stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    assert (data["verified"], data["world_size"], data["mode"]) == (True, 2, "parent_variable_a2a")
    refused = hpplan_process("validate", str(report))
    assert (refused.status, refused.stdout) == (2, "")
    assert f"{report} is an answer of `hpplan exec --report`, and" in refused.stderr


def _torchrun(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.slow
def test_two_agents_stand_in_for_two_hosts(workload: str) -> None:
    """The torchrun lines of the README for two hosts, here with two agents on one machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = (
        *("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d"),
        *("--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "exec"),
        *("-m", "hpplan", "exec", workload, "--mesh", "cp=2", "--iters", "2"),
    )
    agents = [_torchrun(*common) for _ in range(2)]
    outputs = [agent.communicate(timeout=110) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    tables = [stdout for stdout, _ in outputs if stdout]
    assert len(tables) == 1
    assert "verified          yes: " in tables[0]


LOST = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import sabotage
from hpplan.cli.main import main
sabotage.at_collective(int(os.environ["RANK"]), 1, 7, "kill")
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_under_torchrun_survivors_still_say_who_was_lost(workload: str, tmp_path: Path) -> None:
    """Torchrun stops all workers when one is killed; the message and status 3 must come out all the same."""
    program = tmp_path / "lost.py"
    program.write_text(LOST, encoding="utf-8")
    agent = _torchrun(
        *("--nproc-per-node", "2", str(program), str(Path(__file__).parents[1] / "job")),
        *("exec", workload, "--mesh", "cp=2", "--iters", "1000000", "--timeout", "60"),
    )
    _, stderr = agent.communicate(timeout=110)
    assert agent.returncode == 1, "torchrun's own status, whatever its workers'"
    assert "Error: rank 1 is lost: it exited or died" in stderr
    assert "exitcode  : -9" in stderr
