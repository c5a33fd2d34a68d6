"""Kills commands that write, at random moments, and looks at every file that they leave.

    python tests/cli/kill_writing.py [KILLS [SEED]]

Half of the kills hit anywhere in a run, half while files are being written.
After SIGTERM, SIGINT and SIGHUP all files of a command are old or all are
new, and nothing else is there. After SIGKILL each is old or new as a whole;
temporary files may be left, and a mixture where the kill fell between two
renames. The last lines count what was seen; a broken promise ends the run.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLES = Path(__file__).parents[2] / "sample_plans"
CATCHABLE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SIGNALS = (*CATCHABLE, signal.SIGKILL)
ENDS = {signal.SIGINT: 130, **{one: -one for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)}}
"""How a command ends that a signal reaches in time."""


class Job(NamedTuple):
    """A command line, and what lies in its folder before; a folder that it makes is not there."""

    arguments: str
    before: dict[str, str]


def jobs() -> dict[str, Job]:
    """Return one job for each way of writing."""
    plan = (SAMPLES / "deepseek_v3.yaml").read_text()
    multimodal = (SAMPLES / "qwen3_vl_30b_a3b.yaml").read_text()
    samples = (SAMPLES / "batches" / "qwen3_vl.jsonl").read_text() * 400
    rules = SAMPLES / "deepseek_v3.rules.yaml"
    old = "old\n"
    plans = dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), plan)
    compiled = {"out/plan.yaml": old, "out/routes.json": old}
    traces = {f"traces/{rank}.json": old for rank in range(16)}
    return {
        "normalize": Job(f"normalize -w a.yaml b.yaml c.yaml --rules {rules}", plans),
        "compile": Job("compile plan -o out", {"plan": multimodal, **compiled}),
        "compile anew": Job("compile plan -o out/new", {"plan": multimodal}),
        "route": Job("route plan --rank all -o ranks.json", {"plan": multimodal, "ranks.json": old}),
        "traces": Job("route plan --export param -o traces", {"plan": multimodal, **traces}),
        "workload": Job(
            "workload s.jsonl --model qwen3_vl --micro-batch 4 -o w.yaml", {"s.jsonl": samples, "w.yaml": old}
        ),
    }


def start(job: Job, folder: Path) -> subprocess.Popen[bytes]:
    """Lay out what was before, and start the command there."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in job.before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "hpplan", *job.arguments.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def found(folder: Path) -> dict[str, str]:
    """Return what is in a folder and below: the texts of files, and nothing of folders."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in paths}


def temporary(folder: Path) -> list[Path]:
    """Return the temporary files in a folder and below."""
    return [path for path in folder.rglob(".hpplan-*") if path.is_file()]


class Killing:
    """Runs each job once to its end, and then kills it."""

    def __init__(self, folder: Path, seed: int, names: Sequence[str] = ()) -> None:
        """Learn how long each job takes, or each of those names, and what it leaves when nothing happens."""
        self._folder = folder
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self.jobs = {name: job for name, job in jobs().items() if name in names or not names}
        self._old: dict[str, dict[str, str]] = {}
        self._new: dict[str, dict[str, str]] = {}
        self._seconds: dict[str, float] = {}
        self.seen: Counter[str] = Counter()
        for name, job in self.jobs.items():
            begin = time.monotonic()
            process = start(job, folder)
            self._old[name] = found(folder)
            assert process.wait() == 0, f"{name} fails by itself"
            self._seconds[name] = time.monotonic() - begin
            self._new[name] = found(folder)
            assert self._new[name] != self._old[name], f"{name} writes nothing"

    def kill(self, name: str, number: signal.Signals, *, aimed: bool) -> None:
        """Kill one run of a job, `aimed` at the time in which it writes; check what it leaves."""
        process = start(self.jobs[name], self._folder)
        if aimed:
            while process.poll() is None and not temporary(self._folder):
                time.sleep(0.0005)
            time.sleep(self._chance.uniform(0, 0.06))
        else:
            time.sleep(self._chance.uniform(0, 1.1 * self._seconds[name]))
        process.send_signal(number)
        status = process.wait()
        left = found(self._folder)
        where = f"{name}, {number.name}, status {status}"
        # Ctrl-C may reach Python before it has begun to run hpplan.
        early = number == signal.SIGINT and status in {1, -number}
        assert status in {0, ENDS[number]} or early, where
        spared = left
        if number == signal.SIGKILL:
            spared = {path: text for path, text in left.items() if ".hpplan-" not in path}
            self.seen["SIGKILL left temporary files"] += left != spared
        old, new = self._old[name], self._new[name]
        whole = all(text in {old.get(path), new.get(path)} for path, text in spared.items())
        mixed = spared not in (old, new)
        broken = not whole or (mixed and number in CATCHABLE)
        assert not broken, f"{where}: {changes(left, old, new)}"
        assert status != 0 or left == new, f"{where}: not all is new"
        self.seen["SIGKILL left old beside new" if mixed else f"all {'new' if spared == new else 'old'}"] += 1


def changes(left: dict[str, str], old: dict[str, str], new: dict[str, str]) -> str:
    """Say what became of each file."""
    states = []
    for name in sorted({*left, *old, *new}):
        if name in left and name in new and left[name] == new[name]:
            state = "new"
        elif left.get(name) == old.get(name):
            state = "old"
        else:
            state = "torn" if name in old or name in new else "left over"
        states.append(f"{name} {state}")
    return ", ".join(states)


def main(kills: int = 200, seed: int = 1) -> None:
    """Kill so many times, each job and signal in turn."""
    with tempfile.TemporaryDirectory() as folder:
        killing = Killing(Path(folder) / "job", seed)
        names = list(killing.jobs)
        for count in range(kills):
            name, number = names[count % len(names)], SIGNALS[count // len(names) % len(SIGNALS)]
            killing.kill(name, number, aimed=count // (len(names) * len(SIGNALS)) % 2 == 0)
        for what, count in sorted(killing.seen.items()):
            print(f"{count:5} {what}")  # noqa: T201 - what this script is for


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
