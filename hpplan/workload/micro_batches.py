"""A document with a workload for each of many micro-batches: `{micro_batches: [workload, …]}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.schema_reference import SCHEMA_FIELD
from hpplan.errors import InvalidInput, UnusableArgument
from hpplan.shapes.findings import ignored, kind_of
from hpplan.shapes.shape import Field, Shape, key_order, list_of
from hpplan.workload.codes import (
    ITEMS_BESIDE_REPLICAS,
    MISTYPED_WORKLOAD_FIELD,
    SIZE_TOO_SMALL,
    UNKNOWN_WORKLOAD_FIELD,
)
from hpplan.workload.shape import WORKLOAD
from hpplan.workload.workload import Reading, Workload, load_workload, read_workload

_NOWHERE = Place("workloads")
"""Where findings are about data that no document has."""

FIELD = "micro_batches"

MICRO_BATCHES = Shape(
    "Micro-batches",
    Field(
        FIELD,
        list_of(WORKLOAD, 1),
        "The workload of each micro-batch, in the order in which they run.",
        required=True,
    ),
    unknown="told",
)

_unknown = ignored(UNKNOWN_WORKLOAD_FIELD)

MICRO_BATCHES_KEY_ORDER = key_order(MICRO_BATCHES)
"""Where the writer follows the order of fields in such a document."""


def has_micro_batches(data: Mapping[str, Any]) -> bool:
    """Whether a document holds workloads of many micro-batches."""
    return FIELD in data


def load_micro_batches(data: Mapping[str, Any], place: Place = _NOWHERE) -> tuple[Workload, ...]:
    """Return the workload of each micro-batch; raise InvalidInput with everything that is wrong in any."""
    beside, readings = read_micro_batches(data, place)
    problems = [finding for finding in beside if finding.level == "error"]
    for reading in readings:
        problems += [*reading.problems, *(reading.warnings if reading.problems else ())]
    if problems:
        raise InvalidInput(problems)
    workloads = tuple(reading.workload for reading in readings if reading.workload is not None)
    return with_warnings(workloads, beside)


def load_workloads(
    data: Mapping[str, Any], place: Place = _NOWHERE, micro_batch: int | None = None
) -> tuple[Workload, ...]:
    """Return the workload of each micro-batch, of the one that is picked, or the one workload that data is.

    Micro-batches count from 0. Raises InvalidInput with everything that is
    wrong in any that is read, and UnusableArgument for one that there is not.
    """
    several = isinstance(data, dict) and has_micro_batches(data)
    entries = data[FIELD] if several else [data]
    if micro_batch is not None and isinstance(entries, list) and micro_batch >= len(entries) > 0:
        has = f"has micro-batches 0 to {len(entries) - 1}" if several else "has one micro-batch, 0"
        raise UnusableArgument("micro_batch", f"the input {has}.")
    if not several:
        return (load_workload(data, place),)
    if micro_batch is None or not isinstance(entries, list) or not entries:
        return load_micro_batches(data, place)
    beside = list(check_beside(data, place))
    if any(finding.level == "error" for finding in beside):
        raise InvalidInput(beside)
    workload = load_workload(entries[micro_batch], place.at(FIELD, micro_batch))
    return with_warnings((workload,), beside)


def read_micro_batches(data: Mapping[str, Any], place: Place) -> tuple[list[Diagnostic], list[Reading]]:
    """Return findings about the document, and each workload as far as it is in order."""
    where = place.at(FIELD)
    entries = data[FIELD]
    beside = list(check_beside(data, place))
    if not isinstance(entries, list):
        message = f"`{FIELD}` must be a list of workloads, not {kind_of(entries)}"
        return [*beside, Diagnostic(MISTYPED_WORKLOAD_FIELD, message, where)], []
    if not entries:
        return [*beside, Diagnostic(SIZE_TOO_SMALL, f"`{FIELD}` has no workload", where)], []
    return beside, [read_workload(entry, where.at(index)) for index, entry in enumerate(entries)]


def with_warnings(workloads: tuple[Workload, ...], warnings: list[Diagnostic]) -> tuple[Workload, ...]:
    """Return workloads of which the first carries the warnings about their document as well."""
    first, *rest = workloads
    return (replace(first, warnings=(*warnings, *first.warnings)), *rest)


def check_beside(data: Mapping[str, Any], place: Place) -> Iterator[Diagnostic]:
    """Yield findings about fields beside the list: those of a workload are errors, as they would be lost."""
    for name in data:
        if name in WORKLOAD.names:
            yield Diagnostic(
                ITEMS_BESIDE_REPLICAS,
                f"`{name}` stands beside `{FIELD}`",
                place.key(name),
                hint=f"move `{name}` into each element of `{FIELD}`",
                related=(place.key(FIELD).noted("the micro-batches"),),
            )
        elif name not in {FIELD, SCHEMA_FIELD}:
            yield _unknown(name, (FIELD,), place.key(name))
