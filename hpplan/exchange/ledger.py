"""Notes that ranks leave for each other in the rendezvous store, so that they fail together.

The store outlives a broken collective. A rank that cannot go on writes down
why; a rank that waits looks there. When nobody wrote anything, ranks answer a
roll call, and those that do not answer are the ones that were lost.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

from hpplan.errors import ExecutionBroken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch._C._distributed_c10d import Store

_PAUSE = 0.05
"""Seconds between two looks at the store."""

_LONGEST_ROLL_CALL = 5.0


@dataclass(frozen=True)
class Fault:
    """Why execution broke off. `speaker` is the rank that tells people about it."""

    reason: str
    speaker: int
    status: int = ExecutionBroken.exit_status


class PeersFailed(ExecutionBroken):
    """Execution broke off on all ranks together, for the reason in `fault`.

    Whoever goes on all the same needs another ExchangeGroup: this one raises
    it again, in each call.
    """

    def __init__(self, fault: Fault) -> None:
        """Keep the fault that all ranks agree on."""
        self.fault = fault
        super().__init__(fault.reason)


class Ledger:
    """The notes of one set of ranks.

    `timeout` is in seconds: how long after a peer stopped every rank has
    ended. Waiting takes most of it, the roll call the rest.
    """

    def __init__(self, store: Store, ranks: Sequence[int], rank: int, timeout: float) -> None:
        """Take a store in which nobody else uses the keys `fault` and `here/…`."""
        self.ranks = tuple(ranks)
        self.rank = rank
        self.timeout = timeout
        self.roll_call_seconds = min(_LONGEST_ROLL_CALL, timeout / 4)
        self.breaking = False
        """Whether this rank is on its way out."""
        self.asking_since: float | None = None
        """When the store was asked what it has not answered yet, on the monotonic clock."""
        self._broken: Fault | None = None
        self._store = store

    @property
    def patience(self) -> float:
        """Seconds that a rank waits for its peers."""
        return self.timeout - self.roll_call_seconds

    def set(self, key: str, value: str) -> None:
        """Write a note."""
        with self._asking():
            self._store.set(key, value)

    def read(self, key: str) -> str | None:
        """Return a note, None where there is none yet. Never waits."""
        with self._asking():
            return self._store.get(key).decode() if self._store.check([key]) else None

    def has(self, keys: Sequence[str]) -> bool:
        """Whether all these notes are there."""
        with self._asking():
            return bool(self._store.check(list(keys)))

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return those of these notes that are not there."""
        return [key for key in keys if not self.has([key])]

    def fault(self) -> Fault | None:
        """Return why execution broke off, None while it has not."""
        note = self.read("fault")
        return None if note is None else Fault(**json.loads(note))

    def check(self, doing: str) -> None:
        """Raise PeersFailed once execution broke off; answer when somebody calls the roll."""
        self._broken = self._broken or self.fault()
        if self._broken is not None:
            self.breaking = True
        self.require_whole()
        if not self.breaking and self.has(["roll call"]):
            self.break_off(doing)

    def require_whole(self) -> None:
        """Raise PeersFailed where this rank knows that execution broke off; never asks the store."""
        if self._broken is not None:
            raise PeersFailed(self._broken)

    def hear(self, fault: Fault) -> None:
        """Take note of a fault that another thread has found, for the next step of this rank."""
        self._broken = self._broken or fault

    def declare(
        self, reason: str, status: int = ExecutionBroken.exit_status, speaker: int | None = None
    ) -> Fault:
        """Write down why execution breaks off. The first reason wins; return that one."""
        self.breaking = True
        note = json.dumps(asdict(Fault(reason, self.ranks[0] if speaker is None else speaker, status)))
        with self._asking():
            self._broken = Fault(**json.loads(self._store.compare_set("fault", "", note).decode()))
        return self._broken

    def refuse(self, reason: str) -> NoReturn:
        """Break off on all ranks because of this one."""
        raise PeersFailed(self.declare(f"rank {self.rank}: {reason}"))

    def wait_for(self, keys: Sequence[str], doing: str, *, pulse: str | None = None) -> None:
        """Wait for notes; break off when they do not come."""
        if self.absent(keys, doing, pulse=pulse):
            self.break_off(doing)

    def absent(self, keys: Sequence[str], doing: str, *, pulse: str | None = None) -> list[str]:
        """Wait for notes as long as patience lasts; return those that did not come.

        Patience begins anew whenever the note `pulse` changes.
        """
        deadline, beat = time.monotonic() + self.patience, None
        waiting = list(keys)
        while waiting and time.monotonic() < deadline:
            waiting = self.missing(waiting)
            if waiting:
                self.check(doing)
                time.sleep(_PAUSE)
            if pulse is not None and self.read(pulse) != beat:
                deadline, beat = time.monotonic() + self.patience, self.read(pulse)
        return waiting

    def break_off(self, doing: str, cause: str | None = None) -> NoReturn:
        """Call the roll, and break off on all ranks with the names of those that do not answer.

        `doing` says in which step, `cause` what this rank saw, if anything.
        """
        self.breaking = True
        self.check(doing)
        self.set(f"here/{self.rank}", doing)
        if cause or not self.has(["roll call"]):
            self.set("roll call", cause or "")
        deadline = time.monotonic() + self.roll_call_seconds
        waiting = [rank for rank in self.ranks if rank != self.rank]
        while waiting and time.monotonic() < deadline:
            waiting = [rank for rank in waiting if not self.has([f"here/{rank}"])]
            self.check(doing)
            time.sleep(_PAUSE)
        here = [rank for rank in self.ranks if rank not in waiting]
        verdict = self._verdict(waiting, doing, cause or self.read("roll call"))
        raise PeersFailed(self.declare(verdict, speaker=here[0]))

    def part(self, patience: float, *, waits: bool) -> None:
        """Say that this rank needs the store no longer; wait, where asked to, until nobody does."""
        self.breaking = True
        with contextlib.suppress(PeersFailed):
            self.set(f"bye/{self.rank}", "")
            deadline = time.monotonic() + patience
            while (
                waits and time.monotonic() < deadline and not self.has([f"bye/{rank}" for rank in self.ranks])
            ):
                time.sleep(_PAUSE)

    def _verdict(self, lost: list[int], doing: str, cause: str | None) -> str:
        if not lost:
            why = cause or f"no progress within {self.timeout:g} s"
            return f"{why}; every rank still answered, while {doing}"
        names = ", ".join(str(rank) for rank in lost)
        subject = f"ranks {names} are lost: they" if len(lost) > 1 else f"rank {names} is lost: it"
        if cause:
            return f"{subject} exited or died while the others were {doing}"
        return f"{subject} did not follow within {self.timeout:g} s while the others were {doing}"

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Note that the store is being asked; raise PeersFailed where it is no longer there."""
        self.asking_since = time.monotonic()
        try:
            yield
        except RuntimeError as error:
            self.breaking = True
            reason = "the rendezvous store is gone, and with it rank 0 or the launcher that holds it"
            # Nobody can be asked who speaks: the second rank does, as the first most likely held the store.
            speaker = self.ranks[min(1, len(self.ranks) - 1)]
            raise PeersFailed(Fault(f"{reason} ({first_line(error)})", speaker)) from error
        finally:
            self.asking_since = None


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line and without the C++ frames torch adds."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def seconds(value: float) -> timedelta:
    """Return a time span as torch takes it."""
    return timedelta(seconds=value)
