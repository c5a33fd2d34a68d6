"""A pool worked out one token at a time, from the words of the design alone."""

from __future__ import annotations

from typing import Any, NamedTuple

Sent = tuple[int, int, int, int]
"""Source, destination, item, row; ranks are parent ranks."""


class Setting(NamedTuple):
    """Sizes of a mesh, and how the sequence is dealt out."""

    pool: int
    cp: int
    tp: int
    sp: bool
    length: int
    cp_layout: str

    @property
    def replica_size(self) -> int:
        """Ranks of one replica."""
        return self.cp * self.tp


def holders(setting: Setting, documents: list[int], replica: int, token: int) -> list[int]:
    """Return the parent ranks that hold one token of a replica: one step for each token before it."""
    chunks = documents or [setting.length]
    local = [0] * setting.cp
    start = 0
    for size in chunks:
        for at in range(size):
            if setting.cp_layout == "contiguous":
                owner = (start + at) // (setting.length // setting.cp)
            else:
                chunk = at // (size // (2 * setting.cp)) if size else 0
                owner = min(chunk, 2 * setting.cp - 1 - chunk)
            if start + at == token:
                position = local[owner]
                first = replica * setting.replica_size + owner * setting.tp
                if not setting.sp:
                    return list(range(first, first + setting.tp))
                return [first + position // (setting.length // setting.replica_size)]
            local[owner] += 1
        start += size
    raise AssertionError(token)


def tokens_of(item: dict[str, Any]) -> list[int]:
    """Return the token of each row of an item."""
    spans = item.get("spans") or [{"token_start": item["decoder_token_start"], "rows": item["output_rows"]}]
    return [span["token_start"] + row for span in spans for row in range(span["rows"])]


def brought_by(
    replicas: list[dict[str, Any]], buckets: list[list[int]], encoder_cp: int, *, sharded: bool
) -> dict[tuple[int, int], int]:
    """Return the parent rank that has each (item, row) after encoding."""
    rows_of = {item["item_id"]: item["output_rows"] for replica in replicas for item in replica["items"]}
    found: dict[tuple[int, int], int] = {}
    for bucket, ids in enumerate(buckets):
        rows = [(item, row) for item in ids for row in range(rows_of[item])]
        sizes = [len(rows) // encoder_cp + (rank < len(rows) % encoder_cp) for rank in range(encoder_cp)]
        ranks = [rank for rank, size in enumerate(sizes) for _ in range(size)] if sharded else [0] * len(rows)
        for name, rank in zip(rows, ranks, strict=True):
            found[name] = bucket * encoder_cp + rank
    return found


def sent_rows(
    setting: Setting,
    replicas: list[dict[str, Any]],
    buckets: list[list[int]],
    encoder_cp: int,
    *,
    whole: bool,
    sharded: bool = False,
) -> set[Sent]:
    """Return every row that goes to some rank of one pool; `replicas` are those of the pool."""
    brought = brought_by(replicas, buckets, encoder_cp, sharded=sharded)
    found: set[Sent] = set()
    for number, replica in enumerate(replicas):
        for item in replica["items"]:
            owners = [
                holders(setting, replica.get("documents", []), number, token) for token in tokens_of(item)
            ]
            everyone = {rank for ranks in owners for rank in ranks}
            for row, ranks in enumerate(owners):
                for rank in everyone if whole else ranks:
                    found.add((brought[item["item_id"], row], rank, item["item_id"], row))
    return found
