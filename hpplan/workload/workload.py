"""The workload: the items of a batch and the sequence that their rows belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hpplan.diagnostics import Diagnostic, Place, by_level
from hpplan.errors import InvalidInput
from hpplan.shapes.shape import values, written
from hpplan.workload.checks import check_batch, check_documents
from hpplan.workload.codes import BUCKET_COUNT_MISMATCH, ITEMS_BESIDE_REPLICAS, MISSING_WORKLOAD_FIELD
from hpplan.workload.partial import PartialWorkload, salvage
from hpplan.workload.shape import (
    BATCH_FIELDS,
    DTYPES,
    FURTHER_ITEM_FIELDS,
    HEAD_FIELDS,
    REPLICA,
    SEQUENCE,
    check_workload_shape,
)

_NOWHERE = Place("workload")
"""Where findings are about data that no document has."""


class Item(NamedTuple):
    """One image or video. `spans` are (token_start, rows), ascending; their rows add up to `rows`."""

    item_id: int
    batch_index: int
    rows: int
    spans: tuple[tuple[int, int], ...]
    input_rows: int | None = None
    """Rows of its inputs, as patches of pixels; None: not known."""
    replica: int = 0
    """The replica whose tokens these are, counted within its pool."""
    sample: str | int | None = None
    """The sample that it is of."""
    grid: tuple[int, ...] | None = None
    """As its processor gives it."""
    slices: tuple[int, int] | None = None
    """First and stop of the temporal slices of a video that it is."""

    @property
    def first_token(self) -> int:
        """The decoder token of row 0."""
        return self.spans[0][0]

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts items as records are handed over."""
        return (self.batch_index, self.spans[0][0], self.item_id)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one data-parallel replica runs; `place` is that of the mapping with the `items`."""

    items: tuple[Item, ...]
    buckets: tuple[tuple[int, ...], ...] | None
    destinations: dict[int, tuple[int, ...]]
    place: Place
    documents: tuple[int, ...] | None = None
    """Of a replica whose batch rows are packed in its own way; None: those of the sequence."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A checked workload. `batches` has one element for all replicas, or one for each."""

    length: int
    batches: tuple[Batch, ...]
    place: Place
    feature_width: int
    dtype: str
    payloads: int
    encoder_cp_size: int
    encoder_output: str
    encoder_pool: int | str
    input_width: int
    input_dtype: str
    cp_layout: str
    documents: tuple[int, ...]
    pad: bool
    per_replica: bool = False
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)

    @property
    def row_elements(self) -> int:
        """Elements of one row of all payloads."""
        return self.feature_width * self.payloads

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of all payloads."""
        return self.row_elements * DTYPES[self.dtype]

    @property
    def sharded(self) -> bool:
        """Whether each of the ranks that encode a bucket together has a share of its rows."""
        return self.encoder_output == "sharded" and self.encoder_cp_size > 1

    @property
    def input_row_bytes(self) -> int:
        """Bytes of one row of inputs."""
        return self.input_width * DTYPES[self.input_dtype]

    def documents_of(self, batch: Batch) -> tuple[int, ...]:
        """Return the documents of a batch: its own, else those of the sequence."""
        return self.documents if batch.documents is None else batch.documents

    def with_sequence(self, *, cp_layout: str | None = None, pad: bool | None = None) -> Workload:
        """Return the workload with another layout or padding rule."""
        return replace(
            self,
            cp_layout=self.cp_layout if cp_layout is None else cp_layout,
            pad=self.pad if pad is None else pad,
        )

    def with_pool(self, pool: int | str | None) -> Workload:
        """Return the workload for pools of another size, where one is given.

        Raises InvalidInput where its buckets are those of the pools it has.
        """
        if pool is None or pool == self.encoder_pool:
            return self
        bucketed = next((batch for batch in self.batches if batch.buckets is not None), None)
        if bucketed is not None:
            raise InvalidInput(
                [
                    Diagnostic(
                        BUCKET_COUNT_MISMATCH,
                        f"the buckets are for `encoder_pool` {self.encoder_pool}, and not for {pool}",
                        bucketed.place.at("buckets"),
                        hint="take `buckets` out, so that items are assigned anew",
                    )
                ]
            )
        return replace(self, encoder_pool=pool)

    def head(self) -> dict[str, Any]:
        """Return the fields of the document before its items, with their defaults."""
        return {**written(HEAD_FIELDS, self), "sequence": written(SEQUENCE.fields, self)}

    def to_data(self) -> dict[str, Any]:
        """Return the workload as a document, with every default written out."""
        if self.per_replica:
            return {**self.head(), "replicas": [written(REPLICA.fields, batch) for batch in self.batches]}
        return {**self.head(), **written(BATCH_FIELDS, self.batches[0])}


def workload_of(
    head: Mapping[str, Any],
    sequence: Mapping[str, Any],
    batches: tuple[Batch, ...],
    place: Place,
    *,
    per_replica: bool,
    warnings: tuple[Diagnostic, ...] = (),
) -> Workload:
    """Return the workload of the fields of a document, those of its sequence, and batches."""
    fields = {**values(HEAD_FIELDS, head), **values(SEQUENCE.fields, sequence)}
    return Workload(batches=batches, place=place, per_replica=per_replica, warnings=warnings, **fields)


class Reading(NamedTuple):
    """A workload as far as it is in order, and what is wrong with the rest.

    `workload` has no items where something is wrong, and is None where not even
    sequence and buckets can be told.
    """

    workload: Workload | None
    problems: list[Diagnostic]
    warnings: tuple[Diagnostic, ...] = ()
    broken: frozenset[str] = frozenset()
    """Fields that are not known; `items` where the workload has none because something is wrong."""


def load_workload(data: Mapping[str, Any], place: Place = _NOWHERE) -> Workload:
    """Return the workload in plain data, whose place in its document, where there is one, is `place`.

    Keys of `destinations` may be ints or decimal strings. Raises InvalidInput
    with everything that is wrong; warnings are kept in `Workload.warnings`.
    """
    reading = read_workload(data, place)
    if reading.workload is None or reading.problems:
        raise InvalidInput([*reading.problems, *reading.warnings])
    return reading.workload


def read_workload(data: Mapping[str, Any], place: Place) -> Reading:
    """Read a workload as far as it is in order; see `load_workload`."""
    data = _with_text_keys(data)
    faults, warnings = by_level(check_workload_shape(data, place))
    if not isinstance(data, dict):
        return Reading(None, faults)
    misplaced = list(_check_where_items_are(data, place))
    partial = salvage(data, faults, place)
    data = partial.data
    inside, batches = _read(partial, place, misplaced)
    problems = [*faults, *misplaced, *inside]
    if misplaced:
        return Reading(None, problems, tuple(warnings))
    workload = workload_of(
        data,
        data["sequence"],
        tuple(
            _batch(batch, where, of_replica=of_replica, whole=not problems)
            for batch, where, of_replica in batches
        ),
        place,
        per_replica="replicas" in data,
        warnings=tuple(warnings),
    )
    broken = partial.fields | {"items"} if problems else ()
    return Reading(workload, problems, tuple(warnings), frozenset(broken))


_Given = tuple[dict[str, Any], Place, bool]
"""The data of a batch, its place, and whether it is that of a replica."""


def _read(
    partial: PartialWorkload, place: Place, misplaced: list[Diagnostic]
) -> tuple[list[Diagnostic], list[_Given]]:
    """Return what is wrong with the documents and the batches of a workload, and these batches."""
    data = partial.data
    sequence = data["sequence"]
    length = None if "length" in partial.broken.fields else sequence["length"]
    length_place = place.at("sequence", "length")
    problems = list(
        check_documents(length, sequence.get("documents"), place.at("sequence", "documents"), length_place)
    )
    if misplaced:
        return problems, []
    batches: list[_Given] = (
        [(replica, place.at("replicas", index), True) for index, replica in enumerate(data["replicas"])]
        if "replicas" in data
        else [(data, place, False)]
    )
    pooled = data.get("encoder_pool", 1) != 1 or "encoder_pool" in partial.broken.fields
    for (batch, where, of_replica), broken in zip(batches, partial.batches, strict=True):
        problems.extend(check_batch(batch, length, where, broken, pooled=pooled))
        if of_replica:
            problems.extend(
                check_documents(length, batch.get("documents"), where.at("documents"), length_place)
            )
    return problems, batches


def _batch(data: Mapping[str, Any], place: Place, *, of_replica: bool, whole: bool) -> Batch:
    buckets = data.get("buckets")
    return Batch(
        tuple(map(_item, data["items"])) if whole else (),
        None if buckets is None else tuple(map(tuple, buckets)),
        {int(item): tuple(ranks) for item, ranks in data.get("destinations", {}).items()},
        place,
        tuple(data["documents"]) if of_replica and "documents" in data else None,
    )


_FURTHER = {further.name: further for further in FURTHER_ITEM_FIELDS}


def _item(data: Mapping[str, Any]) -> Item:
    rows = data["output_rows"]
    spans = (
        tuple((span["token_start"], span["rows"]) for span in data["spans"])
        if "spans" in data
        else ((data["decoder_token_start"], rows),)
    )
    # Most items have none of these, and a batch may have a million of them.
    further = _FURTHER.keys() & data.keys()
    more = values([_FURTHER[name] for name in further], data) if further else {}
    return Item(data["item_id"], data["batch_index"], rows, spans, **more)


def _check_where_items_are(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    if "replicas" not in data:
        if "items" not in data:
            message = "the field `items` is missing"
            yield Diagnostic(
                MISSING_WORKLOAD_FIELD, message, place, hint="a batch without images has `items: []`"
            )
        return
    for name in (entry.name for entry in BATCH_FIELDS):
        if name in data:
            yield Diagnostic(
                ITEMS_BESIDE_REPLICAS,
                f"`{name}` stands beside `replicas`",
                place.key(name),
                hint=f"move `{name}` into each element of `replicas`",
                related=(place.key("replicas").noted("the replicas"),),
            )


def _with_text_keys(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Spell the keys of `destinations` in decimals, as documents have them."""
    if not isinstance(data, dict):
        return data
    changed = dict(data)
    if isinstance(destinations := data.get("destinations"), dict):
        changed["destinations"] = {
            str(key) if type(key) is int else key: ranks for key, ranks in destinations.items()
        }
    if isinstance(replicas := data.get("replicas"), list):
        changed["replicas"] = [_with_text_keys(replica) for replica in replicas]
    return changed
