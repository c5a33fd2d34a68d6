"""What a routing table looks like as a document, and what in one does not look like that."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError, core_schema

from hpplan.diagnostics import Diagnostic
from hpplan.plan.shape import BELONGS, FLAG, TEXT, count, described, kind_of, record
from hpplan.routing.route_codes import MALFORMED_ROUTES
from hpplan.routing.transfers import GRANULARITIES, ROUTES_VERSION
from hpplan.workload.shape import KEY_ORDER as WORKLOAD_KEY_ORDER
from hpplan.workload.shape import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hpplan.diagnostics import Place

TOP_FIELDS = (
    "hpplan_routes",
    "digest",
    "mesh",
    "mode",
    "granularity",
    "workload",
    "parents",
    "traffic",
)
MESH_FIELDS = ("axes", "order", "sp", "ep")
PARENT_FIELDS = ("ranks", "buckets", "destinations", "transfers", "matrix")
KEY_ORDER = {
    (): TOP_FIELDS,
    ("mesh",): MESH_FIELDS,
    ("parents", "*"): PARENT_FIELDS,
    **{("workload", *path): fields for path, fields in WORKLOAD_KEY_ORDER.items()},
}
"""Where the writer follows the order of fields in a routing table."""

_RANKS = core_schema.list_schema(count(0), strict=True)
_SQUARE = core_schema.list_schema(_RANKS, strict=True)


ROUTES_SCHEMA = record(
    {
        "hpplan_routes": described(core_schema.literal_schema([ROUTES_VERSION]), "Version of the format."),
        "digest": described(
            core_schema.str_schema(strict=True, pattern="^sha256:[0-9a-f]{64}$"),
            "Of everything that affects execution.",
        ),
        "mesh": record(
            {
                "axes": described(
                    core_schema.dict_schema(TEXT, count(1), strict=True), "Axis to size; the rest has size 1."
                ),
                "order": described(
                    core_schema.list_schema(TEXT, strict=True),
                    "The axes, outermost first; pp, dp, cp, tp when absent.",
                ),
                "sp": described(FLAG, "Whether TP ranks split the sequence."),
                "ep": count(1),
            },
            required=("axes", "sp"),
        ),
        "mode": TEXT,
        "granularity": core_schema.literal_schema(list(GRANULARITIES)),
        "workload": WORKLOAD.schema,
        "parents": core_schema.list_schema(
            record(
                {
                    "ranks": described(_RANKS, "Global rank of each parent rank."),
                    "buckets": described(_SQUARE, "Item ids of each producer, in order."),
                    "destinations": described(
                        core_schema.dict_schema(TEXT, _RANKS, strict=True),
                        "Item id to the parent ranks that receive it.",
                    ),
                    "transfers": described(
                        core_schema.list_schema(_RANKS, strict=True),
                        "[source, destination, item_id, row_start, row_stop] in parent ranks.",
                    ),
                    "matrix": described(_SQUARE, "Rows from each parent rank to each."),
                },
                required=("ranks", "buckets", "destinations", "transfers"),
            ),
            strict=True,
        ),
        "traffic": described(
            core_schema.dict_schema(TEXT, core_schema.any_schema()),
            "Sums, for people. `producer_load` is the busiest producer of all parents, the bound of its own "
            "parent, whose items cannot move to another, and the mean over the producers of all parents.",
        ),
    },
    required=TOP_FIELDS[:-1],
)


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(ROUTES_SCHEMA)


def check_shape(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield everything in which data is no routing table, whatever its mesh and workload say."""
    version = data.get("hpplan_routes")
    if isinstance(version, bool):
        message = (
            f"`hpplan_routes` is the version of the format, {ROUTES_VERSION}, and not {kind_of(version)}"
        )
        yield Diagnostic(MALFORMED_ROUTES, message, place.at("hpplan_routes"))
    try:
        # The workload has codes of its own, and is checked by its loader.
        _validator().validate_python({**data, "workload": _ANY_WORKLOAD} if "workload" in data else data)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=True):
            path = error["loc"]
            name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else "the list element"
            if error["type"] == "missing":
                yield Diagnostic(MALFORMED_ROUTES, f"the field {name} is missing", place.at(*path[:-1]))
            elif path == ("hpplan_routes",):
                yield Diagnostic(
                    MALFORMED_ROUTES,
                    f"the format has version {error['input']}, and this hpplan reads {ROUTES_VERSION}",
                    place.at(*path),
                )
            elif error["type"] == "greater_than_equal":
                message = f"{name} must be at least {error['ctx']['ge']}, not {error['input']}"
                yield Diagnostic(MALFORMED_ROUTES, message, place.at(*path))
            elif error["type"] == "less_than_equal":
                yield Diagnostic(MALFORMED_ROUTES, f"{name} must be at most 2^53 - 1", place.at(*path))
            else:
                belongs = _BELONGS.get(error["type"]) or error["msg"].removeprefix("Input should be ")
                message = f"{name} must be {belongs}, not {kind_of(error['input'])}"
                yield Diagnostic(MALFORMED_ROUTES, message, place.at(*path))


_BELONGS = {**BELONGS, "string_pattern_mismatch": "sha256: and 64 hexadecimal digits"}
"""What belongs where the validator reports an error of some type; only the digest has a pattern."""

_ANY_WORKLOAD = {"sequence": {"length": 1}}
