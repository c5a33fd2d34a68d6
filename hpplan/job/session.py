"""One rank's stay in a job: the rendezvous, devices, process groups, and a common end."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed import FileStore, PrefixStore, TCPStore

from hpplan.errors import ExecutionBroken, UnusableRequest
from hpplan.version import __version__
from hpplan.watch.deadman import Deadman
from hpplan.watch.faults import first_line, seconds
from hpplan.watch.ledger import Ledger
from hpplan.watch.notes import Terms
from hpplan.watch.post import NoAnswer, Post, in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.distributed import Store

    from hpplan.watch.faults import Fault
    from hpplan.watch.launched import Job

_FAREWELL = 5.0
"""Seconds for which the rank that holds the store stays for the others."""

_PAUSE = 0.1

_COME = "come to the rendezvous"

Judge = Callable[[list[dict[str, Any]]], "Fault | None"]
"""Looks at every rank's note, by rank; returns why they do not go together, or None."""


class Backend(NamedTuple):
    """A device type and the collectives that go with it."""

    name: str
    device_type: str

    @property
    def configuration(self) -> str:
        """The backend as torch takes it: small notes always travel between CPUs, on gloo."""
        return "cpu:gloo" if self.device_type == "cpu" else f"cpu:gloo,{self.device_type}:{self.name}"


BACKENDS = (Backend("nccl", "cuda"), Backend("hccl", "npu"), Backend("gloo", "cpu"))
"""In the order in which `auto` tries them."""


def choose_backend(backend: str, device: str, local_rank: int) -> Backend:
    """Return the backend for what the user asked for, each `auto` or a name.

    Raises UnusableRequest where the two do not go together, or the host has
    no device for the rank of this number on it.
    """
    fitting = [
        one for one in BACKENDS if backend in ("auto", one.name) and device in ("auto", one.device_type)
    ]
    if not fitting:
        raise UnusableRequest(f"--backend {backend} does not run on --device {device}")
    for one in fitting:
        if _is_there(one.device_type):
            _check_count(one, local_rank)
            return one
    wanted = fitting[0]
    needs = "a torch_npu that sees an NPU" if wanted.device_type == "npu" else "a torch that sees a GPU"
    if device == "auto":
        way = "take --backend gloo"
    elif backend == "auto":
        way = "leave out --device, or take --device cpu"
    else:
        way = "take --device cpu --backend gloo"
    raise UnusableRequest(f"{wanted.name} needs {needs}, and there is none here; {way}")


def _is_there(device_type: str) -> bool:
    if device_type == "cuda":
        return torch.cuda.is_available() and dist.is_nccl_available()
    if device_type == "npu":
        try:
            import torch_npu  # type: ignore[import-not-found]
        except ImportError:
            return False
        return bool(torch_npu.npu.is_available())
    return dist.is_gloo_available()


def _check_count(backend: Backend, local_rank: int) -> None:
    if backend.device_type == "cpu":
        return
    count = getattr(torch, backend.device_type).device_count()
    if local_rank >= count:
        raise UnusableRequest(
            f"worker {local_rank} of this host has no {backend.device_type} device: there are {count}; "
            "start fewer workers on it, or use --device cpu --backend gloo"
        )


class Session:
    """What a rank shares with the others from the rendezvous on: the store's ledger."""

    def __init__(self, job: Job, timeout: float) -> None:
        """Come to the rendezvous; raise ExecutionBroken where there is none within the timeout."""
        self.job = job
        until = time.monotonic() + timeout

        def connect() -> Store:
            # torch waits for notes in a connection of its own, which holds up everybody else in it.
            self._store, ours = (
                PrefixStore(
                    f"hpplan/{job.attempt}",
                    _store(job, (until - time.monotonic()) * 3 / 4, listens=job.holds_store and not number),
                )
                for number in range(2)
            )
            return ours

        post = Post(connect)
        self.deadman = Deadman(job, post)
        _meet_in_time(job, post, timeout)
        terms = Terms(
            world_size=job.world_size,
            holder=job.store_holder,
            holds_store=job.holds_store,
            speaker=job.speaker,
            end=self.deadman.end_for,
            needs_store=True,
        )
        self.ledger = Ledger(post, range(job.world_size), job.rank, timeout, terms)
        self.deadman.guard(self.ledger)

    @property
    def rank(self) -> int:
        """This process's rank in the whole job."""
        return self.job.rank

    def meet(self, note: Mapping[str, Any], judge: Judge) -> None:
        """Show rank 0 a note; go on once it has seen everyone's and found that they go together.

        Raises PeersFailed on every rank otherwise.
        """
        here = {"version": __version__, "host": socket.gethostname(), **note}
        ledger = self.ledger
        ledger.set(f"hello/{self.rank}", json.dumps(here))
        if self.rank == 0:
            fault = judge([json.loads(text) for text in ledger.collect("hello", _COME)])
            if fault is not None:
                ledger.fail(ledger.declare(fault.reason, fault.status))
            ledger.set("go", "")
        elif ledger.absent(["go"], "meeting"):
            # Whoever runs out of patience first says what rank 0 would have said.
            ledger.require_notes("hello", _COME)
            ledger.break_off("meeting")

    def start(self, backend: Backend) -> torch.device:
        """Initialize torch.distributed; return this rank's device."""
        device = torch.device("cpu")
        if backend.device_type != "cpu":
            device = torch.device(backend.device_type, self.job.local_rank)
            getattr(torch, backend.device_type).set_device(device)

        def connect() -> None:
            dist.init_process_group(
                backend.configuration,
                store=PrefixStore("groups", self._store),
                rank=self.rank,
                world_size=self.job.world_size,
                timeout=seconds(self.ledger.torchs_patience),
            )

        self.ledger.in_time(connect, "connecting to the other ranks")
        return device

    def leave(self, *, broken: bool = False) -> bool:
        """Part from the others: whoever holds the store goes last. Return whether nothing is left running."""
        self.ledger.part(0.0 if broken else _FAREWELL)
        if broken:
            return False
        if dist.is_initialized():
            try:
                in_thread(dist.destroy_process_group).result(_FAREWELL)
            except NoAnswer:
                return False
        self.ledger.close()
        self.deadman.dismiss()
        return True


def _meet_in_time(job: Job, post: Post, timeout: float) -> None:
    """Return once the post has its store; raise ExecutionBroken where there is none in time.

    Where something else than a store listens, torch waits several times as
    long as it is told to. Its call goes on then, until the process ends.
    """
    whose = " of rank 0" if job.store_holder == "rank 0" else ""
    who = f"rank {job.rank} finds no rendezvous{whose} at {job.meeting_point}"
    try:
        post.ask(lambda store: store.check(["alarm"]), timeout)
    except NoAnswer:
        raise ExecutionBroken(f"{who}: what listens there does not answer as a store does") from None
    except (RuntimeError, OSError) as error:
        if job.holds_store and "EADDRINUSE" in str(error):
            raise ExecutionBroken(
                f"rank {job.rank} cannot hold the rendezvous at {job.meeting_point}: another process has "
                "the port; take a free one as MASTER_PORT, or torchrun's --rdzv-endpoint"
            ) from None
        raise ExecutionBroken(f"{who}: {first_line(error)}") from None


def _store(job: Job, patience: float, *, listens: bool) -> Store:
    if job.store_path is not None:
        return FileStore(job.store_path, job.world_size)
    if not listens:
        _wait_for_listener(job, patience)
    return TCPStore(
        job.address,
        job.port,
        job.world_size,
        listens,
        timeout=seconds(patience),
        wait_for_workers=False,
        multi_tenant=True,
    )


def _wait_for_listener(job: Job, patience: float) -> None:
    """Return once somebody listens at the job's address; raise OSError when nobody does in time.

    torch's own wait takes longer than it is told to, and complains aloud.
    """
    deadline = time.monotonic() + patience
    while (error := _connection_error(job, patience)) is not None:
        if time.monotonic() > deadline:
            raise error
        time.sleep(_PAUSE)


def _connection_error(job: Job, patience: float) -> OSError | None:
    try:
        socket.create_connection((job.address, job.port), timeout=patience).close()
    except OSError as error:
        return error
    return None


def cannot_go_on(error: Exception) -> bool:
    """Whether an error is the machine's or the network's, and no bug of ours."""
    if isinstance(error, (dist.DistError, torch.OutOfMemoryError, MemoryError, OSError)):
        return True
    # For the memory of CPUs, torch has no error of its own.
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)
