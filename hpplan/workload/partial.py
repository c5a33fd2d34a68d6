"""What can still be said of a workload some of whose fields are not in order.

A fault hides as little as possible: the rest is checked without what is
broken, and a finding counts as far as no correction could make it untrue.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.workload.codes import (
    BUCKET_COUNT_MISMATCH,
    DOCUMENTS_DO_NOT_ADD_UP,
    ENCODER_CP_DOES_NOT_DIVIDE,
    ITEM_IN_NO_BUCKET,
    LENGTH_DOES_NOT_DIVIDE,
    REPLICA_COUNT_MISMATCH,
    SPAN_OUTSIDE_SEQUENCE,
    UNKNOWN_ITEM,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hpplan.diagnostics import Code, Diagnostic, Path, Place


@dataclass
class Partial:
    """The data of a workload without what is broken in it, and what must wait for a correction.

    `data` has the shape of a workload; what stands in for broken items and
    bucket elements keeps those behind them at their places.
    """

    place: Place
    data: dict[str, Any]
    _waiting: defaultdict[Path, set[Code]] = field(default_factory=lambda: defaultdict(set))
    """What waits, by the path of the replica that it waits in; `()` is the whole workload."""
    _broken: set[Path] = field(default_factory=set)
    """Items and bucket elements that something stands in for."""

    def hides(self, item: Diagnostic) -> bool:
        """Whether a finding may be untrue once what is broken is corrected."""
        path = item.place.path[len(self.place.path) :]
        return any(
            path[:size] in self._broken or item.code in self._waiting.get(path[:size], ())
            for size in range(len(path) + 1)
        )

    def take_out(self, faults: Iterable[Diagnostic]) -> None:
        """Take out what findings about the shape are about."""
        for item in faults:
            first, *below = item.place.path[len(self.place.path) :] or ("sequence",)
            if first == "sequence":
                self._take_sequence(str(below[0]) if below else "length")
            elif first == "replicas":
                self._take_replica(below)
            elif first in self.data:
                self._take(self.data, (), (first, *below))
                if first == "encoder_cp_size":
                    self._waiting[()] |= {ENCODER_CP_DOES_NOT_DIVIDE, BUCKET_COUNT_MISMATCH}

    def _take_sequence(self, name: str) -> None:
        given = self.data.get("sequence")
        sequence = dict(given) if isinstance(given, dict) else {}
        sequence.pop(name, None)
        if name == "length":
            self._waiting[()] |= {SPAN_OUTSIDE_SEQUENCE, DOCUMENTS_DO_NOT_ADD_UP}
        self._waiting[()].add(LENGTH_DOES_NOT_DIVIDE)
        self.data["sequence"] = {"length": 1, **sequence}

    def _take_replica(self, path: list[str | int]) -> None:
        if not path:
            self.data["replicas"] = []
            self._waiting[()] |= {REPLICA_COUNT_MISMATCH, LENGTH_DOES_NOT_DIVIDE}
            return
        number, *below = path
        if not below:
            # Its items are missing, or it is no mapping: whether it has documents of its own is not known.
            self._waiting[()].add(LENGTH_DOES_NOT_DIVIDE)
        replica = self.data["replicas"][int(number)]
        self._take(replica, ("replicas", number), tuple(below) or ("items",))

    def _take(self, batch: dict[str, Any], where: Path, path: Path) -> None:
        """Take a node out of the workload or of a replica, which lies at `where`."""
        first, *below = path
        if first == "items":
            self._take_item(batch, where, int(below[0]) if below else None)
        elif first == "buckets":
            self._waiting[where].add(ITEM_IN_NO_BUCKET)
            self._take_bucket(batch, where, [int(number) for number in below])
        elif first == "destinations" and below:
            batch["destinations"].pop(below[0], None)
        else:
            if first == "documents":
                self._waiting[()].add(LENGTH_DOES_NOT_DIVIDE)
            batch.pop(str(first), None)

    def _take_item(self, batch: dict[str, Any], where: Path, number: int | None) -> None:
        if number is None:
            batch["items"] = []
            self._waiting[where].add(UNKNOWN_ITEM)
            return
        path = (*where, "items", number)
        if path in self._broken:
            return
        self._broken.add(path)
        known = _id_of(batch["items"][number])
        if known is None:
            self._waiting[where].add(UNKNOWN_ITEM)
        batch["items"][number] = {
            "item_id": -1 - number if known is None else known,
            "batch_index": 0,
            "output_rows": 0,
            "spans": [],
        }

    def _take_bucket(self, batch: dict[str, Any], where: Path, path: list[int]) -> None:
        if not path:
            batch.pop("buckets", None)
            return
        number, *element = path
        if not element:
            batch["buckets"][number] = []
            return
        self._broken.add((*where, "buckets", *path))
        # An id that no item has, not even one that stands in for another.
        batch["buckets"][number][element[0]] = -1 - len(batch.get("items", ()))


def salvage(data: Mapping[str, Any], faults: Iterable[Diagnostic], place: Place) -> Partial:
    """Return a workload without what `faults`, all findings about its shape, are about."""
    copy = _copied(data)
    replicas = copy.get("replicas")
    if isinstance(replicas, list):
        copy["replicas"] = [_copied(one) for one in replicas]
    partial = Partial(place, copy)
    partial.take_out(faults)
    return partial


def _copied(batch: object) -> dict[str, Any]:
    """Return a copy of which items, bucket elements and destinations can be replaced."""
    copy: dict[str, Any] = dict(batch) if isinstance(batch, dict) else {}
    for name in ("items", "buckets", "destinations"):
        if isinstance(copy.get(name), list | dict):
            copy[name] = type(copy[name])(copy[name])
    if isinstance(copy.get("buckets"), list):
        copy["buckets"] = [list(one) if isinstance(one, list) else one for one in copy["buckets"]]
    return copy


def _id_of(item: object) -> int | None:
    found = item.get("item_id") if isinstance(item, dict) else None
    return found if type(found) is int and 0 <= found <= LARGEST_NUMBER else None
