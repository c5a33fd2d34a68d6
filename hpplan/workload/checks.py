"""What can be wrong with a workload whose shape is right, whatever the mesh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.wording import plural
from hpplan.workload.codes import (
    DOCUMENTS_DO_NOT_ADD_UP,
    DUPLICATE_ITEM,
    ITEM_IN_NO_BUCKET,
    ITEM_IN_TWO_BUCKETS,
    MISSING_WORKLOAD_FIELD,
    OVERLAPPING_SPANS,
    SPAN_OUTSIDE_SEQUENCE,
    SPAN_ROWS_MISMATCH,
    SPANS_OUT_OF_ORDER,
    UNKNOWN_ITEM,
)
from hpplan.workload.partial import Broken

_Span = tuple[int, int, int, int, int]
"""batch index, first token, end, index of the item, index of the span (-1: the item itself)."""


def check_documents(
    length: int | None, documents: Sequence[int] | None, place: Place, length_place: Place
) -> Iterator[Diagnostic]:
    """Yield a finding when documents do not add up to the length, if that is known; the places are theirs."""
    if length is not None and documents is not None and sum(documents) != length:
        yield Diagnostic(
            DOCUMENTS_DO_NOT_ADD_UP,
            f"the documents add up to {plural(sum(documents), 'token')}, and the sequence has {length:,}",
            place,
            related=(length_place.noted("the length of the sequence"),),
        )


def check_batch(
    data: Mapping[str, Any], length: int | None, place: Place, broken: Broken, *, pooled: bool = False
) -> Iterator[Diagnostic]:
    """Yield everything wrong with the items, buckets and destinations of one replica.

    Items that are `broken` are passed over, but their ids are known where
    these are in order. Without a length nothing is outside of it. Where
    replicas are `pooled`, buckets may name items of others; see `check_buckets_of`.
    """
    where = place.at("items")
    indices, every_id = _indices(data["items"], broken)
    spans: list[_Span] = []
    for index, item in enumerate(data["items"]):
        if index not in broken.items:
            yield from _check_item(item, index, indices, where)
            spans += _spans(item, index)
    yield from _check_tokens(spans, data["items"], length, where)
    if not every_id:
        return
    if "buckets" in data and not pooled:
        places = {item_id: where.at(index) for item_id, index in indices.items()}
        yield from check_buckets_of([data], places, [place])
    for key in data.get("destinations", {}):
        if int(key) not in indices:
            yield Diagnostic(UNKNOWN_ITEM, f"there is no item {key}", place.key("destinations", key))


def _indices(items: Sequence[Any], broken: Broken) -> tuple[dict[int, int], bool]:
    """Return the index of the first item with each id, and whether every id is known."""
    indices: dict[int, int] = {}
    every_id = "items" not in broken.fields
    for at, item in enumerate(items):
        item_id = _id_of(item) if at in broken.items else item["item_id"]
        if item_id is None:
            every_id = False
        else:
            indices.setdefault(item_id, at)
    return indices, every_id


def _check_item(
    item: Mapping[str, Any], index: int, indices: Mapping[int, int], place: Place
) -> Iterator[Diagnostic]:
    item_id = item["item_id"]
    if indices[item_id] != index:
        yield Diagnostic(
            DUPLICATE_ITEM,
            f"there is another item {item_id}",
            place.at(index, "item_id"),
            related=(place.at(indices[item_id], "item_id").noted("first used here"),),
        )
    if "spans" in item:
        yield from _check_spans(item, place.at(index))
    elif "decoder_token_start" not in item:
        message = f"item {item_id} has neither `decoder_token_start` nor `spans`"
        yield Diagnostic(MISSING_WORKLOAD_FIELD, message, place.at(index))


def _spans(item: Mapping[str, Any], index: int) -> list[_Span]:
    batch = item["batch_index"]
    if "spans" in item:
        return [
            (batch, span["token_start"], span["token_start"] + span["rows"], index, number)
            for number, span in enumerate(item["spans"])
        ]
    start = item.get("decoder_token_start")
    return [] if start is None else [(batch, start, start + item["output_rows"], index, -1)]


def _id_of(item: object) -> int | None:
    item_id = item.get("item_id") if isinstance(item, dict) else None
    return item_id if type(item_id) is int and 0 <= item_id <= LARGEST_NUMBER else None


def _check_spans(item: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    spans = item["spans"]
    total = sum(span["rows"] for span in spans)
    if total != item["output_rows"]:
        yield Diagnostic(
            SPAN_ROWS_MISMATCH,
            f"the spans of item {item['item_id']} have {plural(total, 'row')}, "
            f"and `output_rows` is {item['output_rows']:,}",
            place.at("output_rows"),
            related=(place.at("spans").noted("the spans"),),
        )
    start = item.get("decoder_token_start")
    if spans and start is not None and start != spans[0]["token_start"]:
        yield Diagnostic(
            SPANS_OUT_OF_ORDER,
            f"item {item['item_id']} starts at token {start}, "
            f"and its first span at {spans[0]['token_start']}",
            place.at("decoder_token_start"),
            related=(place.at("spans", 0, "token_start").noted("the first span"),),
        )
    for number in range(1, len(spans)):
        if spans[number]["token_start"] < spans[number - 1]["token_start"]:
            yield Diagnostic(
                SPANS_OUT_OF_ORDER,
                f"this span of item {item['item_id']} starts before the one ahead of it",
                place.at("spans", number, "token_start"),
                hint="list spans by ascending token_start: row i belongs to the i-th token",
            )


def _check_tokens(
    spans: list[_Span], items: Sequence[Mapping[str, Any]], length: int | None, place: Place
) -> Iterator[Diagnostic]:
    def at(span: _Span) -> Place:
        return place.at(span[3]) if span[4] < 0 else place.at(span[3], "spans", span[4])

    spans.sort()
    batch = -1
    furthest: _Span | None = None
    for span in spans:
        if length is not None and span[2] > length:
            name = f"item {items[span[3]]['item_id']}"
            message = f"{name} takes tokens {span[1]} to {span[2] - 1}, and the sequence has {length}"
            yield Diagnostic(SPAN_OUTSIDE_SEQUENCE, message, at(span))
        if span[0] != batch:
            batch, furthest = span[0], span
        elif furthest is not None and span[1] < furthest[2] and not _copies(span, furthest, items):
            mine, other = items[span[3]]["item_id"], items[furthest[3]]["item_id"]
            last = min(span[2], furthest[2]) - 1
            yield Diagnostic(
                OVERLAPPING_SPANS,
                f"tokens {span[1]} to {last} of batch row {batch} belong to item {other} and to item {mine}",
                at(span),
                related=(at(furthest).noted(f"item {other} is here"),),
            )
        if furthest is None or span[2] > furthest[2]:
            furthest = span


def _copies(span: _Span, other: _Span, items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one item is listed twice: that is one finding, and not that it overlaps itself as well."""
    return span[:3] == other[:3] and items[span[3]]["item_id"] == items[other[3]]["item_id"]


def check_buckets_of(
    batches: Sequence[Mapping[str, Any]], items: Mapping[int, Place], places: Sequence[Place]
) -> Iterator[Diagnostic]:
    """Yield a finding for each item that is not once in the `buckets` of some batches, taken together.

    `items` has the place of each item by its id, `places` that of each batch.
    """
    where: dict[int, Place] = {}
    for batch, place in zip(batches, places, strict=True):
        for bucket, ids in enumerate(batch["buckets"]):
            for number, item_id in enumerate(ids):
                here = place.at("buckets", bucket, number)
                if item_id not in items:
                    yield Diagnostic(UNKNOWN_ITEM, f"there is no item {item_id}", here)
                elif item_id in where:
                    same = where[item_id].path[:-1] == here.path[:-1]
                    both = "twice in this bucket" if same else "in two buckets"
                    yield Diagnostic(
                        ITEM_IN_TWO_BUCKETS,
                        f"item {item_id} is {both}",
                        here,
                        related=(where[item_id].noted("first here"),),
                    )
                else:
                    where[item_id] = here
    for item_id, place in items.items():
        if item_id not in where:
            yield Diagnostic(ITEM_IN_NO_BUCKET, f"item {item_id} is in no bucket", place)
