"""The shape of a workload: its fields, their types, their defaults and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.shapes.findings import Checker, Codes, ignored, one_of_names
from hpplan.shapes.shape import (
    FLAG,
    TEXT,
    Field,
    Shape,
    count,
    key_order,
    list_of,
    literal,
    mapping_of,
    one_of,
    text,
    told,
    written,
)
from hpplan.workload.codes import (
    MISSING_WORKLOAD_FIELD,
    MISTYPED_WORKLOAD_FIELD,
    ROWS_BELOW_ONE,
    SIZE_TOO_LARGE,
    SIZE_TOO_SMALL,
    UNKNOWN_CP_LAYOUT,
    UNKNOWN_DTYPE,
    UNKNOWN_WORKLOAD_FIELD,
)
from hpplan.workload.layouts import LAYOUTS

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema


OUTPUTS = ("leader", "sharded")
"""Where the rows of a bucket are after encoding."""

DTYPES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}
"""What a feature can be, and its size in bytes."""


def _name(names: Sequence[str], code: Code) -> CoreSchema:
    return told(literal(names), literal_error=one_of_names(names, code))


def _below_one(name: str, value: object, place: Place) -> Diagnostic:
    return Diagnostic(ROWS_BELOW_ONE, f"{name} must be at least 1, not {value}", place)


_ROWS = told(count(1), greater_than_equal=_below_one)
_NUMBERS = list_of(count(0))
_ITEM_ID = told(text(pattern="^(0|[1-9][0-9]{0,15})$"), string_pattern_mismatch="an item id")

SPAN = Shape(
    "Span",
    Field("token_start", count(0), "First decoder token of the run.", required=True),
    Field("rows", _ROWS, "Tokens, and so rows, of the run.", required=True),
    unknown="told",
)
ITEM = Shape(
    "Work item",
    Field("item_id", count(0), "Names the item in buckets and destinations.", required=True),
    Field("batch_index", count(0), "Batch row of the decoder.", required=True),
    Field(
        "decoder_token_start", count(0), "First decoder token of the item.", get=lambda item: item.first_token
    ),
    Field("output_rows", _ROWS, "Feature rows of the item.", required=True, get=lambda item: item.rows),
    Field(
        "spans",
        list_of(SPAN),
        "Runs of tokens, ascending, where rows are not one run (a video has a run for each frame).",
        get=lambda item: (
            [{"token_start": start, "rows": rows} for start, rows in item.spans]
            if len(item.spans) > 1
            else None
        ),
    ),
    Field(
        "input_rows",
        _ROWS,
        "Rows of the item's inputs, as patches of pixels, which travel where replicas share encoder work.",
    ),
    Field("sample", one_of(TEXT, count(0), belongs="a name or a number"), "The sample that it is of."),
    Field("grid", _NUMBERS, "Its grid, as the processor gives it."),
    Field("slices", _NUMBERS, "First and stop of the temporal slices that it is, a part of a video."),
    unknown="told",
)
FURTHER_ITEM_FIELDS = tuple(field for field in ITEM.fields if not field.required and field.get is None)
"""Those that an `Item` has as they are, and that an item may leave out."""

BATCH_FIELDS = (
    Field(
        "items",
        list_of(ITEM),
        "The images and videos of the batch.",
        get=lambda batch: [written(ITEM.fields, item) for item in batch.items],
    ),
    Field(
        "buckets",
        list_of(_NUMBERS),
        "Item ids of each producer, in order. Absent: hpplan assigns the items.",
        get=lambda batch: None if batch.buckets is None else [list(bucket) for bucket in batch.buckets],
    ),
    Field(
        "destinations",
        mapping_of(_NUMBERS, _ITEM_ID),
        "Item id to the parent ranks that receive it, instead of the owners of its tokens.",
        get=lambda batch: {str(item): list(ranks) for item, ranks in batch.destinations.items()} or None,
    ),
)
SEQUENCE = Shape(
    "Sequence",
    Field("length", count(1), "Decoder tokens per batch row.", required=True),
    Field(
        "cp_layout",
        _name([layout.name for layout in LAYOUTS], UNKNOWN_CP_LAYOUT),
        "How the tokens are dealt out to CP ranks.",
        default=LAYOUTS[0].name,
    ),
    Field(
        "documents",
        _NUMBERS,
        "Lengths of packed documents; zigzag is done inside each. They add up to the length.",
        default=(),
    ),
    Field(
        "pad",
        FLAG,
        "Round lengths up instead of refusing those that do not divide: the sequence at its end, and "
        "with zigzag each document at its own. Items are given without the padding.",
        default=False,
    ),
    unknown="told",
)
REPLICA = Shape(
    "Replica",
    Field(
        "documents",
        _NUMBERS,
        "Lengths of packed documents of this replica, instead of those of the sequence.",
    ),
    BATCH_FIELDS[0]._replace(required=True),
    *BATCH_FIELDS[1:],
    unknown="told",
)


def _left_out(name: str, schema: CoreSchema, about: str, default: str | int) -> Field:
    """Return a field of a workload's head that is not written where it has its default."""

    def get(workload: object) -> str | int | None:
        value: str | int = getattr(workload, name)
        return None if value == default else value

    return Field(name, schema, about, default=default, get=get)


HEAD_FIELDS = (
    Field("feature_width", count(1), "Columns of a feature row.", default=1),
    Field("dtype", _name(tuple(DTYPES), UNKNOWN_DTYPE), "Of the features.", default="bfloat16"),
    Field("payloads", count(1), "Tensors that travel on the same routes.", default=1),
    Field("encoder_cp_size", count(1), "Ranks that encode one bucket together.", default=1),
    _left_out(
        "encoder_output",
        literal(OUTPUTS),
        "Who has the rows of a bucket that several ranks encode: the first of them, or each its share.",
        "leader",
    ),
    _left_out(
        "encoder_pool",
        one_of(count(1), literal(["all"]), belongs="a whole number from 1 on, or `all`"),
        "Replicas, one after the other, whose ranks share the encoder work; or `all` of them.",
        1,
    ),
    _left_out("input_width", count(1), "Columns of a row of inputs.", 1),
    _left_out("input_dtype", _name(tuple(DTYPES), UNKNOWN_DTYPE), "Of the inputs.", "bfloat16"),
)
"""What a workload says of all its features; attributes of `Workload`."""

WORKLOAD = Shape(
    "Workload",
    *HEAD_FIELDS,
    Field("sequence", SEQUENCE.schema, "The decoder's sequence.", required=True),
    *BATCH_FIELDS,
    Field(
        "replicas",
        list_of(REPLICA),
        "Items, buckets and documents of each data-parallel replica, where they differ.",
    ),
    unknown="told",
)

KEY_ORDER = key_order(WORKLOAD)
"""Where the writer follows the order of fields in a workload."""

check_workload_shape = Checker(
    WORKLOAD,
    Codes(
        missing=MISSING_WORKLOAD_FIELD,
        mistyped=MISTYPED_WORKLOAD_FIELD,
        too_small=SIZE_TOO_SMALL,
        too_large=SIZE_TOO_LARGE,
        unknown=ignored(UNKNOWN_WORKLOAD_FIELD),
        noun="the workload",
    ),
)
"""Yields every field that is missing, mistyped, unknown or out of range, on its own."""
