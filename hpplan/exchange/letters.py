"""What the ranks of a group send each other in each step: a note, and rows behind it where they are few."""

from __future__ import annotations

import mmap
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hpplan.exchange.transport import Transport

NOTE_BYTES = 1024

_ROOM = 1 << 20
"""Bytes of rows that one letter has room for."""

_BOX = 64 << 20
"""Bytes of rows that all letters to a rank have room for: in large groups there is less in each."""

_POSTAGE = 2 << 20
"""Bytes of rows that a rank puts into its letters, all of them: each is copied once more than needed."""


class Letters:
    """One letter from each rank to every other, in one collective.

    Every letter may be as long as the room for one, whatever step a rank
    takes, so that steps that do not belong together still meet without harm.
    gloo takes what is shorter than expected and carries what was sent; other
    backends want sizes that agree, and get notes alone.
    """

    def __init__(self, group: dist.ProcessGroup, transport: Transport) -> None:
        """Send letters between the CPUs of a group's ranks."""
        self.group = group
        self._transport = transport
        self.rank = dist.get_rank(group)
        ranks = range(dist.get_world_size(group))
        self._others = [rank for rank in ranks if rank != self.rank]
        gloo = "cpu:gloo" in dist.get_backend_config(group).split(",")
        self._room = min(_ROOM, _BOX // len(ranks)) if gloo else 0
        self._note = bytearray(NOTE_BYTES)
        self._noted = torch.frombuffer(self._note, dtype=torch.uint8)
        length = NOTE_BYTES + self._room
        self._splits = [0 if rank == self.rank else length for rank in ranks]
        # Pages that no letter ever reached cost nothing.
        self._box = mmap.mmap(
            -1, length * max(1, len(self._others)), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        self._arrived = torch.frombuffer(self._box, dtype=torch.uint8)[: sum(self._splits)]
        self._starts = [number * length for number in range(len(self._others))]

    @property
    def carries_rows(self) -> bool:
        """Whether letters have room for rows at all."""
        return self._room > 0

    def have_room(self, leaving: Sequence[torch.Tensor], arriving: Sequence[int]) -> bool:
        """Whether rows fit into letters: their bytes by rank, and how many are to come."""
        sizes = [rows.numel() for rows in leaving]
        return max(*sizes, *arriving) <= self._room and sum(sizes) <= _POSTAGE

    def exchange(
        self, note: bytes, leaving: Sequence[torch.Tensor] | None, doing: str
    ) -> Generator[None, None, None]:
        """Send a note, and rows to each rank where there are any; end once all letters are here."""
        self._note[:] = note
        pieces = []
        splits = [0] * len(self._splits)
        for rank in self._others:
            pieces.append(self._noted)
            splits[rank] = NOTE_BYTES
            if leaving is not None:
                pieces.append(leaving[rank])
                splits[rank] += leaving[rank].numel()
        sent = torch.cat(pieces)
        collective: partial[dist.Work] = partial(
            dist.all_to_all_single, self._arrived, sent, self._splits, splits, group=self.group
        )
        yield from self._transport.issue([collective], sent.device, doing)

    def notes(self, size: int) -> list[bytes]:
        """Return the first bytes of all notes, by rank."""
        notes = [self._box[start : start + size] for start in self._starts]
        notes.insert(self.rank, bytes(self._note[:size]))
        return notes

    def words(self, own: bytes, sizes: Sequence[int]) -> list[bytes]:
        """Return the bytes behind all notes, by rank, of so many each."""
        found = [
            self._box[start + NOTE_BYTES : start + NOTE_BYTES + sizes[rank]]
            for rank, start in zip(self._others, self._starts, strict=True)
        ]
        found.insert(self.rank, own)
        return found

    def rows(self, own: torch.Tensor, sizes: Sequence[int]) -> list[torch.Tensor]:
        """Return the bytes of rows that came with the last letters, by rank; they last until the next."""
        found = [
            self._arrived.narrow(0, start + NOTE_BYTES, sizes[rank])
            for rank, start in zip(self._others, self._starts, strict=True)
        ]
        found.insert(self.rank, own)
        return found
