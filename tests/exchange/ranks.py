"""Real ranks for tests: processes forked from one that has torch loaded, joined by gloo."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

PRELOADED = ["torch", "torch.distributed", "hpplan.exchange.feature_exchange", "hpplan.exchange.micro_batch"]


class Ended(NamedTuple):
    """How one rank ended: what its function returned, or the exception, or its exit code."""

    value: Any
    error: str
    exit_code: int | None


def run_ranks(
    world: int, function: Callable[..., Any], *arguments: object, patience: float = 60.0
) -> list[Any]:
    """Call `function(rank, *arguments)` on every rank of a gloo job; return the results by rank."""
    ended = end_ranks(world, function, *arguments, patience=patience)
    failed = {
        rank: one.error or f"exit code {one.exit_code}"
        for rank, one in enumerate(ended)
        if one.error or one.exit_code
    }
    assert not failed, "\n".join(f"rank {rank}: {text}" for rank, text in failed.items())
    return [one.value for one in ended]


def end_ranks(
    world: int, function: Callable[..., Any], *arguments: object, patience: float = 60.0
) -> list[Ended]:
    """Like `run_ranks`, for ranks that are expected to fail; ends those that hang."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")  # noqa: PTH118 - a plain string for torch
        started = []
        for rank in range(world):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_rank, args=(writer, rank, world, store, function, arguments))
            process.start()
            writer.close()
            started.append((process, reader))
        return [_end(process, reader, patience) for process, reader in started]


def _end(process: Any, reader: Connection, patience: float) -> Ended:  # noqa: ANN401 - a process of any context
    value, error = None, ""
    try:
        if reader.poll(patience):
            value, error = reader.recv()
    except EOFError:
        pass
    process.join(patience if not error else 5)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
        error = error or "hangs"
    return Ended(value, error, code)


def _rank(
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
    # A broken group keeps threads that would hold up the interpreter's own way out.
    os._exit(0)
