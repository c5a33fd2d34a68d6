"""Ranks that prove together: processes of this machine, which meet in a file."""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hpplan.errors import ExecutionBroken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection

    from hpplan.proof.layouts import Ranks
    from hpplan.proof.results import Proof

_PATIENCE = 300.0
"""Seconds that ranks wait for each other."""

_MOMENT = 1.0
"""Seconds between what a rank says and what another says that brought it about."""


def prove_together(sizes: Mapping[str, int], action: Callable[[Ranks], Proof], *, sp: bool) -> Proof:
    """Run `action` on as many ranks as the axes have, and return what the first says.

    The model is there already: the processes are copies of this one. Raises
    ExecutionBroken where one of them is lost, or meets what it cannot go on from.
    """
    world = 1
    for size in sizes.values():
        world *= size
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="hpplan-prove-") as folder:
        store = str(Path(folder, "store"))
        ears, processes = [], []
        for rank in range(world):
            ear, mouth = context.Pipe(duplex=False)
            process = context.Process(
                target=_rank, args=(rank, world, store, dict(sizes), sp, action, mouth), daemon=True
            )
            process.start()
            mouth.close()
            ears.append(ear)
            processes.append(process)
        try:
            return _heard(ears)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()


def _heard(ears: list[Connection]) -> Proof:
    """Return what the first rank says; whichever rank fails first is what is said of all."""
    from multiprocessing.connection import wait

    waiting: dict[object, int] = {ear: rank for rank, ear in enumerate(ears)}
    proof: Proof | None = None
    failure = ""
    while waiting:
        # Whoever fails because another is lost may be heard first: so wait a moment for that one.
        ready = wait([ear for ear in ears if ear in waiting], _MOMENT if failure else None)
        for ear in ready:
            assert not isinstance(ear, (int, socket.socket))
            rank = waiting.pop(ear)
            try:
                said = ear.recv()
            except EOFError:
                raise ExecutionBroken(f"rank {rank} of the proof was lost") from None
            if isinstance(said, str):
                failure = failure or f"rank {rank} of the proof fails: {said}"
            elif rank == 0:
                proof = said
        if failure and not ready:
            break
    if failure or proof is None:
        raise ExecutionBroken(failure or "the first rank of the proof says nothing")
    return proof


def _rank(
    rank: int,
    world: int,
    store: str,
    sizes: dict[str, int],
    sp: bool,
    action: Callable[[Ranks], Proof],
    mouth: Connection,
) -> None:
    import logging
    import signal

    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    from hpplan.proof.layouts import Ranks

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher ends its ranks
    logging.getLogger("torch").setLevel(logging.ERROR)  # how fast gloo is, is not what is asked
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(store, world),
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=_PATIENCE),
        )
        mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        proof = action(Ranks(mesh, sizes, sp))
        mouth.send(proof if rank == 0 else None)
        dist.barrier()
        dist.destroy_process_group()
    except BaseException as error:  # noqa: BLE001 - whatever ends a rank is for the launcher to say
        mouth.send(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
