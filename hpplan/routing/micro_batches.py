"""A document with a workload for each of many micro-batches: `{micro_batches: [workload, …]}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput
from hpplan.plan.shape import described, kind_of
from hpplan.routing.workload import load_workload
from hpplan.routing.workload_codes import MISTYPED_WORKLOAD_FIELD, SIZE_TOO_SMALL
from hpplan.routing.workload_shape import KEY_ORDER, WORKLOAD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.diagnostics import Place
    from hpplan.routing.workload import Workload

FIELD = "micro_batches"

MICRO_BATCHES_SCHEMA = core_schema.typed_dict_schema(
    {
        FIELD: core_schema.typed_dict_field(
            described(
                core_schema.list_schema(WORKLOAD_SCHEMA, min_length=1, strict=True),
                "The workload of each micro-batch, in the order in which they run.",
            ),
            required=True,
        )
    },
    extra_behavior="forbid",
    strict=True,
    metadata={"pydantic_js_updates": {"title": "Micro-batches", "additionalProperties": True}},
)

MICRO_BATCHES_KEY_ORDER = {(): (FIELD,), **{(FIELD, "*", *path): keys for path, keys in KEY_ORDER.items()}}
"""Where the writer follows the order of fields in such a document."""


def has_micro_batches(data: Mapping[str, Any]) -> bool:
    """Whether a document holds workloads of many micro-batches."""
    return FIELD in data


def load_micro_batches(data: Mapping[str, Any], place: Place) -> tuple[Workload, ...]:
    """Return the workload of each micro-batch; raise InvalidInput with everything that is wrong in any."""
    where = place.at(FIELD)
    entries = data[FIELD]
    if not isinstance(entries, list):
        message = f"`{FIELD}` must be a list of workloads, not {kind_of(entries)}"
        raise InvalidInput([Diagnostic(MISTYPED_WORKLOAD_FIELD, message, where)])
    if not entries:
        raise InvalidInput([Diagnostic(SIZE_TOO_SMALL, f"`{FIELD}` has no workload", where)])
    problems: list[Diagnostic] = []
    workloads = [_loaded(entry, where.at(index), problems) for index, entry in enumerate(entries)]
    if problems:
        raise InvalidInput(problems)
    return tuple(workload for workload in workloads if workload is not None)


def _loaded(data: Mapping[str, Any], place: Place, problems: list[Diagnostic]) -> Workload | None:
    try:
        return load_workload(data, place)
    except InvalidInput as error:
        problems += error.diagnostics
        return None
