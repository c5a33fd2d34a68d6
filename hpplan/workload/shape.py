"""The shape of a workload: its fields and their types, as a core schema, and findings about them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, core_schema

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.documents.schema_reference import SCHEMA_FIELD
from hpplan.nearest import nearest_name
from hpplan.plan.shape import BELONGS, FLAG, described, kind_of
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
    from collections.abc import Iterator, Mapping

    from pydantic_core.core_schema import CoreSchema

DTYPES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}
"""What a feature can be, and its size in bytes."""


def _count(least: int) -> CoreSchema:
    return core_schema.int_schema(strict=True, ge=least, le=LARGEST_NUMBER)


def _record(title: str, fields: Mapping[str, CoreSchema], required: tuple[str, ...]) -> CoreSchema:
    return core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(one, required=name in required) for name, one in fields.items()},
        extra_behavior="forbid",
        strict=True,
        metadata={"pydantic_js_updates": {"title": title, "additionalProperties": True}},
    )


def _list(of: CoreSchema) -> CoreSchema:
    return core_schema.list_schema(of, strict=True)


_SPAN = {
    "token_start": described(_count(0), "First decoder token of the run."),
    "rows": described(_count(1), "Tokens, and so rows, of the run."),
}
_ITEM = {
    "item_id": described(_count(0), "Names the item in buckets and destinations."),
    "batch_index": described(_count(0), "Batch row of the decoder."),
    "decoder_token_start": described(_count(0), "First decoder token of the item."),
    "output_rows": described(_count(1), "Feature rows of the item."),
    "spans": described(
        _list(_record("Span", _SPAN, ("token_start", "rows"))),
        "Runs of tokens, ascending, where rows are not one run (a video has a run for each frame).",
    ),
}
_BATCH = {
    "items": described(
        _list(_record("Work item", _ITEM, ("item_id", "batch_index", "output_rows"))),
        "The images and videos of the batch.",
    ),
    "buckets": described(
        _list(_list(_count(0))), "Item ids of each producer, in order. Absent: hpplan assigns the items."
    ),
    "destinations": described(
        core_schema.dict_schema(
            core_schema.str_schema(strict=True, pattern="^(0|[1-9][0-9]{0,15})$"),
            _list(_count(0)),
            strict=True,
        ),
        "Item id to the parent ranks that receive it, instead of the owners of its tokens.",
    ),
}
_SEQUENCE = {
    "length": described(_count(1), "Decoder tokens per batch row."),
    "cp_layout": described(
        core_schema.literal_schema([layout.name for layout in LAYOUTS]),
        "How the tokens are dealt out to CP ranks; contiguous when absent.",
    ),
    "documents": described(
        _list(_count(0)),
        "Lengths of packed documents; zigzag is done inside each. They add up to the length.",
    ),
    "pad": described(
        FLAG,
        "Round lengths up instead of refusing those that do not divide: the sequence at its end, and "
        "with zigzag each document at its own. Items are given without the padding.",
    ),
}
_REPLICA = {
    "documents": described(
        _list(_count(0)), "Lengths of packed documents of this replica, instead of those of the sequence."
    ),
    **_BATCH,
}
_WORKLOAD = {
    "feature_width": described(_count(1), "Columns of a feature row; 1 when absent."),
    "dtype": described(core_schema.literal_schema(list(DTYPES)), "Of the features; bfloat16 when absent."),
    "payloads": described(_count(1), "Tensors that travel on the same routes; 1 when absent."),
    "encoder_cp_size": described(_count(1), "Ranks that encode one bucket together; 1 when absent."),
    "sequence": described(_record("Sequence", _SEQUENCE, ("length",)), "The decoder's sequence."),
    **_BATCH,
    "replicas": described(
        _list(_record("Replica", _REPLICA, ("items",))),
        "Items, buckets and documents of each data-parallel replica, where they differ.",
    ),
}
WORKLOAD_FIELDS = tuple(_WORKLOAD)
"""The fields of a workload, in canonical order."""

ITEM_FIELDS = tuple(_ITEM)
SEQUENCE_FIELDS = tuple(_SEQUENCE)
BATCH_FIELDS = tuple(_BATCH)
REPLICA_FIELDS = tuple(_REPLICA)
SPAN_FIELDS = tuple(_SPAN)

WORKLOAD_SCHEMA = _record("Workload", _WORKLOAD, ("sequence",))

KEY_ORDER = {
    (): WORKLOAD_FIELDS,
    ("sequence",): SEQUENCE_FIELDS,
    ("items", "*"): ITEM_FIELDS,
    ("items", "*", "spans", "*"): SPAN_FIELDS,
    ("replicas", "*"): REPLICA_FIELDS,
    ("replicas", "*", "items", "*"): ITEM_FIELDS,
    ("replicas", "*", "items", "*", "spans", "*"): SPAN_FIELDS,
}
"""Where the writer follows the order of fields in a workload."""

_BELONGS = {**BELONGS, "string_pattern_mismatch": "an item id"}


def check_workload_shape(data: object, place: Place) -> Iterator[Diagnostic]:
    """Yield every field that is missing, mistyped, unknown or out of range, on its own."""
    try:
        workload_validator().validate_python(data)
    except ValidationError as failure:
        seen: dict[tuple[object, ...], int] = {}
        for error in failure.errors(include_url=False, include_context=True):
            if error["type"] == "extra_forbidden":
                # A field that every item carries is one finding, not a million.
                pattern = tuple("*" if isinstance(key, int) else key for key in error["loc"])
                seen[pattern] = seen.get(pattern, 0) + 1
                if seen[pattern] > 1 or pattern == (SCHEMA_FIELD,):
                    continue
            yield _diagnostic(error, place)


@cache
def workload_validator() -> SchemaValidator:
    """Return the validator of `WORKLOAD_SCHEMA`, made once."""
    return SchemaValidator(WORKLOAD_SCHEMA)


def _diagnostic(error: Any, place: Place) -> Diagnostic:  # noqa: ANN401 - pydantic_core's error dict
    path: tuple[str | int, ...] = error["loc"]
    kind, found = error["type"], error["input"]
    if path and path[-1] == "[key]":
        path = path[:-1]
    name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "the list element"
    where = place.at(*path)
    if kind == "missing":
        return Diagnostic(MISSING_WORKLOAD_FIELD, f"the field {name} is missing", place.at(*path[:-1]))
    if kind == "extra_forbidden":
        return _unknown(path, place)
    if kind == "greater_than_equal":
        least = error["ctx"]["ge"]
        code = ROWS_BELOW_ONE if path[-1] in {"rows", "output_rows"} else SIZE_TOO_SMALL
        return Diagnostic(code, f"{name} must be at least {least}, not {found}", where)
    if kind == "less_than_equal":
        return Diagnostic(SIZE_TOO_LARGE, f"{name} must be at most 2^53 - 1", where)
    if kind == "literal_error":
        layout = path[-1] == "cp_layout"
        known = [one.name for one in LAYOUTS] if layout else list(DTYPES)
        near = nearest_name(str(found), known, 0.4)
        return Diagnostic(
            UNKNOWN_CP_LAYOUT if layout else UNKNOWN_DTYPE,
            f"{name} must be one of {', '.join(known)}, not {kind_of(found)}",
            where,
            hint=f"did you mean '{near}'?" if near else None,
        )
    if not path:
        name = "the workload"
    belongs = _BELONGS.get(kind, kind.replace("_", " "))
    return Diagnostic(MISTYPED_WORKLOAD_FIELD, f"{name} must be {belongs}, not {kind_of(found)}", where)


def _unknown(path: tuple[str | int, ...], place: Place) -> Diagnostic:
    inside = next((key for key in reversed(path[:-1]) if isinstance(key, str)), "")
    known = {"": WORKLOAD_FIELDS, "sequence": SEQUENCE_FIELDS, "items": ITEM_FIELDS, "spans": SPAN_FIELDS}
    near = nearest_name(str(path[-1]), known.get(inside, REPLICA_FIELDS))
    return Diagnostic(
        UNKNOWN_WORKLOAD_FIELD,
        f"the field `{path[-1]}` is not known and is ignored",
        place.key(*path),
        hint=f"did you mean `{near}`?" if near else None,
    )
