"""Notes that ranks leave for each other in the rendezvous store, so that they fail together.

The store outlives a broken collective. A rank that cannot go on writes down
why; the others look there for one note, the alarm, less often the more ranks
there are. When nobody knows why, the roll is called: each rank's post answers
that the process is there, and its main thread, where it waits too, that it
works. Those that answer neither, or not the second, are the ones that are lost.
"""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn, TypeVar

from hpplan.errors import ExecutionBroken
from hpplan.watch.faults import Fault, PeersFailed, first_line
from hpplan.watch.notes import ALARM, OVER, Notes, Terms
from hpplan.watch.post import Post, in_thread
from hpplan.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch.distributed import Store

_GRACE = 1.0
"""Seconds after a fault in which the main thread should have noticed it, unless torch holds it."""

_STOPPED = "SIGTERM"
"""What a rank that was told to end answers when the roll is called."""

PULSE = "pulse"
"""The note by which the first rank's main thread shows that it works, for ranks that wait long for it."""

T = TypeVar("T")


class Ledger(Notes):
    """The notes of one set of ranks.

    `timeout` is in seconds: how long after a peer stopped every rank has
    ended. Waiting takes most of it, the roll call the rest.
    """

    def __init__(self, post: Post, ranks: Sequence[int], rank: int, timeout: float, terms: Terms) -> None:
        """Take a post to a store in which nobody else uses the keys of this module."""
        super().__init__(post, ranks, rank, timeout, terms)
        self.stopped = False
        """Whether this rank was told to end."""
        self._seen = self._heard = time.monotonic()
        self._doing: str | None = None
        self._alarmed = 0.0
        self._answered: set[str] = set()
        self._beat = 0.0
        self._left: float | None = None
        post.watch(self._look)

    def fault(self) -> Fault | None:
        """Return why execution broke off, None while it has not."""
        note = self.read("fault")
        return None if note is None else Fault(**json.loads(note))

    def check(self, doing: str) -> None:
        """Raise PeersFailed once execution broke off; a main thread that waits calls this all the time.

        Never asks the store, unless a roll was called that nobody counted.
        """
        self._seen, self._doing = time.monotonic(), doing
        self._raise_what_broke()
        if self._alarmed and not self.breaking and self._seen > self._alarmed + 2 * self.roll_call_seconds:
            self.break_off(doing)

    def require_whole(self) -> None:
        """Raise PeersFailed where this rank knows that execution broke off; never asks the store."""
        self._seen, self._doing = time.monotonic(), None
        self._raise_what_broke()

    def declare(
        self, reason: str, status: int = ExecutionBroken.exit_status, speaker: int | None = None
    ) -> Fault:
        """Write down why execution breaks off. The first reason wins; return that one."""
        self.breaking = True
        fault = Fault(reason, self.ranks[0] if speaker is None else speaker, status)
        note = json.dumps(asdict(fault))

        def write(store: Store) -> str:
            found = store.compare_set("fault", "", note).decode()
            store.set(ALARM, "")
            return found

        self._broken = Fault(**json.loads(self._ask(write)))
        self._noticed = True
        return self._broken

    def declare_failure(self, error: Exception) -> Fault:
        """Write down that this rank failed by itself: it shows its error, and another says whose it is."""
        others = [rank for rank in self.ranks if rank != self.rank]
        what = f"{type(error).__name__}: {first_line(error)}"
        return self.declare(f"rank {self.rank} failed with {what}", speaker=(others or self.ranks)[0])

    def fail(self, fault: Fault) -> NoReturn:
        """Raise PeersFailed, in a trainer not before the others have heard of the fault too."""
        self.breaking = self._noticed = True
        self._broken = self._broken or fault
        if not self._terms.needs_store and not self._closed:
            self.part()
            self.close()
        raise PeersFailed(fault)

    def refuse(self, reason: str) -> NoReturn:
        """Break off on all ranks because of this one."""
        self.fail(self.declare(f"rank {self.rank}: {reason}"))

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Break off on all ranks where the block raises; this one raises its own error."""
        try:
            yield
        except PeersFailed:
            raise
        except Exception as error:
            with suppress(PeersFailed):
                self.fail(self.declare_failure(error))
            raise

    def collect(self, key: str, failing_to: str) -> list[str]:
        """Return what every rank wrote under `key`, by rank.

        Raises PeersFailed on every rank, naming those that failed to.
        """
        if self.absent(self._notes(key), f"waiting to {failing_to}"):
            self.require_notes(key, failing_to)
        return [self.read(note) or "" for note in self._notes(key)]

    def require_notes(self, key: str, failing_to: str) -> None:
        """Break off on all ranks where some did not write their note in time, naming those."""
        missing = self.missing(self._notes(key))
        if missing:
            lost = [int(note.rpartition("/")[2]) for note in missing]
            reason = f"{listed('rank', lost, len(lost))} did not {failing_to} within {self.timeout:g} s"
            speaker = next((rank for rank in self.ranks if rank not in lost), self.rank)
            self.fail(self.declare(reason, speaker=speaker))

    def _notes(self, key: str) -> list[str]:
        return [f"{key}/{rank}" for rank in self.ranks]

    def wait_for(self, keys: Sequence[str], doing: str, *, pulse: str | None = None) -> None:
        """Wait for notes; break off when they do not come."""
        if self.absent(keys, doing, pulse=pulse):
            self.break_off(doing)

    def absent(self, keys: Sequence[str], doing: str, *, pulse: str | None = None) -> bool:
        """Wait for notes as long as patience lasts; return whether some did not come.

        Patience begins anew whenever the note `pulse` changes.
        """
        begun = looked = time.monotonic()
        beat = None
        while not self.has(keys):
            self.check(doing)
            now = time.monotonic()
            if pulse is not None and now > looked + self._period:
                looked, last, beat = now, beat, self.read(pulse)
                begun = now if beat != last else begun
            if now > begun + self.patience:
                return True
            time.sleep(self._pause)
        return False

    def break_off(self, doing: str, cause: str | None = None) -> NoReturn:
        """Call the roll, and break off on all ranks with the names of those that do not answer.

        `doing` says in which step, `cause` what this rank saw, if anything.
        """
        self.breaking = True
        self._raise_what_broke()
        self.set(f"alive/{self.rank}", "")
        self.set(f"here/{self.rank}", _STOPPED if self.stopped else doing)
        if cause:
            self.set("cause", cause)
        counts = self._ask(self._raise_alarm)
        answers = self._notes("here")
        # Who calls it counts; the others do only where that rank is lost too.
        deadline = time.monotonic() + self.roll_call_seconds * (1 if counts else 2)
        while time.monotonic() < deadline and not (counts and self.has(answers)):
            self._raise_what_broke()
            if (fault := self.fault()) is not None:
                self.fail(fault)
            if self.stopped and self.has(self._notes("alive")):
                # Nobody is lost; whoever else was told to end says so soon.
                deadline = min(deadline, time.monotonic() + _GRACE)
            time.sleep(self._pause)
        self.fail(self._verdict(doing, cause or self.read("cause")))

    def in_time(self, call: Callable[[], T], doing: str) -> T:
        """Return what a call of torch's returns, made in a thread: no time limit of its own always holds.

        The call has `torchs_patience`. Ranks that come back from it with an
        error call the roll; those that do not are the ones that are lost.
        """
        begun, outcome = time.monotonic(), in_thread(call)
        while not wait([outcome], self._pause).done:
            self.require_whole()
            now, asked = time.monotonic(), self._post.asking_since or math.inf
            if now > asked + self.timeout:
                raise self._without_store()
            if now > begun + self.timeout + self.roll_call_seconds:
                self.break_off(doing)
        try:
            return outcome.result()
        except RuntimeError as error:
            spent = time.monotonic() > begun + self.patience
            self.break_off(doing, None if spent else first_line(error))

    def part(self, patience: float = 0.0) -> None:
        """Say that this rank needs the store no longer; where it may hold it, wait until nobody does.

        At least as long as it takes the others to hear of a fault.
        """
        self.breaking = True
        # A rank that is lost may be there all the same, and end only once it has heard so.
        others = self._notes("bye")
        deadline = time.monotonic() + max(patience, 2 * self._period + _GRACE)
        try:
            self.set(f"bye/{self.rank}", "")
            while self._terms.holds_store and time.monotonic() < deadline and not self.has(others):
                time.sleep(self._pause)
        except PeersFailed:
            return

    def _raise_what_broke(self) -> None:
        if self._broken is not None:
            self.fail(self._broken)

    def _raise_alarm(self, store: Store) -> bool:
        """Call the roll; return whether nobody else has called it."""
        mine = str(self.rank)
        found = store.compare_set(ALARM, "", mine).decode()
        return mine == (store.compare_set(ALARM, OVER, mine).decode() if found == OVER else found)

    def _verdict(self, doing: str, cause: str | None) -> Fault:
        """Write down what the roll call found."""
        answers = {rank: self.read(f"here/{rank}") for rank in self.ranks}
        silent = [rank for rank in self.ranks if answers[rank] is None]
        gone = [rank for rank in silent if not self.has([f"alive/{rank}"])]
        stopped = [rank for rank in self.ranks if answers[rank] == _STOPPED]
        # Where torch holds all main threads, none of them shows which is to blame.
        lost = gone or ([] if cause or stopped or len(silent) == len(self.ranks) else silent)
        speaker = next((rank for rank in self.ranks if rank not in silent), self.rank)
        if lost:
            names = ", ".join(str(rank) for rank in lost)
            subject = f"ranks {names} are lost: they" if len(lost) > 1 else f"rank {names} is lost: it"
            what = "exited or died" if cause or stopped else f"did not follow within {self.timeout:g} s"
            reason = f"{subject} {what} while the others were {doing}"
        elif stopped and len(stopped) == len(self.ranks):
            reason = "the launcher stopped the job (SIGTERM)"
        elif stopped:
            were = "were" if len(stopped) > 1 else "was"
            reason = f"{listed('rank', stopped, len(stopped))} {were} stopped (SIGTERM)"
        else:
            why = cause or f"no progress within {self.timeout:g} s"
            reason = f"{why}; every rank still answered, while {doing}"
        return self.declare(reason, speaker=speaker)

    def _look(self) -> float:
        """Do what the post does by itself; return the seconds until it does so again."""
        now = time.monotonic()
        if self._closed:
            return math.inf
        if self._broken is not None:
            if not self._noticed and now > max(self._heard + _GRACE, self._seen + self._terms.leash):
                self._terms.end(self._broken)
        elif self._left is None or self._left != self._seen:
            try:
                self._look_for_faults()
            except PeersFailed as failure:
                if not self._terms.needs_store or self.breaking:
                    # Somebody may have left; it is a fault only where somebody waits.
                    return math.inf
                self._broken, self._heard = failure.fault, now
        return self._pause if self._alarmed else self._period

    def _look_for_faults(self) -> None:
        if self._terms.needs_store and self.rank == self.ranks[0] and self._beat != self._seen:
            self._beat = self._seen
            self.set(PULSE, str(self._beat))
        if not self._alarmed:
            alarm = self.read(ALARM)
            if alarm == OVER:
                self._left = self._seen
            if alarm in (None, OVER):
                return
            self._alarmed = time.monotonic()
        fault = self.fault()
        if fault is not None:
            self._broken, self._heard = self._broken or fault, time.monotonic()
            self.set(f"bye/{self.rank}", "")
        elif not self.breaking:
            self._answer("alive", "")
            if self.stopped:
                self._answer("here", _STOPPED)
            elif self._doing is not None and self._seen > self._alarmed:
                self._answer("here", self._doing)

    def _answer(self, key: str, word: str) -> None:
        if key not in self._answered:
            self._answered.add(key)
            self.set(f"{key}/{self.rank}", word)
