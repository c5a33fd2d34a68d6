"""What a routing table looks like as a document, and what in one does not look like that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.routing.route_codes import MALFORMED_ROUTES, UNKNOWN_ROUTES_FIELD
from hpplan.routing.transfers import GRANULARITIES, ROUTES_VERSION
from hpplan.shapes.findings import Checker, Codes, ignored, kind_of
from hpplan.shapes.shape import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXTS,
    Field,
    Shape,
    count,
    key_order,
    list_of,
    literal,
    mapping_of,
    text,
    told,
)
from hpplan.workload.shape import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RANKS = list_of(count(0))
DIGEST = told(
    text(pattern="^sha256:[0-9a-f]{64}$"), string_pattern_mismatch="sha256: and 64 hexadecimal digits"
)
GRANULARITY_FIELD = Field(
    "granularity",
    literal(GRANULARITIES),
    "Whether whole records are sent, owned rows alone, or these once to each CP coordinate.",
)
MESH = Shape(
    None,
    Field("axes", mapping_of(count(1)), "Axis to size; the rest has size 1.", required=True),
    Field("order", TEXTS, "The axes, outermost first; pp, dp, cp, tp when absent."),
    Field("sp", FLAG, "Whether TP ranks split the sequence.", required=True),
    Field("ep", count(1), "Ranks that share experts: a reshape of the same ranks.", default=1),
    unknown="told",
)
PARENT = Shape(
    None,
    Field("ranks", RANKS, "Global rank of each parent rank.", required=True),
    Field("buckets", list_of(RANKS), "Item ids of each producer, in order.", required=True),
    Field("destinations", mapping_of(RANKS), "Item id to the parent ranks that receive it.", required=True),
    Field(
        "transfers",
        list_of(RANKS),
        "[source, destination, item_id, row_start, row_stop] in parent ranks.",
        required=True,
    ),
    Field(
        "gathers",
        list_of(RANKS),
        "The same of the second step of `once`: what TP ranks pass on to the others of their CP coordinate.",
    ),
    Field(
        "input_transfers",
        list_of(RANKS),
        "The same of inputs, which travel before the features to whoever encodes them in another replica.",
    ),
    Field("matrix", list_of(RANKS), "Rows from each parent rank to each."),
    unknown="told",
)


def _other_version(_name: str, found: object, place: Place) -> Diagnostic:
    message = f"the format has version {found}, and this hpplan reads {ROUTES_VERSION}"
    return Diagnostic(MALFORMED_ROUTES, message, place)


ROUTES = Shape(
    "Routing table",
    Field(
        "hpplan_routes",
        told(literal([ROUTES_VERSION]), literal_error=_other_version),
        "Version of the format.",
        required=True,
    ),
    Field("digest", DIGEST, "Of everything that affects execution.", required=True),
    Field("mesh", MESH.schema, "The axes of the job's ranks.", required=True),
    Field("mode", TEXT, "Which ranks exchange, by which collective.", required=True),
    GRANULARITY_FIELD._replace(required=True),
    Field("workload", WORKLOAD.schema, "The items and the sequence of their tokens.", required=True),
    Field("parents", list_of(PARENT), "The routes of each data-parallel replica.", required=True),
    Field(
        "traffic",
        mapping_of(ANYTHING),
        "Sums, for people. `producer_load` is the busiest producer of all parents, the bound of its own "
        "parent, whose items cannot move to another, and the mean over the producers of all parents.",
    ),
    Field(
        "verdict",
        mapping_of(ANYTHING),
        "For people: the busiest producer against the mean, what moves, and the change that helps most.",
    ),
    unknown="told",
)
KEY_ORDER = key_order(ROUTES)
"""Where the writer follows the order of fields in a routing table."""

_check = Checker(
    ROUTES, Codes(missing=MALFORMED_ROUTES, mistyped=MALFORMED_ROUTES, unknown=ignored(UNKNOWN_ROUTES_FIELD))
)


def check_routes_shape(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield everything in which data is no routing table, whatever its mesh and workload say."""
    version = data.get("hpplan_routes")
    if isinstance(version, bool):
        message = (
            f"`hpplan_routes` is the version of the format, {ROUTES_VERSION}, and not {kind_of(version)}"
        )
        yield Diagnostic(MALFORMED_ROUTES, message, place.at("hpplan_routes"))
    # The workload has codes of its own, and is checked by its loader.
    yield from _check({**data, "workload": _ANY_WORKLOAD} if "workload" in data else data, place)


_ANY_WORKLOAD = {"sequence": {"length": 1}}
