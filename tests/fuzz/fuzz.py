"""Feed hpplan documents that nobody would write: `python tests/fuzz/fuzz.py --documents 100000`.

Never a traceback or a status beyond 2, in bounded time and memory, with findings within their file; what is
accepted reads back equal; the same answers under any PYTHONHASHSEED. The same seed gives the same documents.
Ends with 1 where something does not hold, with the smallest documents that show it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_case import Case, case
from fuzz_examine import Fault, answers, examine

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MEMORY = 3 << 30
"""Bytes of address space that an examination may take, with all that is imported."""

PATIENCE = 120.0
"""Seconds without an answer after which a case counts as one that never ends."""

HASH_SEEDS = ("0", "1", "4242")
"""Values of PYTHONHASHSEED."""
_ATTEMPTS = 600
_LONGEST = 4000


def main() -> int:
    """Run the fuzz and say what was found."""
    options = _options()
    if options.answers is not None:
        _print_answers(options.seed, *options.answers)
        return 0
    _say(f"seed {options.seed}, {options.documents:,} documents, {options.jobs} jobs")
    faults: dict[str, tuple[int, Fault, Case]] = {}
    if options.case is not None:
        one = case(options.seed, options.case)
        with tempfile.TemporaryDirectory() as folder:
            for fault in examine(one, Path(folder)):
                faults.setdefault(fault.kind, (options.case, fault, one))
    else:
        numbers = fuzz(options.seed, options.documents, options.jobs, faults)
        in_shells(options.seed, numbers, options.shell, faults)
        under_hash_seeds(options.seed, options.hashes, faults)
    keep = Path(options.keep or tempfile.mkdtemp(prefix="hpplan-fuzz-")) if faults else None
    for number, fault, one in faults.values():
        assert keep is not None
        _tell(options.seed, number, fault, smaller(one, fault), keep)
    _say(f"{len(faults)} kinds of faults")
    return 1 if faults else 0


def fuzz(seed: int, documents: int, jobs: int, faults: dict[str, tuple[int, Fault, Case]]) -> int:
    """Examine cases until there were so many documents; return how many cases that were."""
    workers = [_Worker(seed) for _ in range(jobs)]
    number = seen = 0
    start = told = time.monotonic()
    while seen < documents or any(worker.number is not None for worker in workers):
        for worker in workers:
            if worker.number is None and seen < documents:
                worker.ask(number)
                number += 1
        for worker in workers:
            answer = worker.answer()
            if answer is not None:
                asked, files, found = answer
                seen += files
                for fault in found:
                    if fault.kind not in faults:
                        _say(f"case {asked}: {fault.kind}")
                        faults[fault.kind] = (asked, fault, case(seed, asked))
        if time.monotonic() - told > 30:
            told = time.monotonic()
            _say(f"{seen:,} documents, {told - start:.0f} s, {len(faults)} kinds of faults")
    for worker in workers:
        worker.end()
    _say(f"{seen:,} documents in {number:,} cases, {time.monotonic() - start:.0f} s")
    return number


class _Worker:
    """A process that examines one case after the other, and is replaced when it does not come back."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.number: int | None = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self._seed, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, number: int) -> None:
        self.number = number
        self._since = time.monotonic()
        self._pipe.send(number)

    def answer(self) -> tuple[int, int, list[Fault]] | None:
        """Return the case, the number of its documents and its faults, once they are known."""
        if self.number is None:
            return None
        asked = self.number
        try:
            if self._pipe.poll(0.01):
                files, found = self._pipe.recv()
                self.number = None
                return asked, files, found
        except EOFError:
            self._process.join()
            return self._replaced(asked, Fault(f"died: {self._process.exitcode}", "the process ended"))
        if time.monotonic() - self._since > PATIENCE:
            self._process.kill()
            return self._replaced(asked, Fault("endless", f"no answer within {PATIENCE:.0f} s"))
        return None

    def _replaced(self, asked: int, fault: Fault) -> tuple[int, int, list[Fault]]:
        self.number = None
        self._begin()
        return asked, 1, [fault]

    def end(self) -> None:
        self._pipe.send(None)
        self._process.join()


def _work(seed: int, pipe: Connection[Any, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        while (number := pipe.recv()) is not None:
            one = case(seed, number)
            pipe.send((len(one.files), examine(one, Path(folder))))


def in_shells(seed: int, numbers: int, count: int, faults: dict[str, tuple[int, Fault, Case]]) -> None:
    """Run some of the cases in a shell of their own, as people do."""
    for number in range(0, numbers, max(1, numbers // max(1, count))) if count else ():
        one = case(seed, number)
        with tempfile.TemporaryDirectory() as folder:
            for name, raw in one.files.items():
                (Path(folder) / name).write_bytes(raw)
            for run in one.runs[:1]:
                command = shlex.join([sys.executable, "-m", "hpplan", *run])
                limited = f"ulimit -v {MEMORY >> 10}; {command} <d 2>err | cat >out; exit ${{PIPESTATUS[0]}}"
                done = subprocess.run(
                    ["/bin/bash", "-c", limited],
                    cwd=folder,
                    check=False,
                    timeout=PATIENCE,
                )
                told = (Path(folder) / "err").read_text(encoding="utf-8", errors="replace")
                if done.returncode not in {0, 1, 2} or "Traceback" in told:
                    fault = Fault(f"shell: status {done.returncode}", told[-3000:], run)
                    faults.setdefault(fault.kind, (number, fault, one))


def under_hash_seeds(
    seed: int,
    count: int,
    faults: dict[str, tuple[int, Fault, Case]],
    hash_seeds: tuple[str, ...] = HASH_SEEDS,
) -> None:
    """Compare the answers to some of the cases under several values of PYTHONHASHSEED."""
    if not count:
        return
    command = [sys.executable, __file__, "--seed", str(seed), "--answers", "0", str(count)]
    told = [
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": value}, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for value in hash_seeds
    ]
    for number, lines in enumerate(zip(*told, strict=True)):
        if len(set(lines)) > 1:
            fault = Fault("answers differ by PYTHONHASHSEED", "\n".join(lines))
            faults.setdefault(fault.kind, (number, fault, case(seed, number)))


def _print_answers(seed: int, first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            ends = [end[:3] for end in answers(case(seed, number), Path(folder))]
            told = sha256(repr(ends).encode("utf-8", "backslashreplace")).hexdigest()
            _say(f"{number} {told}")


def smaller(one: Case, fault: Fault) -> Case:
    """Return a case as small as can be found that has the same fault."""
    if fault.kind.startswith(("died", "endless", "slow", "shell", "answers")):
        return one
    attempts = 0

    def shows(candidate: Case) -> bool:
        nonlocal attempts
        attempts += 1
        with tempfile.TemporaryDirectory() as folder:
            return any(found.kind == fault.kind for found in examine(candidate, Path(folder)))

    for runs in ([fault.run] if fault.run else [], *([run] for run in one.runs)):
        if shows(one._replace(runs=runs)):
            one = one._replace(runs=runs)
            break
    for name in [*one.files]:
        size = len(one.files[name])
        while size and attempts < _ATTEMPTS:
            start = 0
            while start < len(one.files[name]) and attempts < _ATTEMPTS:
                raw = one.files[name]
                shorter = one._replace(files={**one.files, name: raw[:start] + raw[start + size :]})
                if shows(shorter):
                    one = shorter
                else:
                    start += size
            size //= 2
    return one


def _tell(seed: int, number: int, fault: Fault, one: Case, keep: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fault = next((found for found in examine(one, Path(folder)) if found.kind == fault.kind), fault)
    _say(f"\n{fault.kind}\n  seed {seed}, case {number}: python {__file__} --seed {seed} --case {number}")
    for run in one.runs:
        _say(f"  hpplan {shlex.join(run)[:_LONGEST]!r}")
    for name, raw in one.files.items():
        path = keep / f"{number}-{name}"
        path.write_bytes(raw)
        _say(f"  {path}: {raw[:_LONGEST]!r}")
    _say("\n".join(f"    {line}" for line in fault.details.splitlines()[-30:]))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command of its own


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shell", type=int, default=200, help="cases that run in a real shell as well")
    parser.add_argument("--hashes", type=int, default=200, help="cases that run under several hash seeds")
    parser.add_argument("--case", type=int, help="examine this case alone")
    parser.add_argument("--keep", help="folder for the smallest documents; default: a temporary one")
    parser.add_argument("--answers", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
