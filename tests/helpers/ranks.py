"""Real ranks for tests: processes forked from one that has torch loaded."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection

PRELOADED = [
    "torch",
    "torch.distributed",
    # torch loads this, and all of sympy, in the first backward of several tensors.
    "torch.fx.experimental.symbolic_shapes",
    "yaml",
    "hpplan.cli.exec",
    "hpplan.job.execution",
    "hpplan.job.execution_report",
    "hpplan.exchange.micro_batch",
    "hpplan.job.session",
    "hpplan.reports.execution.table",
]
"""What ranks need, so that they start at once, and all alike."""


class Ended(NamedTuple):
    """How one rank ended: what its function returned, or its exception; and its exit status."""

    value: Any
    error: str
    status: int | None


class Ran(NamedTuple):
    """How one rank of a command ended; it has no status where it hung."""

    status: int | None
    stdout: str
    stderr: str


def run_ranks(
    world: int, function: Callable[..., Any], *arguments: object, patience: float = 60.0
) -> list[Any]:
    """Call `function(rank, *arguments)` on every rank of a gloo job; return the results by rank."""
    ended = end_ranks(world, function, *arguments, patience=patience)
    failed = [
        f"rank {rank}: {one.error or one.status}" for rank, one in enumerate(ended) if one.error or one.status
    ]
    assert not failed, "\n".join(failed)
    return [one.value for one in ended]


def end_ranks(
    world: int, function: Callable[..., Any], *arguments: object, patience: float = 60.0
) -> list[Ended]:
    """Like `run_ranks`, for ranks that are expected to fail; ends those that hang."""
    context = _context()
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for rank in range(world):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_call, args=(writer, rank, world, str(Path(folder, "store")), function, arguments)
            )
            process.start()
            writer.close()
            started.append((process, reader))
        return [_end(process, reader, patience) for process, reader in started]


def run_command(
    environments: Sequence[Mapping[str, str]],
    arguments: Sequence[Sequence[str]],
    sabotage: Callable[..., None] | None = None,
    *given: object,
    patience: float = 40.0,
) -> list[Ran]:
    """Run `hpplan` as one process an environment; `sabotage(rank, *given)` runs in each before it."""
    context = _context()
    started = []
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for rank, environment in enumerate(environments):
            files = (str(Path(folder, f"{rank}.out")), str(Path(folder, f"{rank}.err")))
            process = context.Process(
                target=_command, args=(dict(environment), list(arguments[rank]), files, sabotage, rank, given)
            )
            process.start()
            started.append((process, files))
        while any(process.is_alive() for process, _ in started) and time.monotonic() - begin < patience:
            time.sleep(0.02)
        ended = {rank for rank, (process, _) in enumerate(started) if not process.is_alive()}
        for process, _ in started:
            if process.is_alive():
                process.kill()
            process.join()
        return [
            Ran(
                process.exitcode if rank in ended else None,
                *(Path(name).read_text(encoding="utf-8") if Path(name).exists() else "" for name in files),
            )
            for rank, (process, files) in enumerate(started)
        ]


def job(world: int, folder: Path, **more: str) -> list[dict[str, str]]:
    """Return the environment of each rank of a job that meets in a file."""
    store = str(Path(folder, f"store-{time.monotonic_ns()}"))
    return [
        {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "HPPLAN_STORE": store, **more}
        for rank in range(world)
    ]


def _context() -> Any:  # noqa: ANN401 - multiprocessing's contexts share no public type
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _end(process: Any, reader: Connection, patience: float) -> Ended:  # noqa: ANN401 - a process of any context
    value, error = None, ""
    if reader.poll(patience):
        # A rank that dies closes its end of the pipe.
        with contextlib.suppress(EOFError):
            value, error = reader.recv()
        process.join(patience)
    status = process.exitcode
    if status is None:
        process.kill()
        process.join()
        error = error or "hangs"
    return Ended(value, error, status)


def _call(
    writer: Connection,
    rank: int,
    world: int,
    store: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    shared = dist.FileStore(store, world)
    dist.init_process_group("gloo", store=shared, rank=rank, world_size=world)
    try:
        answer = (function(rank, *arguments), "")
    except BaseException as error:  # noqa: BLE001 - the test wants to see it
        answer = (None, f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
    writer.send(answer)
    writer.close()
    # Nobody may be gone while others still connect, or read the last bytes of a collective.
    shared.set(f"done/{rank}", "")
    with contextlib.suppress(RuntimeError):
        shared.wait([f"done/{one}" for one in range(world)], timedelta(seconds=1))
    # A broken group keeps threads that would hold up the interpreter's own way out.
    os._exit(0)


def _command(
    environment: dict[str, str],
    arguments: list[str],
    files: tuple[str, str],
    sabotage: Callable[..., None] | None,
    rank: int,
    given: tuple[Any, ...],
) -> None:
    from hpplan.cli.main import main

    for number, name in enumerate(files, start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
    os.environ.update(environment)
    import torch

    torch.set_num_threads(1)
    if sabotage is not None:
        sabotage(rank, *given)
    main(arguments)
