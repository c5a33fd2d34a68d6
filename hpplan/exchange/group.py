"""The ranks that exchange with each other, and what they have in common."""

from __future__ import annotations

import math
import os
import pickle
import weakref
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, distributed_c10d

from hpplan.errors import UnusableRequest
from hpplan.exchange.device_mesh import mesh_of
from hpplan.exchange.lockstep import Lockstep
from hpplan.exchange.memory import Memory
from hpplan.exchange.running import Pending
from hpplan.exchange.transport import Transport
from hpplan.routing.mesh import Mesh, parse_mesh
from hpplan.version import __version__
from hpplan.watch.deadman import end
from hpplan.watch.faults import PeersFailed, seconds
from hpplan.watch.launched import AGENT_STORE_VARIABLE, speaker_of
from hpplan.watch.ledger import Ledger
from hpplan.watch.majority import odd_one
from hpplan.watch.notes import Terms
from hpplan.watch.post import Post

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch.distributed import DeviceMesh, Store

    from hpplan.watch.faults import Fault

T = TypeVar("T")

_GROUPING = "making their exchange group"

_BROKEN = "broken"
"""The note that an earlier group of these ranks broke off."""

CHECK_VARIABLE = "HPPLAN_CHECK_STEPS"
"""The environment's wish to compare what arrives in the first calls of each group."""

_DIGITS = 10
"""From so many on, a number of calls is a mistake."""

DEFAULT_TIMEOUT = 300.0
"""Seconds. A straggler may be late by this much before it counts as lost."""


def _checks_asked_for() -> int:
    """Return how many calls of a group the environment asks to check."""
    given = os.environ.get(CHECK_VARIABLE, "0")
    if not (given.isascii() and given.isdigit() and len(given) < _DIGITS):
        raise UnusableRequest(f"{CHECK_VARIABLE} is a number of calls, not {given!r}")
    return int(given)


@dataclass
class ExchangeGroup:
    """One parent's ranks: the process group for rows, one for small notes, and the ledger.

    Make it once and hand it to every FeatureExchange of the same ranks:
    process groups are dear, and a micro-batch is not.

    While there is a group, a thread looks whether a peer broke off. It ends
    this process, with status 3 and one line, only where the group broke off
    and the process has not come back to the exchange for longer than `timeout`.
    """

    process_group: dist.ProcessGroup
    notes_group: dist.ProcessGroup
    ledger: Ledger
    transport: Transport
    lockstep: Lockstep
    mesh: Mesh | None = None
    """What the group was made for; None where only its ranks are known."""
    memory: Memory = field(default_factory=Memory)
    checks: int = field(default_factory=_checks_asked_for)
    """How many of the next calls compare what arrives."""

    def checks_next_call(self) -> bool:
        """Return whether a call that is about to be made compares what arrives, and count it."""
        checks = self.checks > 0
        self.checks -= checks
        return checks

    @property
    def global_ranks(self) -> tuple[int, ...]:
        """The group's ranks in the whole job, in the order of the process group."""
        return tuple(dist.get_process_group_ranks(self.process_group))

    @cached_property
    def device_types(self) -> tuple[str, ...]:
        """Where tensors that this group exchanges can be."""
        return _device_types(self.process_group)

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh | str,
        timeout: float = DEFAULT_TIMEOUT,
        ledger: Ledger | None = None,
        *,
        pool: int | Literal["all"] | None = None,
    ) -> ExchangeGroup:
        """Make the group of this process's parent. Every rank of the parent calls it.

        `mesh` may be text such as `dp=2,cp=2,tp=4,sp`; `timeout` is in seconds. The ranks of `pool`
        replicas share the encoder work; by default as many as the mesh says, which is one.
        Raises UnusableRequest where torch.distributed is not initialized, the
        job is not that of the mesh, or this rank is on a later pipeline stage.
        """
        if not dist.is_initialized():
            raise UnusableRequest("call torch.distributed.init_process_group before you make an exchange")
        _check_timeout(timeout)
        mesh = read_mesh(mesh) if pool is None else read_mesh(mesh).pooled(pool)
        if mesh.dp % mesh.pool:
            raise UnusableRequest(f"pools of {mesh.pool} replicas do not divide dp={mesh.dp}")
        world_size, rank = dist.get_world_size(), dist.get_rank()
        if world_size != mesh.world_size:
            raise UnusableRequest(
                f"the mesh {mesh} has {mesh.world_size} ranks, and the job runs on {world_size}"
            )
        at = mesh.parent_of(rank)
        if at is None:
            raise UnusableRequest(
                f"rank {rank} is on a later pipeline stage, and the first stage alone exchanges"
            )
        ranks = mesh.parents()[at[0]]
        joined = ledger or _joined(ranks, timeout)
        group = new_group(ranks, joined)
        return cls._made(group, joined, mesh, own=ledger is None)

    @classmethod
    def from_device_mesh(
        cls,
        device_mesh: DeviceMesh,
        *,
        sp: bool = False,
        pool: int | Literal["all"] = 1,
        axes: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> ExchangeGroup:
        """Make the group of this process's parent from a DeviceMesh. Every rank of the parent calls it.

        Dimensions may have any order. `dp_replicate`, `dp_shard`, `fsdp` and
        `ddp` are parts of dp, `context` and `ulysses` of cp, `model` of tp;
        `axes` names others, as {"data": "dp"}. `sp` says that TP ranks split
        the sequence, which a DeviceMesh does not say; the ranks of `pool`
        replicas share the encoder work. `timeout` is in seconds.
        Raises UnusableRequest where the mesh would be misread: a part of the
        job, an unknown name, an order of ranks that no mesh of hpplan has.
        """
        return cls.from_mesh(mesh_of(device_mesh, sp, axes), timeout, pool=pool)

    @classmethod
    def from_process_group(
        cls, process_group: dist.ProcessGroup, timeout: float = DEFAULT_TIMEOUT
    ) -> ExchangeGroup:
        """Use a process group whose ranks are a parent's, in parent order. All of them call it.

        Where these ranks' last group broke off, collectives may still wait in
        it for a rank that never came, and another one is made for the same ranks.
        Raises UnusableRequest where this rank is not in the group, and for a
        `timeout` that is no positive number of seconds.
        """
        if not isinstance(process_group, dist.ProcessGroup):
            raise UnusableRequest(f"this rank's process group is {process_group!r}, so it exchanges nothing")
        _check_timeout(timeout)
        ranks = dist.get_process_group_ranks(process_group)
        ledger = _joined(ranks, timeout)
        usable = not ledger.has([_BROKEN])
        return cls._made(process_group if usable else new_group(ranks, ledger), ledger, None, own=True)

    def gathered(self, mine: T, doing: str) -> list[T]:
        """Return what each rank of the group says, in the order of the group; every rank calls this.

        `doing` is what for, for messages. Small things only. Raises PeersFailed
        where a rank is lost meanwhile, or does something else.
        """
        return self.gathering(mine, doing).wait()

    def gathering(self, mine: T, doing: str) -> Pending[list[T]]:
        """Begin what `gathered` does, and return at once; to wait for it hands it over."""
        running = self.lockstep.begin(self.lockstep.gathering(pickle.dumps(mine), doing))

        def hand_over() -> list[T]:
            self.ledger.require_whole()
            told = self.lockstep.finish(running)
            said = dict(zip(self.global_ranks, told, strict=True))
            # Other ranks of the same job say this, as in torch's gathering of objects.
            return [cast("T", pickle.loads(said[rank])) for rank in self.order]  # noqa: S301 - as above

        return Pending(hand_over)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The global ranks in parent-rank order, where the mesh is known; torch may have sorted them."""
        if self.mesh is None:
            return self.global_ranks
        return next(ranks for ranks in self.mesh.parents() if self.global_ranks[0] in ranks)

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise UnusableRequest where routes are for another mesh than this group was made for."""
        if self.mesh is not None and mesh.shape != self.mesh.shape:
            raise UnusableRequest(
                f"the routes are for the mesh {mesh}, and the exchange group is for {self.mesh}"
            )

    @classmethod
    def _made(
        cls, process_group: dist.ProcessGroup, ledger: Ledger, mesh: Mesh | None, *, own: bool
    ) -> ExchangeGroup:
        notes_group = process_group
        if "cpu" not in _device_types(process_group):
            notes_group = new_group(dist.get_process_group_ranks(process_group), ledger, "gloo")
        transport = Transport(process_group, ledger)
        lockstep = Lockstep(notes_group, ledger, transport)
        made = cls(process_group, notes_group, ledger, transport, lockstep, mesh)
        if own:
            weakref.finalize(made, ledger.close)
        return made


def read_mesh(mesh: object) -> Mesh:
    """Return a mesh that may be text such as `dp=2,cp=2,tp=4,sp`.

    Raises UnusableRequest for what is neither, and InvalidOption for unusable text.
    """
    if isinstance(mesh, str):
        return parse_mesh(mesh, "mesh")
    if isinstance(mesh, Mesh):
        return mesh
    if isinstance(mesh, dist.DeviceMesh):
        raise UnusableRequest("a DeviceMesh makes a group with ExchangeGroup.from_device_mesh(device_mesh)")
    raise UnusableRequest(f"a mesh is text such as `dp=2,cp=2,tp=4,sp`, not {type(mesh).__name__}")


def _check_timeout(timeout: object) -> None:
    if not (isinstance(timeout, (int, float)) and timeout > 0 and math.isfinite(timeout)):
        raise UnusableRequest(f"a timeout is a positive number of seconds, not {timeout!r}")


def new_group(ranks: Sequence[int], ledger: Ledger, backend: str | None = None) -> dist.ProcessGroup:
    """Make a process group; its ranks alone take part, so that a large job does not make every parent's.

    Raises PeersFailed where one of them does not, or is lost meanwhile.
    """
    make = partial(
        dist.new_group,
        list(ranks),
        timeout=seconds(ledger.torchs_patience),
        backend=backend,
        use_local_synchronization=True,
    )
    made = ledger.in_time(on_device(make), _GROUPING)
    assert isinstance(made, dist.ProcessGroup)
    return made


def on_device(call: Callable[[], T]) -> Callable[[], T]:
    """Return a call that runs in any thread on the accelerator that is the current one in this thread."""
    modules = [getattr(torch, name, None) for name in ("cuda", "npu")]
    current = [(one, one.current_device()) for one in modules if one is not None and one.is_initialized()]

    def run() -> T:
        for module, device in current:
            module.set_device(device)
        return call()

    return run


def _joined(ranks: Sequence[int], timeout: float) -> Ledger:
    """Return a new ledger of these ranks once all of them have come for it.

    Raises PeersFailed, naming those that do not come.
    """
    rank = dist.get_rank()

    def connect() -> Store:
        name = sha256(repr(list(ranks)).encode()).hexdigest()[:16]
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = PrefixStore(f"hpplan/{attempt}/{name}", _default_store())
        # The ranks' n-th groups go together: notes of an earlier one, and its fault, stay behind.
        number = store.add(f"groups/{rank}", 1)
        last, this = (PrefixStore(str(one), store) for one in (number - 1, number))
        if last.check(["fault"]) or last.check([_BROKEN]):
            this.set(_BROKEN, "")
        return this

    def give_up(fault: Fault) -> None:
        end(f"{fault.reason}; rank {rank} did not come back to the exchange", fault.status)

    by_agent = os.environ.get(AGENT_STORE_VARIABLE) == "True"
    terms = Terms(
        world_size=dist.get_world_size(),
        holder="the launcher" if by_agent else "rank 0",
        holds_store=rank == 0 and not by_agent,
        speaker=speaker_of(ranks, agent_holds_store=by_agent),
        end=give_up,
        leash=timeout,
    )
    ledger = Ledger(Post(connect), ranks, rank, timeout, terms)
    try:
        ledger.set(f"joined/{rank}", __version__)
        versions = ledger.collect("joined", "make its exchange group")
        if (found := odd_one(versions)) is not None:
            odd, usual = (f"rank {ranks[at]} runs" for at in found)
            theirs, ours = (versions[at] for at in found)
            ledger.fail(ledger.declare(f"{odd} hpplan {theirs}, and {usual} {ours}"))
    except PeersFailed:
        ledger.close()
        raise
    return ledger


def _default_store() -> Store:
    """Return the job's store; where torch has a public way to it, through a connection of its own."""
    found = getattr(dist.group.WORLD, "get_group_store", None) or distributed_c10d._get_default_store  # noqa: SLF001 - torch 2.4 has no other
    store: Store = found()
    return store.clone() if hasattr(store, "clone") else store


def _device_types(process_group: dist.ProcessGroup) -> tuple[str, ...]:
    """Return the device types of a configuration such as `cpu:gloo,cuda:nccl`."""
    return tuple(part.partition(":")[0] for part in dist.get_backend_config(process_group).split(","))
