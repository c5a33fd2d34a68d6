"""What of a workload is in order where some of its fields are not.

A check runs on what is left where all that it reads is in order: items are
checked without broken ones, and what a mesh needs without broken fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place
from hpplan.workload.shape import SEQUENCE


@dataclass
class Broken:
    """The fields of a mapping that are not in order; of its `items` those elements alone."""

    fields: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)


class PartialWorkload(NamedTuple):
    """A workload without its broken fields, and which these are.

    A broken length is 1, and broken `items` and `replicas` are empty.
    """

    data: dict[str, Any]
    broken: Broken
    """Of the workload and of its sequence; `documents` also where those of a replica are."""
    batches: list[Broken]
    """Of each replica, or of the only batch."""

    @property
    def fields(self) -> set[str]:
        """All fields that are broken somewhere."""
        return self.broken.fields.union(*(broken.fields for broken in self.batches))


def salvage(data: Mapping[str, Any], faults: Iterable[Diagnostic], place: Place) -> PartialWorkload:
    """Return a workload without what `faults`, all findings about its shape, are about."""
    copy = {**data, "sequence": _mapping(data.get("sequence"))}
    if "replicas" in copy:
        replicas = copy["replicas"]
        copy["replicas"] = [_mapping(replica) for replica in replicas] if isinstance(replicas, list) else []
    batches = copy.get("replicas", [copy])
    partial = PartialWorkload(copy, Broken(), [Broken() for _ in batches])
    whole = partial.broken.fields
    for fault in faults:
        match fault.place.path[len(place.path) :]:
            case ("replicas", int(number), *below):
                if not below or below[0] == "documents":
                    whole.add("documents")
                _take(batches[number], partial.batches[number], below or ["items"])
            case ("items" | "buckets" | "destinations", *_) as path if batches == [copy]:
                _take(copy, partial.batches[0], path)
            case ("sequence", name, *_):
                copy["sequence"].pop(name, None)
                whole.add(str(name))
            case ("sequence",) | ():
                whole.update(SEQUENCE.names)
            case (name, *_):
                whole.add(str(name))
                if name != "replicas":
                    copy.pop(str(name), None)
    copy["sequence"].setdefault("length", 1)
    return partial


def _mapping(data: object) -> dict[str, Any]:
    return dict(data) if isinstance(data, dict) else {}


def _take(batch: dict[str, Any], broken: Broken, path: Sequence[str | int]) -> None:
    """Take a field out of a batch, or remember which of its items is broken."""
    name, *below = path
    if name == "items" and below:
        broken.items.add(int(below[0]))
        return
    broken.fields.add(str(name))
    batch.pop(str(name), None)
    if name == "items":
        batch["items"] = []
