"""The same exchange in one process and in plain Python: who holds which token, and what lies there."""

from __future__ import annotations

from typing import Any, NamedTuple

from naive_layouts import local_tokens

TEXT = -1.0


class Setting(NamedTuple):
    """A workload document and the mesh of one parent."""

    workload: dict[str, Any]
    cp: int
    tp: int
    sp: bool
    tp_outermost: bool = False

    @property
    def mesh(self) -> str:
        """The mesh as `--mesh` takes it."""
        axes = [f"cp={self.cp}", f"tp={self.tp}"]
        return ",".join(axes[::-1] if self.tp_outermost else axes) + (",sp" if self.sp else "")

    def coordinates(self, rank: int) -> tuple[int, int]:
        """Return the cp and the tp coordinate of a global rank."""
        return (rank % self.cp, rank // self.cp) if self.tp_outermost else (rank // self.tp, rank % self.tp)

    @property
    def world(self) -> int:
        """Ranks of the parent."""
        return self.cp * self.tp

    @property
    def batch_rows(self) -> int:
        """Batch rows that the items tell of, at least one."""
        return max((item["batch_index"] for item in self.workload["items"]), default=0) + 1


def tokens_of(setting: Setting, rank: int) -> list[int]:
    """Return the global tokens of a rank's local sequence, in local order."""
    sequence = setting.workload["sequence"]
    layout, documents = sequence.get("cp_layout", "contiguous"), sequence.get("documents", [])
    cp, tp = setting.coordinates(rank)
    held = local_tokens(sequence["length"], layout, documents, setting.cp, setting.tp, sp=setting.sp)
    return held[cp * setting.tp + tp]


def rows_at(setting: Setting) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the (item, row) that belongs at each (batch row, token) with one."""
    found = {}
    for item in setting.workload["items"]:
        spans = item.get(
            "spans", [{"token_start": item.get("decoder_token_start"), "rows": item["output_rows"]}]
        )
        tokens = [span["token_start"] + offset for span in spans for offset in range(span["rows"])]
        for row, token in enumerate(tokens):
            found[item["batch_index"], token] = (item["item_id"], row)
    return found


def feature(item: int, row: int, column: int = 0, payload: int = 0) -> float:
    """Return what a feature holds: a small whole number, exact in every dtype."""
    return float((item * 31 + row * 7 + column * 3 + payload * 11) % 120 + 1)


def weight(batch: int, token: int) -> float:
    """Return the gradient that a token gives its row."""
    return float((batch * 5 + token * 3) % 50 + 1)


def merged(setting: Setting, rank: int) -> list[list[float]]:
    """Return column 0 of a rank's local sequence after the merge, by batch row."""
    rows = rows_at(setting)
    return [
        [
            feature(*rows[batch, token]) if (batch, token) in rows else TEXT
            for token in tokens_of(setting, rank)
        ]
        for batch in range(setting.batch_rows)
    ]


def gradients(setting: Setting) -> dict[tuple[int, int], float]:
    """Return each (item, row)'s gradient in `mean`: that of its token, once."""
    return {name: weight(*place) for place, name in rows_at(setting).items()}


def weights_of(setting: Setting, rank: int) -> list[list[float]]:
    """Return the gradients of a rank's local tokens, by batch row."""
    return [
        [weight(batch, token) for token in tokens_of(setting, rank)] for batch in range(setting.batch_rows)
    ]
