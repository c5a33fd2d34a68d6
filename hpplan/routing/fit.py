"""Fitting a workload to a mesh: the padded sequence, who owns its tokens, and what does not fit."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput
from hpplan.routing.modes import mode_of
from hpplan.routing.ownership import Ownership
from hpplan.wording import listed, plural
from hpplan.workload.checks import check_buckets_of
from hpplan.workload.codes import (
    BUCKET_COUNT_MISMATCH,
    DESTINATION_OUT_OF_RANGE,
    DOCUMENTS_OUTGROW_LENGTH,
    DUPLICATE_ITEM,
    ENCODER_CP_DOES_NOT_DIVIDE,
    LENGTH_DOES_NOT_DIVIDE,
    MISSING_INPUT_ROWS,
    OWNER_LEFT_OUT,
    PARTIAL_ALL_GATHER,
    POOL_DOES_NOT_DIVIDE,
    REPLICA_COUNT_MISMATCH,
)
from hpplan.workload.layouts import layout_named
from hpplan.workload.workload import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hpplan.diagnostics import Place
    from hpplan.routing.mesh import Mesh
    from hpplan.workload.workload import Item, Workload

T = TypeVar("T")

_RENUMBER = "number items through all replicas of a pool, as `hpplan workload --replicas` does"

_OR_PAD = "or set `pad: true`, or route with --pad"


class Padding(NamedTuple):
    """The documents of one replica with padding, and where it moves tokens."""

    documents: tuple[int, ...]
    starts: tuple[int, ...] = ()
    """First token of each document without padding; empty where padding moves no token."""
    shifts: tuple[int, ...] = ()
    """Tokens of padding before each document."""

    def spans(self, item: Item) -> tuple[tuple[int, int], ...]:
        """Return the spans of an item, with padding."""
        if not self.starts:
            return item.spans
        found: list[tuple[int, int]] = []
        for start, rows in item.spans:
            token, stop = start, start + rows
            while token < stop:
                document = bisect_right(self.starts, token) - 1
                end = min([stop, *self.starts[document + 1 : document + 2]])
                found.append((token + self.shifts[document], end - token))
                token = end
        return tuple(found)


class Share(NamedTuple):
    """How the sequences of a parent's replicas are dealt out, with padding."""

    ownership: Ownership
    paddings: tuple[Padding, ...]
    """Of each replica."""

    @property
    def moves_tokens(self) -> bool:
        """Whether padding stands before some document's tokens."""
        return any(padding.starts for padding in self.paddings)

    def moved(self, batch: Batch) -> Batch:
        """Return a batch with its items at the tokens that padding moves them to."""
        if not self.moves_tokens:
            return batch
        items = (item._replace(spans=self.paddings[item.replica].spans(item)) for item in batch.items)
        return replace(batch, items=tuple(items))


class Fit(NamedTuple):
    """A workload's sequence on a mesh."""

    length: int
    """Tokens per batch row, with padding."""
    shares: tuple[Share, ...]
    """Of each parent; one where all run the same."""
    producers: int
    """Buckets of one parent."""

    @property
    def ownership(self) -> Ownership:
        """That of the first parent; the lengths of shards are the same in all."""
        return self.shares[0].ownership

    @property
    def moves_tokens(self) -> bool:
        """Whether padding stands before some document's tokens."""
        return any(share.moves_tokens for share in self.shares)


def fit(mesh: Mesh, workload: Workload) -> Fit:
    """Return how a workload lies on a mesh; raise InvalidInput with all in which it does not fit."""
    mesh = mesh.pooled(workload.encoder_pool)
    problems = list(check_fit(mesh, workload))
    if problems:
        raise InvalidInput(problems)
    length, padded_documents = padded(mesh, workload)
    layout = layout_named(workload.cp_layout)
    known: dict[tuple[tuple[int, ...], ...], Share] = {}
    shares: list[Share] = []
    own = [workload.documents_of(batch) for batch in workload.batches]
    for given, documents in zip(_by_parent(mesh, own), _by_parent(mesh, padded_documents), strict=True):
        if given not in known:
            layouts = [layout(length, mesh.cp, one) for one in documents]
            ownership = Ownership(layouts, length, mesh.cp, mesh.tp, sp=mesh.sp)
            known[given] = Share(ownership, tuple(map(_padding, given, documents)))
        shares.append(known[given])
    return Fit(length, tuple(shares), mesh.parent_size // workload.encoder_cp_size)


def _by_parent(mesh: Mesh, of_batches: Sequence[T]) -> list[tuple[T, ...]]:
    """Return what belongs to the replicas of each parent; all of one where there is one batch for all."""
    pool = mesh.pool
    each = list(of_batches) * pool if len(of_batches) < pool else list(of_batches)
    return [tuple(each[at : at + pool]) for at in range(0, len(each), pool)]


def _padding(given: tuple[int, ...], documents: tuple[int, ...]) -> Padding:
    starts = tuple(accumulate(given, initial=0))[:-1]
    after = tuple(accumulate(documents, initial=0))[:-1]
    if starts == after:
        return Padding(documents)
    return Padding(documents, starts, tuple(new - old for old, new in zip(starts, after, strict=True)))


def parent_batch(mesh: Mesh, workload: Workload, number: int) -> Batch:
    """Return what a parent of a pooled mesh runs: the batches of its replicas as one.

    The buckets that its replicas list make up those of the pool, one after the other.
    """
    if not workload.per_replica and (mesh.pool == 1 or not workload.batches[0].items):
        return workload.batches[0]
    if mesh.pool == 1:
        return workload.batches[number]
    batches = workload.batches[number * mesh.pool : (number + 1) * mesh.pool]
    return Batch(
        tuple(
            item._replace(replica=replica) for replica, batch in enumerate(batches) for item in batch.items
        ),
        _buckets(batches),
        {item: ranks for batch in batches for item, ranks in batch.destinations.items()},
        batches[0].place,
    )


def _buckets(batches: Sequence[Batch]) -> tuple[tuple[int, ...], ...] | None:
    """Return the buckets that the replicas of a parent list, one after the other; None where none does."""
    if all(batch.buckets is None for batch in batches):
        return None
    return tuple(bucket for batch in batches for bucket in batch.buckets or ())


def parent_batches(mesh: Mesh, workload: Workload) -> list[Batch]:
    """Return what each parent of a pooled mesh runs; one where all run the same."""
    count = mesh.parent_count if workload.per_replica else 1
    return [parent_batch(mesh, workload, number) for number in range(count)]


def padded(mesh: Mesh, workload: Workload) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """Return the length after padding, and the documents of each batch.

    A layout that deals out each document rounds each up at its own end, so
    that the tokens of later ones move on; what the whole sequence needs
    beyond that goes into the last document.
    """
    given = [workload.documents_of(batch) for batch in workload.batches]
    if not workload.pad:
        return workload.length, tuple(given)
    layout = layout_named(workload.cp_layout)
    own = layout.multiple(mesh.cp) if layout.inside_documents else 1
    rounded = [tuple(_next(one, own) for one in documents) for documents in given]
    longest = max([workload.length, *map(sum, rounded)])
    length = _next(longest, length_multiple(mesh, workload))
    return length, tuple(
        (*documents[:-1], documents[-1] + length - sum(documents)) if documents else ()
        for documents in rounded
    )


def length_multiple(mesh: Mesh, workload: Workload) -> int:
    """Return what the length of the whole sequence must be a multiple of."""
    own = layout_named(workload.cp_layout).multiple(mesh.cp)
    return math.lcm(own, mesh.replica_size) if mesh.sp else own


_OF_LENGTHS = frozenset({"length", "cp_layout", "documents", "pad", "replicas"})
_OF_POOLS = frozenset({"items", "buckets", "destinations", "replicas"})


def check_fit(mesh: Mesh, workload: Workload, broken: frozenset[str] = frozenset()) -> Iterator[Diagnostic]:
    """Yield everything in which a workload does not fit a mesh (errors only).

    What reads one of the `broken` fields is not checked.
    """
    mesh = mesh.pooled(workload.encoder_pool)
    if not broken & _OF_LENGTHS:
        yield from _check_lengths(mesh, workload)
    if "encoder_pool" in broken:
        return
    if mesh.dp % mesh.pool:
        fitting = ", ".join(str(one) for one in range(1, mesh.dp + 1) if mesh.dp % one == 0)
        yield Diagnostic(
            POOL_DOES_NOT_DIVIDE,
            f"pools of {plural(mesh.pool, 'replica')} do not divide dp={mesh.dp}",
            workload.place.at("encoder_pool"),
            hint=f"a pool has {fitting} {'replica' if mesh.dp == 1 else 'replicas'} here",
        )
        return
    if mesh.parent_size % workload.encoder_cp_size and "encoder_cp_size" not in broken:
        yield Diagnostic(
            ENCODER_CP_DOES_NOT_DIVIDE,
            f"encoder_cp_size {workload.encoder_cp_size} does not divide {_exchanging(mesh)}",
            workload.place.at("encoder_cp_size"),
        )
    counted = not workload.per_replica or "replicas" in broken or len(workload.batches) == mesh.dp
    if not counted:
        yield Diagnostic(
            REPLICA_COUNT_MISMATCH,
            f"the workload has {plural(len(workload.batches), 'replica')}, and the mesh dp={mesh.dp}",
            workload.place.at("replicas"),
            hint=f"`hpplan workload … --replicas --mesh {mesh}` shares the samples out anew",
        )
    if workload.encoder_pool == 1 or (counted and not broken & _OF_POOLS):
        yield from _check_batches(mesh, workload, count_buckets="encoder_cp_size" not in broken)


def as_many_buckets(mesh: Mesh, workload: Workload) -> bool:
    """Whether the buckets that a workload lists, if any, are as many as the mesh has producers."""
    mesh = mesh.pooled(workload.encoder_pool)
    several = workload.per_replica and mesh.dp % mesh.pool == 0
    of_parents = _by_parent(mesh, workload.batches) if several else [workload.batches]
    return not any(True for batches in of_parents for _ in _check_buckets(mesh, workload, batches))


def _check_batches(mesh: Mesh, workload: Workload, *, count_buckets: bool) -> Iterator[Diagnostic]:
    """Yield what is wrong with buckets and destinations of batches that are as many as the mesh wants."""
    if workload.encoder_pool != 1:
        yield from _check_pools(mesh, workload)
    of_parents = _by_parent(mesh, workload.batches) if workload.per_replica else [workload.batches]
    for batches in of_parents if count_buckets else ():
        yield from _check_buckets(mesh, workload, batches)
    for batch in workload.batches:
        yield from _check_destinations(mesh, batch)


def _exchanging(mesh: Mesh) -> str:
    """Spell how many ranks exchange with each other."""
    of_pool = f"{mesh.pool} x " if mesh.pool > 1 else ""
    return f"{of_pool}cp x tp = {mesh.parent_size}, the ranks that exchange"


def _check_pools(mesh: Mesh, workload: Workload) -> Iterator[Diagnostic]:
    """Yield a finding where items of a pool have the same id, or its buckets have not each item once."""
    if not workload.per_replica and mesh.pool > 1 and workload.batches[0].items:
        yield Diagnostic(
            DUPLICATE_ITEM,
            f"all {mesh.pool} replicas of a pool would have these items, with these ids",
            workload.place.at("items"),
            hint=f"give each replica its own under `replicas`; {_RENUMBER}",
        )
        return
    for first in range(0, len(workload.batches), mesh.pool):
        batches = workload.batches[first : first + mesh.pool]
        given = any(batch.buckets is not None for batch in batches)
        ids = [item.item_id for batch in batches for item in batch.items]
        if len(set(ids)) == len(ids) and not given:
            continue
        places: dict[int, Place] = {}
        for batch in batches:
            for index, item in enumerate(batch.items):
                place = batch.place.at("items", index)
                known = places.setdefault(item.item_id, place)
                if known is not place:
                    yield Diagnostic(
                        DUPLICATE_ITEM,
                        f"there is another item {item.item_id} in this pool of replicas",
                        place.at("item_id"),
                        related=(replace(known.at("item_id"), note="first used here"),),
                        hint=_RENUMBER,
                    )
                    return
        if given:
            buckets = [{"buckets": batch.buckets or ()} for batch in batches]
            yield from check_buckets_of(buckets, places, [batch.place for batch in batches])


def check_fitted(mesh: Mesh, workload: Workload, fitted: Fit) -> Iterator[Diagnostic]:
    """Yield warnings about how a workload lies on a mesh that it fits."""
    mesh = mesh.pooled(workload.encoder_pool)
    yield from _check_padding(mesh, workload, fitted)
    yield from _check_owners(mesh, fitted, workload)
    yield from _check_inputs(mesh, workload)


def _check_inputs(mesh: Mesh, workload: Workload) -> Iterator[Diagnostic]:
    """Yield a warning where replicas share the encoder work and an item does not say what goes to whom."""
    if mesh.pool == 1:
        return
    items = [item for batch in workload.batches for item in batch.items]
    silent = [item for item in items if item.input_rows is None]
    if silent:
        number = next(at for at, batch in enumerate(workload.batches) if silent[0] in batch.items)
        batch = workload.batches[number]
        yield Diagnostic(
            MISSING_INPUT_ROWS,
            f"{plural(len(silent), 'item')} of {len(items):,} {'has' if len(silent) == 1 else 'have'} no "
            "`input_rows`, so that features are routed alone",
            batch.place.at("items", batch.items.index(silent[0])),
            hint="their inputs have to go to the replicas that encode them; `hpplan workload` knows the rows",
        )


def _check_padding(mesh: Mesh, workload: Workload, fitted: Fit) -> Iterator[Diagnostic]:
    """Yield a warning where documents, padded each at its end, need more than the length that was given."""
    if fitted.length > _next(workload.length, length_multiple(mesh, workload)):
        layout = layout_named(workload.cp_layout)
        yield Diagnostic(
            DOCUMENTS_OUTGROW_LENGTH,
            f"a batch row has {fitted.length:,} tokens and not {workload.length:,}, "
            f"as {layout.name} pads each document to a multiple of {layout.multiple(mesh.cp)}",
            workload.place.at("sequence", "length"),
            hint=f"pack for this mesh: `hpplan workload … --pack {workload.length} "
            f"--cp-layout {layout.name} --mesh {mesh}`",
        )


def _check_owners(mesh: Mesh, fitted: Fit, workload: Workload) -> Iterator[Diagnostic]:
    """Yield a warning for each item whose explicit destinations leave out an owner."""
    for share, batch in zip(fitted.shares, parent_batches(mesh, workload), strict=True):
        if not batch.destinations:
            continue
        ownership = share.ownership
        items = {item.item_id: item for item in share.moved(batch).items}
        for item_id, ranks in batch.destinations.items():
            owners = {
                rank for shard, _, _ in ownership.runs(items[item_id]) for rank in ownership.ranks_of(shard)
            }
            missing = sorted(owners.difference(ranks))
            if missing:
                holds = "holds" if len(missing) == 1 else "hold"
                yield Diagnostic(
                    OWNER_LEFT_OUT,
                    f"item {item_id} is not sent to {listed('parent rank', missing)}, "
                    f"which {holds} some of its tokens",
                    batch.place.at("destinations", str(item_id)),
                )


def _check_lengths(mesh: Mesh, workload: Workload) -> Iterator[Diagnostic]:
    place = workload.place.at("sequence")
    layout = layout_named(workload.cp_layout)
    own = layout.multiple(mesh.cp)
    found = False
    if layout.inside_documents and not workload.pad:
        of_replicas = [
            (batch.documents, batch.place.at("documents"))
            for batch in workload.batches
            if batch.documents is not None
        ]
        for documents, where in [(workload.documents, place.at("documents")), *of_replicas]:
            for index, one in enumerate(documents):
                if one % own:
                    found = True
                    yield Diagnostic(
                        LENGTH_DOES_NOT_DIVIDE,
                        f"document {index} has {plural(one, 'token')}, and {workload.cp_layout} over "
                        f"cp={mesh.cp} needs a multiple of {own}",
                        where.at(index),
                        hint=f"the next length that divides is {_next(one, own)}; {_OR_PAD}",
                    )
    multiple = length_multiple(mesh, workload)
    if workload.length % multiple and not workload.pad and not found:
        over = f"cp={mesh.cp}, tp={mesh.tp} with sp" if mesh.sp else f"cp={mesh.cp}"
        yield Diagnostic(
            LENGTH_DOES_NOT_DIVIDE,
            f"the length {workload.length} is no multiple of {multiple}, "
            f"which {workload.cp_layout} over {over} needs",
            place.at("length"),
            hint=f"the next length that divides is {_next(workload.length, multiple)}; {_OR_PAD}",
        )


def _check_buckets(mesh: Mesh, workload: Workload, batches: Sequence[Batch]) -> Iterator[Diagnostic]:
    """Yield a finding where the replicas of a parent list another number of buckets than it has."""
    buckets = _buckets(batches)
    if buckets is None:
        return
    group, size = mesh.parent_size, workload.encoder_cp_size
    needed = plural(group // size, "bucket") if group % size == 0 else "no number of buckets that fits"
    if len(buckets) * size != group:
        many = plural(len(buckets), "bucket")
        yield Diagnostic(
            BUCKET_COUNT_MISMATCH,
            f"{many} x encoder_cp_size {size} is {len(buckets) * size}, and {_exchanging(mesh)}",
            batches[0].place.at("buckets"),
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
