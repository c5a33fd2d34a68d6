"""What every rank says before rows or gradients travel, so that no two take different steps."""

from __future__ import annotations

import struct
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import torch.distributed as dist

from hpplan.exchange.majority import odd_one

if TYPE_CHECKING:
    from hpplan.exchange.ledger import Ledger
    from hpplan.exchange.transport import Transport

_FORM = struct.Struct("<8s8sIB3x")
"""Digest, brings, call, kind: the same size in every step, so that any two can meet."""

_ORDER = (
    "every rank must call the same exchanges, and run their backwards, in the same order, "
    "and tie(loss) in what its loss leaves out"
)


class Kind(IntEnum):
    """What a rank is about to do."""

    AGREEING = 0
    FEATURES = 1
    GRADIENTS = 2


_DOING = {
    Kind.AGREEING: "agrees on the exchange in",
    Kind.FEATURES: "is sending features of",
    Kind.GRADIENTS: "is sending gradients of",
}


class Step(NamedTuple):
    """One step of one rank: sending the features, or the gradients, of a call, or agreeing before it."""

    digest: bytes
    """The first bytes of the digest of the routes."""
    brings: bytes
    """The first bytes of a digest of dtype, widths and whether gradients travel."""
    call: int
    kind: Kind


class Lockstep:
    """Lets the ranks of a group take a step together, or none of them.

    The calls of a group are counted, over all its exchanges. What is sent is
    of one size, whatever the step, so that it cannot be mistaken; payload
    collectives of different steps would fill each other's buffers, or abort
    the process.
    """

    def __init__(self, notes_group: dist.ProcessGroup, ledger: Ledger, transport: Transport) -> None:
        """Count from the group's first call."""
        self.calls = 0
        self._notes_group = notes_group
        self._ledger = ledger
        self._transport = transport
        self._spelled: dict[bytes, str] = {}

    def short(self, text: str) -> bytes:
        """Return what stands for a text in a step; failures can spell it on every rank that knows it."""
        found = sha256(text.encode()).digest()[:8]
        self._spelled[found] = text
        return found

    def take(self, step: Step, doing: str, news: str | None = None) -> None:
        """Return once every rank of the group is about to take this step.

        Raises PeersFailed on every rank where one is about to take another.
        `news` says, for the others, why this rank may be the one.
        """
        self._ledger.require_whole()
        if news is not None:
            self._ledger.set(self._news(self._ledger.rank, step.call), news)
        mine = _FORM.pack(*step)
        said = self._transport.gather_notes(mine, self._notes_group, doing)
        if any(one != mine for one in said):
            self._compare([_read(one) for one in said])

    def _compare(self, steps: list[Step]) -> None:
        ranks = dist.get_process_group_ranks(self._notes_group)
        if {step.kind for step in steps} == {Kind.AGREEING} and len({step.call for step in steps}) == 1:
            # What they bring, and whether that is the same, is what they are about to tell.
            return
        for rank, step in zip(ranks, steps, strict=True):
            news = self._ledger.read(self._news(rank, step.call)) if step.kind is Kind.AGREEING else None
            if news is not None:
                self._fail(news)
        found = odd_one(steps)
        assert found is not None
        (step, first), (rank, usual) = [steps[at] for at in found], [ranks[at] for at in found]
        if (step.kind, step.call) != (first.kind, first.call):
            others = f"rank {usual} {_DOING[first.kind]} its call {first.call}"
            self._fail(f"rank {rank} {_DOING[step.kind]} its call {step.call}, and {others}; {_ORDER}")
        what = f"rank {rank} {_DOING[step.kind]} its call {step.call}"
        if step.digest != first.digest:
            digests = f"digests {_shown(step.digest)} and {_shown(first.digest)}"
            self._fail(f"{what} by other routes than rank {usual}: {digests}; {_ORDER}")
        theirs, ours = (self._spelled.get(one.brings, "something else") for one in (step, first))
        self._fail(f"{what} and brings {theirs}, and rank {usual} {ours}")

    def _fail(self, reason: str) -> NoReturn:
        self._ledger.fail(self._ledger.declare(reason))

    def _news(self, rank: int, call: int) -> str:
        return f"news/{rank}/{call}"


def digest_prefix(digest: str) -> bytes:
    """Return the first eight bytes of a digest such as `sha256:12ab…`; zeros stand for what it lacks."""
    return bytes.fromhex(digest.partition(":")[2][:16].ljust(16, "0"))


def _read(said: bytes) -> Step:
    digest, brings, call, kind = _FORM.unpack(said)
    return Step(digest, brings, call, Kind(kind))


def _shown(digest: bytes) -> str:
    return f"sha256:{digest.hex()[:12]}…"
