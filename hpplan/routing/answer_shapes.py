"""What `hpplan route` answers with as data, beside the routing table: shapes for their JSON Schemas.

Nothing reads these documents back, so they have every field and no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import core_schema

from hpplan.plan.shape import FLAG, TEXT, count, described
from hpplan.routing.assignment.base import COSTS
from hpplan.routing.statistics import MEASURES
from hpplan.routing.transfers import GRANULARITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core.core_schema import CoreSchema

_NUMBER = core_schema.float_schema(ge=0)
_GRANULARITY = core_schema.literal_schema(list(GRANULARITIES))


def _exactly(fields: Mapping[str, CoreSchema], *, optional: tuple[str, ...] = ()) -> CoreSchema:
    return core_schema.typed_dict_schema(
        {
            name: core_schema.typed_dict_field(schema, required=name not in optional)
            for name, schema in fields.items()
        },
        extra_behavior="forbid",
        strict=True,
        # pydantic 2.10 leaves this out of the JSON Schema by itself.
        metadata={"pydantic_js_updates": {"additionalProperties": False}},
    )


def _list(element: CoreSchema, description: str) -> CoreSchema:
    return described(core_schema.list_schema(element, strict=True), description)


def _tuples(length: int, description: str) -> CoreSchema:
    entry = core_schema.list_schema(count(0), min_length=length, max_length=length, strict=True)
    return _list(entry, description)


_LINK = described(
    core_schema.nullable_schema(
        _exactly({"bandwidth": described(_NUMBER, "GB/s."), "latency": described(_NUMBER, "Microseconds.")})
    ),
    "Of a rank to ranks of other nodes; null where none was given.",
)

COMPARISON_SCHEMA = _exactly(
    {
        "link": _LINK,
        "ranks_per_node": core_schema.nullable_schema(count(1)),
        "node_bandwidth": described(
            core_schema.nullable_schema(_NUMBER), "GB/s of a rank to ranks of its node; null: as the link."
        ),
        "ways": _list(
            _exactly(
                {
                    "name": TEXT,
                    "summary": TEXT,
                    "collectives": count(1),
                    "rows": described(count(0), "That leave their rank."),
                    "bytes": count(0),
                    "rows_between_nodes": described(
                        core_schema.nullable_schema(count(0)), "Null where `ranks_per_node` is."
                    ),
                    "busiest_rank_rows": described(
                        count(0), "Of the busiest rank of each collective, added up."
                    ),
                    "busiest_rank_bytes": count(0),
                    "seconds": described(
                        core_schema.nullable_schema(_NUMBER), "The estimated time; null where `link` is."
                    ),
                }
            ),
            "The ways to move the same features.",
        ),
        "row_leaves_out_items": _list(
            count(0), "Ids of items of which only `record` brings all rows to their explicit destinations."
        ),
        "take": described(TEXT, "Name of the best way."),
        "reason": described(TEXT, "Why it is the best."),
    }
)

STATISTICS_SCHEMA = _exactly(
    {
        "mesh": _exactly(
            {
                "axes": described(core_schema.dict_schema(TEXT, count(1), strict=True), "Axis to size."),
                "order": _list(TEXT, "The axes, outermost first."),
                "sp": described(FLAG, "Whether TP ranks split the sequence."),
                "ep": count(2),
            },
            optional=("ep",),
        ),
        "granularity": _GRANULARITY,
        "micro_batches": described(count(1), "Number of micro-batches."),
        "cost": core_schema.literal_schema(list(COSTS)),
        "link": _LINK,
        "policies": described(
            core_schema.dict_schema(
                TEXT,
                _exactly(
                    {
                        measure.name: described(
                            _exactly(
                                {
                                    "median": _NUMBER,
                                    "p95": _NUMBER,
                                    "worst": _NUMBER,
                                    "worst_at": described(
                                        count(0), "The first micro-batch with the worst, counted from 0."
                                    ),
                                }
                            ),
                            f"{measure.summary[0].upper()}{measure.summary[1:]}.",
                        )
                        for measure in MEASURES
                    },
                    optional=tuple(measure.name for measure in MEASURES if measure.needs_link),
                ),
                strict=True,
            ),
            "Distributions over the micro-batches, by assignment policy and measure.",
        ),
    }
)

_IDLE = _exactly(
    {
        "rank": count(0),
        "exchanges": core_schema.literal_schema([False]),
        "reason": described(TEXT, "Why the rank has no part in the exchange."),
    }
)

_EXCHANGING = _exactly(
    {
        "rank": described(count(0), "Global rank."),
        "exchanges": core_schema.literal_schema([True]),
        "digest": described(
            core_schema.str_schema(strict=True, pattern="^sha256:[0-9a-f]{64}$"), "Of the routing table."
        ),
        "mode": TEXT,
        "granularity": _GRANULARITY,
        "group_ranks": _list(count(0), "Global rank of each rank of the group, which peers are numbered by."),
        "group_rank": count(0),
        "tokens": _tuples(2, "[start, stop) of the tokens that the rank holds."),
        "local_length": described(count(0), "Tokens of one batch row that the rank holds."),
        "copies": described(count(1), "Ranks of the group that hold these tokens."),
        "bucket": _tuples(2, "[item_id, rows] of the features that the rank produces, in order."),
        "sends": _tuples(4, "[destination, item_id, row_start, row_stop] in wire order."),
        "receives": _tuples(4, "[source, item_id, row_start, row_stop] in wire order."),
        "input_splits": _list(count(0), "Rows to each rank of the group."),
        "output_splits": _list(count(0), "Rows from each rank of the group."),
        "hand_over": _tuples(4, "[item_id, row_start, row_stop, first received row] in hand-over order."),
        "positions": _list(
            count(-1),
            "For each received row batch_index * local_length + its local token; -1 where it is another's.",
        ),
        "rows_sent": described(count(0), "To others."),
        "rows_received": described(count(0), "From others."),
        "rows_kept": count(0),
        "send_buffer_bytes": count(0),
        "receive_buffer_bytes": count(0),
    }
)

_RANK = core_schema.union_schema([_EXCHANGING, _IDLE])

RANK_SCHEMA = core_schema.union_schema(
    [_EXCHANGING, _IDLE, _exactly({"ranks": _list(_RANK, "Every rank of the mesh, by global rank.")})]
)
