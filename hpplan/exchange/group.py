"""The ranks that exchange with each other, and what they have in common."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore
from torch.distributed import distributed_c10d

from hpplan import __version__
from hpplan.errors import UnusableRequest
from hpplan.exchange.ledger import Ledger, PeersFailed, seconds
from hpplan.exchange.lockstep import Lockstep
from hpplan.exchange.memory import Memory
from hpplan.exchange.transport import Transport
from hpplan.routing.mesh import parse_mesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.routing.mesh import Mesh

_NOTE_BYTES = 1024
"""Fixed size of what each rank says in an agreement, so that no size needs agreeing first."""

DEFAULT_TIMEOUT = 300.0
"""Seconds. A straggler may be late by this much before it counts as lost."""


@dataclass
class ExchangeGroup:
    """One parent's ranks: the process group for rows, one for small notes, and the ledger.

    Make it once and hand it to every FeatureExchange of the same ranks:
    process groups are dear, and a micro-batch is not.
    """

    process_group: dist.ProcessGroup
    notes_group: dist.ProcessGroup
    ledger: Ledger
    transport: Transport
    lockstep: Lockstep
    memory: Memory = field(default_factory=Memory)

    @property
    def global_ranks(self) -> tuple[int, ...]:
        """The group's ranks in the whole job, in the order of the process group."""
        return tuple(dist.get_process_group_ranks(self.process_group))

    @property
    def device_types(self) -> tuple[str, ...]:
        """Where tensors that this group exchanges can be."""
        return _device_types(self.process_group)

    @classmethod
    def from_mesh(
        cls, mesh: Mesh | str, timeout: float = DEFAULT_TIMEOUT, ledger: Ledger | None = None
    ) -> ExchangeGroup:
        """Make the group of this process's parent. Every rank of the parent calls it.

        `mesh` may be text such as `dp=2,cp=2,tp=4,sp`; `timeout` is in seconds.
        Raises UnusableRequest where torch.distributed is not initialized, the
        job is not that of the mesh, or this rank is on a later pipeline stage.
        """
        if not dist.is_initialized():
            raise UnusableRequest("call torch.distributed.init_process_group before you make an exchange")
        _check_timeout(timeout)
        mesh = parse_mesh(mesh, "mesh") if isinstance(mesh, str) else mesh
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
        group = new_group(ranks, timeout)
        return cls.from_process_group(group, timeout, ledger)

    @classmethod
    def from_process_group(
        cls, process_group: dist.ProcessGroup, timeout: float = DEFAULT_TIMEOUT, ledger: Ledger | None = None
    ) -> ExchangeGroup:
        """Use a process group whose ranks are a parent's, in parent order. All of them call it.

        Raises UnusableRequest where this rank is not in the group, and for a
        `timeout` that is no positive number of seconds.
        """
        if not isinstance(process_group, dist.ProcessGroup):
            raise UnusableRequest(f"this rank's process group is {process_group!r}, so it exchanges nothing")
        _check_timeout(timeout)
        ranks = dist.get_process_group_ranks(process_group)
        notes_group = process_group
        if "cpu" not in _device_types(process_group):
            notes_group = new_group(ranks, timeout, "gloo")
        if ledger is None:
            store = PrefixStore(
                f"hpplan/{process_group.group_name}",
                distributed_c10d._get_default_store(),  # noqa: SLF001 - torch has no public name for it
            )
            ledger = Ledger(store, ranks, dist.get_rank(), timeout)
        transport = Transport(process_group, ledger)
        return cls(process_group, notes_group, ledger, transport, Lockstep(notes_group, ledger, transport))

    def agree(self, note: dict[str, Any], doing: str) -> list[dict[str, Any]]:
        """Exchange one small note with every rank of the group; return all, in group order.

        Raises PeersFailed on every rank when one brings a `fault`, or runs
        another hpplan.
        """
        text = json.dumps({"version": __version__, **note}, separators=(",", ":")).encode()
        if len(text) > _NOTE_BYTES:
            note = {"fault": str(note.get("fault", "its note is too long"))[: _NOTE_BYTES // 2]}
            text = json.dumps({"version": __version__, **note}).encode()
        spoken = self.transport.gather_notes(text.ljust(_NOTE_BYTES), self.notes_group, doing)
        notes = [json.loads(said) for said in spoken]
        for rank, said in zip(self.global_ranks, notes, strict=True):
            if said.get("fault"):
                self.fail(f"rank {rank}: {said['fault']}")
        self.require_same(notes, "version", "runs hpplan {theirs}, and rank {first} runs {ours}")
        return notes

    def require_same(self, notes: list[dict[str, Any]], key: str, message: str) -> None:
        """Fail on every rank where the notes differ in `key`; name the first rank that differs."""
        ours = notes[0].get(key)
        for rank, said in zip(self.global_ranks, notes, strict=True):
            theirs = said.get(key)
            if theirs != ours:
                text = message.format(theirs=theirs, ours=ours, first=self.global_ranks[0])
                self.fail(f"rank {rank} {text}")

    def fail(self, reason: str) -> None:
        """Break off for a reason that every rank has found out by itself."""
        raise PeersFailed(self.ledger.declare(reason))


def _check_timeout(timeout: object) -> None:
    if not (isinstance(timeout, (int, float)) and timeout > 0 and math.isfinite(timeout)):
        raise UnusableRequest(f"a timeout is a positive number of seconds, not {timeout!r}")


def new_group(ranks: Sequence[int], timeout: float, backend: str | None = None) -> dist.ProcessGroup:
    """Make a process group; its ranks alone take part, so that a large job does not make every parent's.

    torch's own timeout is longer than `timeout`, in seconds: the ledger's comes first, and names the rank.
    """
    made = dist.new_group(
        list(ranks), timeout=seconds(2 * timeout), backend=backend, use_local_synchronization=True
    )
    assert isinstance(made, dist.ProcessGroup)
    return made


def _device_types(process_group: dist.ProcessGroup) -> tuple[str, ...]:
    """Return the device types of a configuration such as `cpu:gloo,cuda:nccl`."""
    return tuple(part.partition(":")[0] for part in dist.get_backend_config(process_group).split(","))
