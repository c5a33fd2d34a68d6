"""Tries every fault, at every phase, on each rank in turn.

    python tests/job/fault_matrix.py                     # all of it: hours
    python tests/job/fault_matrix.py --of exec --way launch --deed kill,stop --rank 0

`exec` is started by hand (rank 0 holds the store), under torchrun (its agent
does) and with --launch; the library by hand and under torchrun. A case is all
right when each rank that can still run ended within the timeout and SLACK
seconds, with status 3 or PeersFailed, one message among all of them names the
rank with the fault and no other, and neither a process nor a file is left.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
RANKS = 3
TIMEOUT = 8.0
SLACK = 8.0
"""Seconds beyond the timeout: for a main thread to notice, and for torch to let go of its process.

Where other work keeps the machine's cores busy, more.
"""

BROKEN = 3
"""Exit status of hpplan where execution broke off."""

BUG = 70
"""Exit status after an error that is no fault of the job."""

OF = ("exec", "library")
WAYS = ("hand", "torchrun", "launch")
DEEDS = ("exit", "raise", "kill", "stop", "hang", "allocation", "stop the launcher")
"""What the rank does; the last to torchrun, whose agent holds the store."""

PHASES = {
    "exec": ("rendezvous", "start", "connect", "group", "forward", "backward", "finish"),
    "library": ("join", "group", "forward", "backward"),
}
WORKLOAD = """\
feature_width: 8
sequence: {length: 24}
items:
  - {item_id: 0, batch_index: 0, decoder_token_start: 2, output_rows: 9}
  - {item_id: 1, batch_index: 0, decoder_token_start: 12, output_rows: 8}
"""


class Case(NamedTuple):
    """One fault."""

    of: str
    way: str
    phase: str
    deed: str
    rank: int

    def __str__(self) -> str:
        """Spell it for people."""
        return f"{self.of} by {self.way}: rank {self.rank} has '{self.deed}' at {self.phase}"


class Seen(NamedTuple):
    """What is left of a job: what its ranks said, and how and when they ended."""

    errors: dict[int, str]
    statuses: dict[int, int | None]
    seconds: float
    """From the fault to the end of the last rank that could still run."""
    left: list[str]
    """Processes and files that should not be there."""
    launcher: int | None
    """The status of --launch, or torchrun."""
    blamed: set[str]
    """Ranks that torchrun says have failed; it stops the others, and a trainer has no last word then."""


def cases(chosen: argparse.Namespace | None = None) -> Iterator[Case]:
    """Yield the cases that were asked for, all without a choice."""

    def of(name: str, names: tuple[str, ...]) -> list[str]:
        given = getattr(chosen, name, None)
        return [one for one in names if given is None or one in given.split(",")]

    ranks = of("rank", tuple(map(str, range(RANKS))))
    for part, way in itertools.product(of("of", OF), of("way", WAYS)):
        for phase, deed, rank in itertools.product(of("phase", PHASES[part]), of("deed", DEEDS), ranks):
            case = Case(part, way, phase, deed, int(rank))
            if _makes_sense(case):
                yield case


def _makes_sense(case: Case) -> bool:
    if case.deed == DEEDS[-1]:
        # A training loop that has its group goes on without a store.
        needs_store = case.of == "exec" or case.phase == "join"
        return needs_store and (case.way, case.rank) == ("torchrun", 0)
    if case.phase == "rendezvous":
        # Whoever finds none cannot tell why; and torchrun speaks for ranks that die before they can.
        told = case.way == "hand" or case.deed in {"stop", "hang"}
        return case.rank > 0 and told and case.deed != "allocation"
    return (case.of, case.way) != ("library", "launch")


def run(case: Case) -> Seen:
    """Run a job with a fault, and return what is left of it."""
    with tempfile.TemporaryDirectory(prefix="fault-matrix-") as name:
        folder = Path(name)
        for part in ("notes", "tmp", "logs"):
            (folder / part).mkdir()
        (folder / "workload.yaml").write_text(WORKLOAD, encoding="utf-8")
        started = _start(case, folder)
        try:
            end = _watch(case, folder, started)
            return _seen(case, folder, started, end)
        finally:
            for pid in [*_pids(folder).values(), *(one.pid for one in started)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for one in started:
                one.wait()


def _start(case: Case, folder: Path) -> list[subprocess.Popen[bytes]]:
    if case.of == "exec":
        program = ["-m", "hpplan", "exec", str(folder / "workload.yaml"), "--mesh", f"cp={RANKS}"]
        program += ["--iters", "5", "--warmup", "0", "--timeout", f"{TIMEOUT:g}"]
    else:
        program = [str(HERE / "fault_training.py"), f"{TIMEOUT:g}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE / "fault_site"), os.environ.get("PYTHONPATH", "")]),
        "TMPDIR": str(folder / "tmp"),
        "OMP_NUM_THREADS": "1",
        "FAULT_RANK": str(case.rank),
        "FAULT_PHASE": case.phase,
        "FAULT_DEED": case.deed,
        "FAULT_NOTES": str(folder / "notes"),
    }
    if case.way == "hand":
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(RANKS)}
        ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(RANKS)]
        commands = [([sys.executable, *program], {**environment, **where, **rank}) for rank in ranks]
    elif case.way == "launch":
        commands = [([sys.executable, *program, "--launch", str(RANKS)], environment)]
    else:
        options = ["--standalone", "--nproc-per-node", str(RANKS), "--redirects", "3"]
        options += ["--log-dir", str(folder / "logs")]
        commands = [([sys.executable, "-m", "torch.distributed.run", *options, *program], environment)]
    started = []
    for number, (command, variables) in enumerate(commands):
        with (folder / f"{number}.err").open("wb") as errors, (folder / f"{number}.out").open("wb") as output:
            started.append(
                subprocess.Popen(
                    command,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    # What watches jobs from a shell has no business with a rank that is stopped.
                    start_new_session=True,
                )
            )
    return started


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _watch(case: Case, folder: Path, started: list[subprocess.Popen[bytes]]) -> float:
    """Wait until all ranks that can still run have ended, or should have; return when that was."""
    begin = time.time()
    patience = 60.0
    while time.time() < begin + patience:
        time.sleep(0.1)
        for one in started:
            one.poll()
        fault = folder / "notes" / f"fault-{case.rank}"
        if fault.exists() and fault.stat().st_size:
            begin, patience = float(fault.read_text(encoding="utf-8")), 4 * TIMEOUT + 20
            pids = _pids(folder)
            if len(pids) == RANKS and not any(_runs(pids[rank]) for rank in _awaited(case)):
                return time.time() - begin
    return patience


def _awaited(case: Case) -> set[int]:
    """Return the ranks that can end by themselves."""
    # Without a rendezvous or a group, the rank that hangs has nothing of ours yet.
    stuck = case.deed == "stop" or (case.deed == "hang" and case.phase in ("rendezvous", "join"))
    return set(range(RANKS)) - ({case.rank} if stuck else set())


def _pids(folder: Path) -> dict[int, int]:
    found = {}
    for path in (folder / "notes").glob("pid-*"):
        with contextlib.suppress(ValueError):
            found[int(path.name[4:])] = int(path.read_text(encoding="utf-8"))
    return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _seen(case: Case, folder: Path, started: list[subprocess.Popen[bytes]], seconds: float) -> Seen:
    pids = _pids(folder)
    awaited = _awaited(case)
    if case.way == "launch":
        # It ends a worker that is stopped, and takes its folder away.
        with contextlib.suppress(subprocess.TimeoutExpired):
            started[0].wait(15)
        awaited = set(pids)
    left = [f"rank {rank}" for rank in sorted(awaited) if rank in pids and _runs(pids[rank])]
    left += [path.name for path in (folder / "tmp").iterdir() if not path.name.startswith("torchelastic")]
    files = {int(path.parent.name): path for path in folder.glob("logs/*/attempt_0/*/stderr.log")}
    if case.way != "torchrun":
        files = {number: folder / f"{number}.err" for number in range(len(started))}
    errors = {rank: path.read_text(encoding="utf-8", errors="replace") for rank, path in files.items()}
    statuses: dict[int, int | None] = dict.fromkeys(range(RANKS))
    for path in (folder / "notes").glob("status-*"):
        statuses[int(path.name[7:])] = int(path.read_text(encoding="utf-8") or -1)
    if case.way == "hand":
        for rank in _awaited(case):
            with contextlib.suppress(subprocess.TimeoutExpired):
                started[rank].wait(3)
        statuses = {rank: one.poll() for rank, one in enumerate(started)}
    blamed: set[str] = set()
    if case.of == "library" and case.way == "torchrun" and case.rank in _awaited(case):
        with contextlib.suppress(subprocess.TimeoutExpired):
            started[0].wait(30)
        blamed = set(re.findall(r"rank +: (\d+) \(local", (folder / "0.err").read_text(encoding="utf-8")))
    return Seen(errors, statuses, seconds, left, started[0].poll(), blamed)


def problems(case: Case, seen: Seen, slack: float = SLACK) -> list[str]:
    """Return what is not as it must be."""
    found = [f"{one} is left" for one in seen.left]
    if seen.seconds > TIMEOUT + slack:
        found.append(f"the last rank ended {seen.seconds:.1f} s after the fault")
    start = "Error: " if case.of == "exec" else "PeersFailed: "
    said = {rank: re.findall(rf"^{start}(.*)$", text, re.MULTILINE) for rank, text in seen.errors.items()}
    messages = [one for lines in said.values() for one in lines]
    if case.of == "library":
        others = {rank: lines for rank, lines in said.items() if rank != case.rank}
        # What a rank without PeersFailed said is its own end, or that torchrun stopped it.
        found += [f"rank {rank} raised {lines}" for rank, lines in others.items() if len(lines) > 1]
        messages = sorted(set(messages))
    if len(messages) != 1 and (messages or str(case.rank) not in seen.blamed):
        found.append(f"{len(messages)} messages: {messages}")
    for one in messages:
        # Who says it is not who is to blame.
        blame = re.sub(r"^rank \d+ finds ", "", one.partition(" while ")[0])
        named = set(re.findall(r"ranks? (\d+(?:, \d+)*)", blame))
        if named != {str(case.rank)} and case.deed != DEEDS[-1]:
            found.append(f"ranks {sorted(named)} are named: {one}")
    if case.of == "exec" and case.way != "launch":
        own = case.rank if case.deed not in {"hang", "allocation", DEEDS[-1]} else None
        for rank in _awaited(case) - {own}:
            if seen.statuses[rank] != BROKEN:
                found.append(f"rank {rank} ended with {seen.statuses[rank]}")
    if case.way == "launch" and seen.launcher != (BUG if case.deed == "raise" else BROKEN):
        found.append(f"the launcher ended with {seen.launcher}")
    return found


def main() -> int:
    """Run the cases that were asked for; return 1 where one is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("of", "way", "phase", "deed", "rank"):
        parser.add_argument(f"--{name}", metavar="A,B", help="only these")
    parser.add_argument("--slack", type=float, default=SLACK, metavar="S", help="on a busy machine, more")
    parser.add_argument("--verbose", action="store_true", help="show what ranks said, also where all is well")
    chosen = parser.parse_args()
    bad = total = 0
    for case in cases(chosen):
        seen = run(case)
        wrong = problems(case, seen, chosen.slack)
        total, bad = total + 1, bad + bool(wrong)
        lines = [f"{'WRONG' if wrong else 'ok   '} {seen.seconds:5.1f} s  {case}", *wrong]
        if wrong or chosen.verbose:
            lines += [f"{rank}| {line}" for rank, text in seen.errors.items() for line in text.splitlines()]
            lines.append(f"statuses {seen.statuses}")
        sys.stdout.write("\n    ".join(lines) + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{total - bad} passed, {bad} failed\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
