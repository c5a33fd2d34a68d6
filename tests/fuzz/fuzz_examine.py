"""What must hold of a case, whatever is in it."""

from __future__ import annotations

import io
import os
import re
import sys
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.cli.main import main
from hpplan.documents.reader import Document, parse_document
from hpplan.documents.source import Sources
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.errors import HpplanError, InvalidInput
from hpplan.validation.kinds import kind_of_document
from hpplan.validation.run import CHECKED, CheckRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzz_case import Case

    from hpplan.diagnostics import Diagnostic

SECONDS = 5.0
"""Processor time of one run on one document of some kilobytes, far above what any takes."""

MOST_CHARACTERS = 64 * 2**20
"""Of what a run says."""

_MACHINE = (
    "--format",
    "--export",
    *(f"--output-format={name}" for name in ("json", "gitlab", "sarif", "junit")),
)
_WRITES_DOCUMENTS = ("normalize", "workload", "compile")


class Fault(NamedTuple):
    """Something that must not be: what it is, for telling faults apart, and all about it."""

    kind: str
    details: str
    run: list[str] | None = None


class Ended(NamedTuple):
    """How a run of the command line ended."""

    status: int
    out: str
    err: str
    seconds: float


def examine(case: Case, folder: Path) -> list[Fault]:
    """Return what is wrong with the answers to a case; its files are written to a folder."""
    found: list[Fault] = []
    with _inside(folder, case):
        for name, raw in case.files.items():
            found += _of_library(raw, name)
        for run in case.runs:
            found += _of_run(run, case)
    return found


def answers(case: Case, folder: Path) -> list[Ended]:
    """Return how each run of a case ended."""
    with _inside(folder, case):
        return [ended(run, case) for run in case.runs]


def ended(run: list[str], case: Case) -> Ended:
    """Run the command line in this process."""
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(case.files.get("d", b"")), encoding="utf-8")
    out, err = sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    start = time.process_time()
    status: object = None
    try:
        main(list(run))
    except SystemExit as stop:
        status = stop.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    assert isinstance(status, int)
    return Ended(status, out.getvalue(), err.getvalue(), time.process_time() - start)


def _of_run(run: list[str], case: Case) -> Iterator[Fault]:
    try:
        end = ended(run, case)
    except Exception as error:  # noqa: BLE001 - whatever else is raised is a fault
        yield _raised(error, " ".join(run), run)
        return
    if end.status not in {0, 1, 2} or "Traceback" in end.err or "not enough memory" in end.err:
        yield Fault(f"status {end.status}: {_last_frame(end.err)}", end.err[-3000:], run)
    if end.seconds > SECONDS:
        yield Fault(f"slow: {run[0]}", f"{end.seconds:.1f} s", run)
    if len(end.out) + len(end.err) > MOST_CHARACTERS:
        yield Fault(f"talkative: {run[0]}", f"{len(end.out) + len(end.err):,} characters", run)
    if "-w" in run and end.status == 0:
        yield from _of_written(run, case)
    texts = {"standard error": end.err}
    # A diff on a pipe is for patch.
    is_document = run[0] in _WRITES_DOCUMENTS and ("--diff" in run or not {"--changes", "--check"} & {*run})
    if not is_document and not any(option.startswith(_MACHINE) for option in run):
        texts["standard output"] = end.out
    for name, text in texts.items():
        raw = sorted({one for one in text if not one.isprintable() and one != "\n"})
        if raw and "--print-after=all" not in run:
            yield Fault(f"control characters: {run[0]}, {name}", f"{raw} in {text[:2000]!r}", run)


def _of_written(run: list[str], case: Case) -> Iterator[Fault]:
    """Look at a plan that was normalized in place: it is what is printed, and stays as it is."""
    written = Path("d").read_bytes()
    Path("d").write_bytes(case.files["d"])
    printed = ended([part for part in run if part != "-w"], case)
    if not _same(parse_document(written, "d").data, parse_document(printed.out.encode(), "printed").data):
        yield Fault(
            "written in place, and printed otherwise", f"{written[:2000]!r}\n{printed.out[:2000]}", run
        )
    Path("d").write_bytes(written)
    again = ended([*(part for part in run if part != "-w"), "--check"], case)
    if again.status != 0:
        yield Fault("written in place, and not as --check wants it", again.out[:2000], run)


def _of_library(raw: bytes, name: str) -> list[Fault]:
    try:
        return list(_of_document(raw, name))
    except Exception as error:  # noqa: BLE001 - whatever else is raised is a fault
        return [_raised(error, f"library: {name}")]


def _of_document(raw: bytes, name: str) -> Iterator[Fault]:
    """Look at a document with the library: positions of findings, and that it reads back when written."""
    sources = Sources()
    try:
        document = parse_document(raw, name, sources)
    except InvalidInput as failure:
        yield from _misplaced(failure.diagnostics, sources, raw)
        return
    yield from _read_back(document)
    run = CheckRun()
    if kind_of_document(document.data) in CHECKED:
        run.check(document)
        run.finish()
        yield from _misplaced([*run.blocking, *run.findings], sources, raw)


def _read_back(document: Document) -> Iterator[Fault]:
    for write in (dump_yaml, dump_json):
        try:
            text = write(document.data)
        except InvalidInput as failure:
            if {item.code.id for item in failure.diagnostics} != {"HP018"} or write is dump_yaml:
                yield Fault(f"{write.__name__} refuses", str(failure)[:2000])
            continue
        again = parse_document(text.encode(), "again").data
        if not _same(document.data, again):
            yield Fault(f"{write.__name__} does not read back", text[:2000])


def _misplaced(findings: Sequence[Diagnostic], sources: Sources, raw: bytes) -> Iterator[Fault]:
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = re.split(r"\r\n|\r|\n", text)
    places = [place for item in findings for place in (item.place, *item.related)]
    positions = sources.positions(places)
    for place in places:
        line, column = positions[place]
        if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1:
            yield Fault("a position outside the file", f"{line}:{column} {place}")


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any node
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def _raised(error: Exception, what: str, run: list[str] | None = None) -> Fault:
    told = "".join(traceback.format_exception(error))
    if isinstance(error, HpplanError):
        return Fault(f"{type(error).__name__} from {what.partition(':')[0]}", told, run)
    return Fault(f"raised: {_last_frame(told)}", f"{what}\n{told[-3000:]}", run)


def _last_frame(told: str) -> str:
    """Return the exception and the last line of ours in a traceback."""
    frames = re.findall(r'File ".*/(hpplan/[^"]+)", line (\d+)', told)
    errors = re.findall(r"(?m)^(\w*(?:Error|Exception|Interrupt|Exit))\b", told)
    return f"{errors[-1] if errors else '?'} at {':'.join(frames[-1]) if frames else '?'}"


@contextmanager
def _inside(folder: Path, case: Case) -> Iterator[None]:
    """Be in a folder with the files of a case, and leave it empty."""
    before = Path.cwd()
    for name, raw in case.files.items():
        (folder / name).write_bytes(raw)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        for path in sorted(folder.rglob("*"), reverse=True):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
