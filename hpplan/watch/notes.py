"""Notes of one set of ranks in the store: written, read and missed, with a limit on all of it. No torch."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hpplan.watch.faults import Fault, PeersFailed
from hpplan.watch.post import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.distributed import Store

    from hpplan.watch.post import Post

_PAUSE = 0.05
"""Seconds between two looks at the store, for a rank that waits for a note."""

_PERIOD = 0.5
"""The same, for one that looks only whether something is wrong."""

_RANKS_A_SECOND = 1000
"""Of more ranks than look at the store in the shortest time, so many look in a second."""

_LEAST_ROLL_CALL = 5.0
_LEAST_LIMIT = 2.0
"""Seconds in which a store must answer a rank that breaks off."""

_PARTING = 1.0

ALARM = "alarm"
OVER = "over"
"""What the alarm says where the rank that may hold the store has merely left."""

T = TypeVar("T")


class Terms(NamedTuple):
    """What a ledger is told about the job."""

    world_size: int
    """Ranks that look at the same store."""
    holder: str
    """Who holds the store, for messages."""
    holds_store: bool
    """Whether it may be this process."""
    speaker: int
    """The rank that tells people where the store is of no use, so that nobody can be asked who does."""
    end: Callable[[Fault], object]
    """Ends the process, where its main thread does not notice a fault."""
    leash: float = 0.0
    """Seconds for which the main thread may be about something else, after a fault too."""
    needs_store: bool = False
    """Whether nobody can go on without the store."""


class Notes:
    """The notes of one set of ranks; `timeout` is in seconds, and the roll call takes a part of it."""

    def __init__(self, post: Post, ranks: Sequence[int], rank: int, timeout: float, terms: Terms) -> None:
        """Take a post to a store in which nobody else uses these keys."""
        self.ranks = tuple(ranks)
        self.rank = rank
        self.timeout = timeout
        crowd = terms.world_size / _RANKS_A_SECOND
        self._period = min(max(_PERIOD, crowd), timeout / 16)
        self._pause = min(max(_PAUSE, crowd), timeout / 16)
        self.roll_call_seconds = min(max(_LEAST_ROLL_CALL, 4 * self._period), timeout / 4)
        self.breaking = False
        """Whether this rank is on its way out."""
        self._terms = terms
        self._broken: Fault | None = None
        self._noticed = False
        """Whether the main thread, or the one in its place, knows what broke."""
        self._closed = False
        self._post = post

    @property
    def patience(self) -> float:
        """Seconds that a rank waits for its peers."""
        return self.timeout - self.roll_call_seconds

    @property
    def torchs_patience(self) -> float:
        """Seconds for a time limit of torch's: ours comes first, and what hangs in spite of it last."""
        return self.patience + self.roll_call_seconds / 4

    def set(self, key: str, value: str) -> None:
        """Write a note."""
        self._ask(lambda store: store.set(key, value))

    def read(self, key: str) -> str | None:
        """Return a note, None where there is none yet. Never waits."""
        return self._ask(lambda store: store.get(key).decode() if store.check([key]) else None)

    def has(self, keys: Sequence[str]) -> bool:
        """Whether all these notes are there."""
        return self._ask(lambda store: bool(store.check(list(keys))))

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return those of these notes that are not there."""
        if not keys or self.has(keys):
            return []
        half = len(keys) // 2
        return [*self.missing(keys[:half]), *self.missing(keys[half:])] if half else list(keys)

    def close(self) -> None:
        """Look at the store no longer; what is known stays so."""
        if self._closed:
            return
        self._closed = True
        if self._terms.holds_store and self._broken is None:
            # Whoever lingers need not find out that the store is gone too.
            with suppress(NoAnswer, RuntimeError):
                self._post.ask(lambda store: store.compare_set(ALARM, "", OVER), _PARTING)
        self._post.close()

    def _ask(self, question: Callable[[Store], T]) -> T:
        """Ask the store; raise PeersFailed where it is gone, or does not answer in time."""
        if self._closed and not self._post.is_current():
            raise PeersFailed(self._broken or self.unanswered())
        limit = max(self.roll_call_seconds, _LEAST_LIMIT) if self.breaking else self.timeout
        try:
            return self._post.ask(question, limit)
        except (NoAnswer, RuntimeError):
            raise self._without_store() from None

    def _without_store(self) -> PeersFailed:
        """Return what to raise where the store cannot tell anybody; in the main thread, for good."""
        fault = self.unanswered()
        if not self._post.is_current():
            self.breaking = self._noticed = True
            fault = self._broken = self._broken or fault
        return PeersFailed(fault)

    def unanswered(self) -> Fault:
        """Return the fault that each rank finds by itself where the store is of no use."""
        reason = f"the rendezvous store does not answer: {self._terms.holder} that holds it died or hangs"
        return Fault(reason, self._terms.speaker)
