"""Routing one token at a time: slow, obvious, and written without a look at hpplan's own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


def padded_tokens(
    length: int, layout: str, documents: list[int], cp: int, tp: int, *, sp: bool
) -> tuple[list[int], list[int]]:
    """Return the padded documents, and the token at each padded place; padding has negative numbers."""
    unit = 2 * cp if layout == "zigzag" else cp
    given = documents or [length]
    each = [list(range(sum(given[:number]), sum(given[: number + 1]))) for number in range(len(given))]
    fill = iter(range(-1, -10_000, -1))
    if layout == "zigzag":
        for tokens in each:
            while len(tokens) % unit:
                tokens.append(next(fill))
    while sum(map(len, each)) % unit or (sp and sum(map(len, each)) % (cp * tp)):
        each[-1].append(next(fill))
    return [len(tokens) for tokens in each], [token for tokens in each for token in tokens]


def global_ranks(order: list[str], sizes: dict[str, int], dp: int) -> list[int]:
    """Return the global rank of each parent rank of a replica on the first pipeline stage, by counting."""
    found: dict[tuple[int, int], int] = {}
    coordinates: list[dict[str, int]] = [{}]
    for axis in order:
        coordinates = [{**at, axis: number} for at in coordinates for number in range(sizes[axis])]
    for rank, at in enumerate(coordinates):
        if at.get("pp", 0) == 0 and at.get("dp", 0) == dp:
            found[at.get("cp", 0), at.get("tp", 0)] = rank
    return [found[key] for key in sorted(found)]


@dataclass
class Received:
    """One row that arrived: where from, which, and where it belongs (-1: not the receiver's token)."""

    source: int
    item: int
    row: int
    position: int


def tokens_of(item: dict[str, Any]) -> list[int]:
    """Return the decoder token of each row."""
    spans = item.get("spans") or [{"token_start": item["decoder_token_start"], "rows": item["output_rows"]}]
    return [
        token for span in spans for token in range(span["token_start"], span["token_start"] + span["rows"])
    ]


def arrivals(
    workload: dict[str, Any],
    buckets: list[list[int]],
    held: list[list[int]],
    *,
    row_granularity: bool,
    all_gather: bool,
) -> list[list[Received]]:
    """Return what arrives at each parent rank, row by row, in wire order."""
    items = {item["item_id"]: item for item in workload["items"]}
    explicit = workload.get("destinations", {})
    found: list[list[Received]] = []
    for rank, tokens in enumerate(held):
        where = {token: index for index, token in enumerate(tokens)}
        got: list[Received] = []
        for bucket, ids in enumerate(buckets):
            for item_id in ids:
                item = items[item_id]
                wanted = tokens_of(item)
                positions = [
                    item["batch_index"] * len(tokens) + where[token] if token in where else -1
                    for token in wanted
                ]
                if str(item_id) in explicit:
                    comes = rank in explicit[str(item_id)]
                else:
                    comes = all_gather or any(position >= 0 for position in positions)
                if comes:
                    source = bucket * workload.get("encoder_cp_size", 1)
                    got += [
                        Received(source, item_id, row, position)
                        for row, position in enumerate(positions)
                        if position >= 0 or not row_granularity or all_gather
                    ]
        found.append(got)
    return found
