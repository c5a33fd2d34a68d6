"""What every rank says with the rows or gradients that it sends, so that no two take different steps."""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch.nn import functional

from hpplan.exchange.letters import NOTE_BYTES, Letters
from hpplan.exchange.payloads import name_of, spelled
from hpplan.exchange.running import Running
from hpplan.watch.majority import odd_one

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hpplan.exchange.payloads import Signature
    from hpplan.exchange.transport import Transport
    from hpplan.watch.ledger import Ledger

T = TypeVar("T")

_FORM = struct.Struct("<16sQB8sB")
"""Stamp, call, kind, dtype, flags; the first three are the same for all ranks."""

_DTYPE_AT, _FLAGS_AT = _FORM.size - 9, _FORM.size - 1
_ANY_DTYPE = bytes(8)
"""Of a rank without rows, which has that of the others."""

_NEEDS_GRAD = 1
_CARRIED = 2

_ORDER = (
    "every rank must call the same exchanges, and run their backwards, in the same order, "
    "and tie(loss) in what its loss leaves out"
)

_SHOWN = len("sha256:") + 12
"""Characters of a digest that a message shows."""


class Kind(IntEnum):
    """What a rank is sending in a step; words are what it says to all, between calls."""

    FEATURES = 1
    GRADIENTS = 2
    WORDS = 3


class Alike:
    """What all ranks must do alike in a call, and its backward."""

    def __init__(
        self,
        routes: str,
        replica_grad: str,
        signature: Signature,
        news: str = "",
        *,
        first: bool,
        checked: bool = False,
        without_rows: bool = False,
    ) -> None:
        """Take what can be said about a call; `news` says why this rank may be the odd one."""
        self.signature = signature
        dtype = "" if without_rows else name_of(signature.dtype)
        self.dtype = sha256(dtype.encode()).digest()[: len(_ANY_DTYPE)] if dtype else _ANY_DTYPE
        exact = sha256(repr(signature[1:]).encode()).hexdigest()
        self.stamp = sha256(f"{routes} {replica_grad} {exact} {checked}".encode()).digest()[:16]
        brings = {"brings": spelled(signature)[:200], "exact": exact, "dtype": dtype, "news": news[:300]}
        said = {"routes": routes, "replica_grad": replica_grad, **brings, "first": first, "checked": checked}
        text = json.dumps(said, ensure_ascii=False).encode()
        self.text = text.ljust(NOTE_BYTES - _FORM.size)
        self.apart = False
        """Whether some rank's rows are known to be too many for letters."""


class Lockstep:
    """Lets the ranks of a group take a step together, or none of them.

    The calls of a group are counted, over all its exchanges. Notes travel in
    letters, which meet whatever step each rank takes; payload collectives of
    different steps would fill each other's buffers, or abort the process.
    """

    def __init__(self, notes_group: dist.ProcessGroup, ledger: Ledger, transport: Transport) -> None:
        """Count from the group's first call."""
        self.calls = 0
        self.letters = Letters(notes_group, transport)
        self._ranks = dist.get_process_group_ranks(notes_group)
        self._ledger = ledger
        self._transport = transport
        self._open: Running[Any] | None = None
        """What has sent its letters, and not looked at those of the others."""

    def begin(self, steps: Generator[None, None, T]) -> Running[T]:
        """Begin what first takes a step; its letters are on their way then."""
        running = Running(steps)
        self._open = running
        return running

    def settle(self) -> None:
        """Have what has sent its letters read those of the others, and issue what follows.

        Before anything else goes over the group: then all ranks issue
        collectives in one order, whenever each of them waits.
        """
        running, self._open = self._open, None
        if running is not None:
            running.go_on()

    def finish(self, running: Running[T]) -> T:
        """Return what a running exchange makes once it has waited for everything."""
        if self._open is running:
            self.settle()
        return running.finish()

    def gathering(self, mine: bytes, doing: str) -> Generator[None, None, list[bytes]]:
        """Tell all ranks something; make what each of them told, by rank."""
        self._ledger.require_whole()
        self.settle()
        ranks = len(self._ranks)
        if ranks == 1:
            return [mine]
        text = json.dumps({"doing": doing, "size": len(mine)}).encode().ljust(NOTE_BYTES - _FORM.size)
        stamp = sha256(doing.encode()).digest()[:16]
        note = _FORM.pack(stamp, self.calls, Kind.WORDS, _ANY_DTYPE, 0) + text
        words = torch.frombuffer(bytearray(mine), dtype=torch.uint8)
        carried = self.letters.have_room([words] * ranks, [])
        yield from self.letters.exchange(note, [words] * ranks if carried else None, doing)
        self.compare()
        sizes: list[int] = [_read(one).alike["size"] for one in self.letters.notes(NOTE_BYTES)]
        if self.letters.have_room([words.new_empty(max(sizes))] * ranks, []):
            return self.letters.words(mine, sizes)
        box = bytearray(ranks * max(sizes))
        slots = torch.frombuffer(box, dtype=torch.uint8).view(ranks, -1)
        padded = functional.pad(words, (0, max(sizes) - len(mine)))
        collective: partial[dist.Work] = partial(
            dist.all_gather, list(slots.unbind()), padded, group=self.letters.group
        )
        yield from self._transport.issue([collective], padded.device, doing)
        return [bytes(box[at * max(sizes) :][:size]) for at, size in enumerate(sizes)]

    def call(self, alike: Alike, *, wants_grad: bool) -> Step:
        """Return the first step of this rank's next call."""
        self._ledger.require_whole()
        self.calls += 1
        return Step(self, alike, Kind.FEATURES, self.calls, wants_grad=wants_grad)

    def compare(self) -> list[int]:
        """Return the flags of all ranks' last notes; raise PeersFailed where they are not of one step."""
        heads = self.letters.notes(_FORM.size)
        mine = heads[0][:_DTYPE_AT]
        dtypes = {head[_DTYPE_AT:_FLAGS_AT] for head in heads} - {_ANY_DTYPE}
        if len(dtypes) > 1 or not all(head.startswith(mine) for head in heads):
            notes = self.letters.notes(NOTE_BYTES)
            self._fail(_difference(self._ranks, [_read(note) for note in notes]))
        return [head[_FLAGS_AT] for head in heads]

    def dtype(self) -> torch.dtype | None:
        """Return the dtype that ranks with rows brought with their last notes; None where none has any."""
        names = (_read(note).alike["dtype"] for note in self.letters.notes(NOTE_BYTES))
        name = next((name for name in names if name), None)
        return None if name is None else getattr(torch, name)

    def _fail(self, reason: str) -> NoReturn:
        self._ledger.fail(self._ledger.declare(reason))


class Step:
    """One step of one rank: sending the features, or the gradients, of a call."""

    def __init__(self, lockstep: Lockstep, alike: Alike, kind: Kind, call: int, *, wants_grad: bool) -> None:
        """Know what the rank is about to do."""
        self.needs_grad = wants_grad
        """Whether some rank needs gradients, as far as is known."""
        self.alike = alike
        self._lockstep = lockstep
        self._kind = kind
        self._call = call
        self._met = False
        """Whether the letters of this step are here already."""

    def back(self) -> Step:
        """Return the step of the call's backward."""
        return Step(self._lockstep, self.alike, Kind.GRADIENTS, self._call, wants_grad=False)

    def meet(self, doing: str) -> Generator[None, None, torch.dtype | None]:
        """Exchange the letters of a rank without rows; make the others' dtype, None where none has rows.

        The step is taken afterwards, by a rank that knows how many bytes came.
        """
        yield from self._write(None, self._lockstep.letters.carries_rows, doing)
        self._met = True
        return self._lockstep.dtype()

    def take(
        self, leaving: Sequence[torch.Tensor], arriving: Sequence[int], doing: str
    ) -> Generator[None, None, list[torch.Tensor] | None]:
        """Wait until every rank has sent its note of this step; make the rows that came with it, by rank.

        Rows are bytes on CPUs, and `arriving` is how many are to come. None
        where rows travel apart: where there are many, or they are elsewhere.
        Raises PeersFailed on every rank where one takes another step.
        """
        letters = self._lockstep.letters
        if not self._met:
            carried = bool(leaving) and not self.alike.apart and letters.have_room(leaving, arriving)
            yield from self._write(leaving if carried else None, carried, doing)
        return None if self.alike.apart else letters.rows(leaving[letters.rank], arriving)

    def _write(
        self, leaving: Sequence[torch.Tensor] | None, carried: bool, doing: str
    ) -> Generator[None, None, None]:
        """Exchange letters, and find out what all ranks do."""
        self._lockstep.settle()
        alike = self.alike
        flags = _NEEDS_GRAD * self.needs_grad + _CARRIED * carried
        head = _FORM.pack(alike.stamp, self._call, self._kind, alike.dtype, flags)
        yield from self._lockstep.letters.exchange(head + alike.text, leaving, doing)
        every, some = ~0, 0
        for flags in self._lockstep.compare():
            every &= flags
            some |= flags
        self.needs_grad = bool(some & _NEEDS_GRAD)
        alike.apart = not every & _CARRIED


class _Said(NamedTuple):
    kind: Kind
    call: int
    alike: dict[str, Any]

    @property
    def doing(self) -> str:
        if self.kind is Kind.WORDS:
            return f"is {self.alike['doing']}"
        what = "features" if self.kind is Kind.FEATURES else "gradients"
        return f"is sending {what} of its call {self.call}"


def _read(note: bytes) -> _Said:
    _, call, kind, _, _ = _FORM.unpack_from(note)
    return _Said(Kind(kind), call, json.loads(note[_FORM.size :]))


def _difference(ranks: Sequence[int], said: Sequence[_Said]) -> str:
    """Return what is wrong where ranks take different steps, naming the odd one."""
    if (found := odd_one([(one.kind, one.call, one.doing) for one in said])) is not None:
        odd, usual = found
        steps = f"rank {ranks[odd]} {said[odd].doing}, and rank {ranks[usual]} {said[usual].doing}"
        return f"{steps}; {_ORDER}"
    with_rows = [at for at, one in enumerate(said) if one.alike["dtype"]]
    for key in ("routes", "replica_grad", "checked", "exact", "dtype"):
        at = with_rows if key == "dtype" else range(len(said))
        if (found := odd_one([said[rank].alike[key] for rank in at])) is not None:
            odd, usual = found = (at[found[0]], at[found[1]])
            break
    assert found is not None
    (theirs, ours), first = (said[at].alike for at in found), all(said[at].alike["first"] for at in found)
    what = "" if first else f"{said[odd].doing} "
    if key == "routes":
        how = "has" if first else f"{what}by"
        digests = f"digests {theirs[key][:_SHOWN]}… and {ours[key][:_SHOWN]}…"
        text = f"{how} other routes than rank {ranks[usual]}: {digests}"
        return f"rank {ranks[odd]} {text}" + ("" if first else f"; {_ORDER}")
    if key == "replica_grad":
        return f"rank {ranks[odd]} has {key} {theirs[key]!r}, and rank {ranks[usual]} {ours[key]!r}"
    if key == "checked":
        with_it, without = found if theirs["checked"] else (usual, odd)
        return f"rank {ranks[with_it]} checks what arrives, and rank {ranks[without]} does not"
    for rank, one in zip(ranks, said, strict=True):
        if one.alike["news"]:
            return f"rank {rank} {one.alike['news']}"
    and_brings = "brings" if first else f"{what}and brings"
    return f"rank {ranks[odd]} {and_brings} {theirs['brings']}, and rank {ranks[usual]} {ours['brings']}"
