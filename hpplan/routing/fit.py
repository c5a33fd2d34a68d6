"""Fitting a workload to a mesh: the padded sequence, who owns its tokens, and what does not fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput
from hpplan.routing.layouts import layout_named
from hpplan.routing.modes import mode_of
from hpplan.routing.ownership import Ownership
from hpplan.routing.workload_codes import (
    BUCKET_COUNT_MISMATCH,
    DESTINATION_OUT_OF_RANGE,
    ENCODER_CP_DOES_NOT_DIVIDE,
    LENGTH_DOES_NOT_DIVIDE,
    OWNER_LEFT_OUT,
    PARTIAL_ALL_GATHER,
    REPLICA_COUNT_MISMATCH,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.routing.mesh import Mesh
    from hpplan.routing.workload import Batch, Workload


class Fit(NamedTuple):
    """A workload's sequence on a mesh."""

    length: int
    """Tokens per batch row, with padding."""
    ownership: Ownership
    producers: int
    """Buckets of one parent."""


def fit(mesh: Mesh, workload: Workload) -> Fit:
    """Return how a workload lies on a mesh; raise InvalidInput with all in which it does not fit."""
    problems = list(check_fit(mesh, workload))
    if problems:
        raise InvalidInput(problems)
    length, documents = padded(mesh, workload)
    layout = layout_named(workload.cp_layout)(length, mesh.cp, documents)
    ownership = Ownership(layout, length, mesh.cp, mesh.tp, sp=mesh.sp)
    return Fit(length, ownership, mesh.parent_size // workload.encoder_cp_size)


def padded(mesh: Mesh, workload: Workload) -> tuple[int, tuple[int, ...]]:
    """Return the length and the documents after padding.

    Padding goes to the end of the sequence, into the last document, so no
    token moves and items keep their positions.
    """
    if not workload.pad:
        return workload.length, workload.documents
    length = _next(workload.length, length_multiple(mesh, workload))
    if not workload.documents:
        return length, ()
    *others, last = workload.documents
    return length, (*others, last + length - workload.length)


def length_multiple(mesh: Mesh, workload: Workload) -> int:
    """Return what the length of the whole sequence must be a multiple of."""
    own = layout_named(workload.cp_layout).multiple(mesh.cp)
    return math.lcm(own, mesh.parent_size) if mesh.sp else own


def check_fit(mesh: Mesh, workload: Workload) -> Iterator[Diagnostic]:
    """Yield everything in which a workload does not fit a mesh (errors only)."""
    yield from _check_lengths(mesh, workload)
    size, group = workload.encoder_cp_size, mesh.parent_size
    if group % size:
        yield Diagnostic(
            ENCODER_CP_DOES_NOT_DIVIDE,
            f"encoder_cp_size {size} does not divide the {group} ranks that exchange (cp x tp)",
            workload.place.at("encoder_cp_size"),
        )
    if workload.per_replica and len(workload.batches) != mesh.dp:
        yield Diagnostic(
            REPLICA_COUNT_MISMATCH,
            f"there are {len(workload.batches)} replicas, and the mesh has dp={mesh.dp}",
            workload.place.at("replicas"),
        )
    for batch in workload.batches:
        yield from _check_buckets(mesh, workload, batch)
        yield from _check_destinations(mesh, batch)


def check_owners(fitted: Fit, workload: Workload) -> Iterator[Diagnostic]:
    """Yield a warning for each item whose explicit destinations leave out an owner."""
    for batch in workload.batches:
        if not batch.destinations:
            continue
        spans = {item.item_id: item.spans for item in batch.items}
        for item_id, ranks in batch.destinations.items():
            owners = {
                rank
                for shard, _, _ in fitted.ownership.runs(spans[item_id])
                for rank in fitted.ownership.ranks_of(shard)
            }
            missing = sorted(owners.difference(ranks))
            if missing:
                shown = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")  # noqa: PLR2004 - fits a line
                yield Diagnostic(
                    OWNER_LEFT_OUT,
                    f"item {item_id} is not sent to parent rank {shown}, which holds some of its tokens",
                    batch.place.at("destinations", str(item_id)),
                )


def _check_lengths(mesh: Mesh, workload: Workload) -> Iterator[Diagnostic]:
    place = workload.place.at("sequence")
    layout = layout_named(workload.cp_layout)
    own = layout.multiple(mesh.cp)
    documents = workload.documents
    last = max((index for index, one in enumerate(documents) if one), default=-1)
    found = False
    if layout.inside_documents:
        for index, one in enumerate(documents):
            if one % own and not (workload.pad and index == last == len(documents) - 1):
                found = True
                yield Diagnostic(
                    LENGTH_DOES_NOT_DIVIDE,
                    f"document {index} has {one} tokens, and {workload.cp_layout} over cp={mesh.cp} "
                    f"needs a multiple of {own}",
                    place.at("documents", index),
                    hint=f"the next length that divides is {_next(one, own)}"
                    + ("; `pad` only lengthens the last document" if workload.pad else ""),
                )
    multiple = length_multiple(mesh, workload)
    if workload.length % multiple and not workload.pad and not found:
        over = f"cp={mesh.cp}, tp={mesh.tp} with sp" if mesh.sp else f"cp={mesh.cp}"
        yield Diagnostic(
            LENGTH_DOES_NOT_DIVIDE,
            f"the length {workload.length} is no multiple of {multiple}, "
            f"which {workload.cp_layout} over {over} needs",
            place.at("length"),
            hint=f"the next length that divides is {_next(workload.length, multiple)}; or set `pad: true`",
        )


def _check_buckets(mesh: Mesh, workload: Workload, batch: Batch) -> Iterator[Diagnostic]:
    if batch.buckets is None:
        return
    group, size = mesh.parent_size, workload.encoder_cp_size
    needed = f"{group // size} buckets" if group % size == 0 else "no number of buckets that fits"
    if len(batch.buckets) * size != group:
        many = f"{len(batch.buckets)} bucket{'s' * (len(batch.buckets) != 1)}"
        yield Diagnostic(
            BUCKET_COUNT_MISMATCH,
            f"{many} x encoder_cp_size {size} is {len(batch.buckets) * size}, "
            f"and {group} ranks exchange (cp x tp)",
            batch.place.at("buckets"),
            hint=f"this mesh has {needed}; empty ones are fine",
        )


def _check_destinations(mesh: Mesh, batch: Batch) -> Iterator[Diagnostic]:
    everyone = mode_of(mesh).reaches_all
    group = mesh.parent_size
    for item_id, ranks in batch.destinations.items():
        place = batch.place.at("destinations", str(item_id))
        seen: set[int] = set()
        for number, rank in enumerate(ranks):
            if rank >= group:
                yield Diagnostic(
                    DESTINATION_OUT_OF_RANGE,
                    f"destination {rank} of item {item_id} is no parent rank: they are 0 to {group - 1}",
                    place.at(number),
                )
            elif rank in seen:
                yield Diagnostic(
                    DESTINATION_OUT_OF_RANGE,
                    f"destination {rank} of item {item_id} is listed twice",
                    place.at(number),
                )
            seen.add(rank)
        if everyone and len(seen) < group:
            yield Diagnostic(
                PARTIAL_ALL_GATHER,
                f"item {item_id} lists {len(seen)} of the {group} ranks that an all-gather reaches",
                place,
                hint="leave the item out of `destinations`",
            )


def _next(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple
