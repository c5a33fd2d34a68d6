"""What ranks tell each other through the store, without torch: a store in memory, and threads for ranks."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hpplan.watch.faults import Fault, PeersFailed
from hpplan.watch.ledger import Ledger
from hpplan.watch.notes import Terms
from hpplan.watch.post import Post

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOING = "exchanging features"


class Store:
    """Notes in memory, as torch's stores keep them; counts requests, and answers none while it is stopped."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.requests = 0
        self.running = threading.Event()
        self.running.set()
        self._notes: dict[str, str] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: str) -> None:
        """Write a note."""
        with self._request():
            self._notes[key] = value

    def get(self, key: str) -> bytes:
        """Return a note that is there."""
        with self._request():
            return self._notes[key].encode()

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all are there."""
        with self._request():
            return all(key in self._notes for key in keys)

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Write a note where there is none, or another one; return what is there then."""
        with self._request():
            if self._notes.get(key, "") == expected:
                self._notes[key] = desired
            return self._notes[key].encode()

    @contextmanager
    def _request(self) -> Iterator[None]:
        self.running.wait(60)
        with self._lock:
            self.requests += 1
            yield


class Rank:
    """One rank of three: its ledger, and what it heard."""

    def __init__(self, store: Store, rank: int, timeout: float = 2.0, **terms: object) -> None:
        """Begin to look at the store."""
        self.ended: list[Fault] = []
        given = {"world_size": 3, "holder": "rank 0", "holds_store": False, "speaker": 1, **terms}
        given.setdefault("end", self.ended.append)
        self.post = Post(lambda: store)  # type: ignore[arg-type, return-value]
        self.ledger = Ledger(self.post, range(3), rank, timeout, Terms(**given))  # type: ignore[arg-type]
        self.heard = ""
        self.seconds = 0.0

    def wait(self, key: str = "never") -> threading.Thread:
        """Wait for a note in a thread, as a main thread does."""

        def run() -> None:
            begun = time.monotonic()
            try:
                self.ledger.wait_for([key], DOING)
            except PeersFailed as failure:
                self.heard = str(failure)
            self.seconds = time.monotonic() - begun

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def store() -> Iterator[Store]:
    """Return a store that runs again once the test is over, so that no thread waits for it."""
    one = Store()
    yield one
    one.running.set()


def _hear(ranks: Sequence[Rank]) -> list[str]:
    """Have these ranks wait for what never comes; return what they hear."""
    for thread in [rank.wait() for rank in ranks]:
        thread.join(30)
    for rank in ranks:
        rank.ledger.close()
    return [rank.heard for rank in ranks]


def test_process_that_is_gone_is_named(store: Store) -> None:
    """Without a name, somebody has to look through the logs of every host."""
    ranks = [Rank(store, rank) for rank in (0, 1)]
    message = f"rank 2 is lost: it did not follow within 2 s while the others were {DOING}"
    assert _hear(ranks) == [message] * 2
    assert all(rank.seconds < 5 for rank in ranks)


@pytest.mark.slow
def test_process_whose_main_thread_does_not_come_is_named_and_ended(store: Store) -> None:
    """A thread that answers for its process proves nothing about the one that works."""
    ranks = [Rank(store, rank) for rank in range(3)]
    message = f"rank 1 is lost: it did not follow within 2 s while the others were {DOING}"
    assert _hear([ranks[0], ranks[2]]) == [message] * 2
    until = time.monotonic() + 10
    while not ranks[1].ended and time.monotonic() < until:
        time.sleep(0.05)
    ranks[1].ledger.close()
    assert [fault.reason for fault in ranks[1].ended[:1]] == [message]


@pytest.mark.slow
def test_busy_rank_is_not_blamed_for_one_that_died(store: Store) -> None:
    """A rank that computes for a while answers the roll by its post alone; the dead one does not."""
    ranks = [Rank(store, rank, leash=60.0) for rank in (0, 1)]
    with pytest.raises(PeersFailed, match=r"^rank 2 is lost: it exited or died while"):
        ranks[0].ledger.break_off(DOING, "Connection closed by peer")
    time.sleep(1.0)
    with pytest.raises(PeersFailed, match=r"^rank 2 is lost"):
        ranks[1].ledger.require_whole()
    assert ranks[1].ended == []


@pytest.mark.slow
def test_stopped_store_holds_up_nobody(store: Store) -> None:
    """Whoever holds the store may be stopped: then no call into it returns, whatever time limit it has."""
    ranks = [Rank(store, rank) for rank in (1, 2)]
    threads = [rank.wait() for rank in ranks]
    time.sleep(0.3)
    store.running.clear()
    for thread in threads:
        thread.join(30)
    message = "the rendezvous store does not answer: rank 0 that holds it died or hangs"
    assert [rank.heard for rank in ranks] == [message] * 2
    assert all(rank.seconds < 6 for rank in ranks)


@pytest.mark.parametrize(("stopped", "message"), [((1,), "rank 1 was"), ((0, 2), "ranks 0, 2 were")])
def test_ranks_that_somebody_stopped_are_named(store: Store, stopped: tuple[int, ...], message: str) -> None:
    """The launcher stops all ranks; who stops some of them wants to hear of those."""
    ranks = [Rank(store, rank, timeout=20.0) for rank in range(3)]
    threads = [rank.wait() for rank in ranks if rank.ledger.rank not in stopped]
    for rank in stopped:
        ranks[rank].ledger.stopped = True
    with pytest.raises(PeersFailed, match=rf"^{message} stopped \(SIGTERM\)$"):
        ranks[stopped[0]].ledger.break_off("running")
    for thread in threads:
        thread.join(30)
    for rank in ranks:
        rank.ledger.close()


@pytest.mark.slow
def test_store_is_asked_less_often_by_more_ranks() -> None:
    """A thousand ranks that look twenty times a second are what a store cannot serve."""
    asked = []
    for world_size in (4, 4000):
        store = Store()
        ranks = [Rank(store, rank, timeout=600.0, world_size=world_size) for rank in (0, 1)]
        ranks[0].wait("a note")
        time.sleep(1.0)
        asked.append(store.requests)
        for rank in ranks:
            rank.post.close()
    few, many = asked
    assert few > 10
    assert many <= 4


def test_closed_ledger_leaves_no_thread(store: Store) -> None:
    """A thread that outlives its group would look at a store that is long gone."""
    before = set(threading.enumerate())
    rank = Rank(store, 0)
    assert set(threading.enumerate()) - before
    rank.ledger.close()
    assert set(threading.enumerate()) == before
