"""A stream of samples to a stream of micro-batches: so many samples each, or packed to a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from hpplan.diagnostics import Diagnostic
from hpplan.wording import plural
from hpplan.workload.micro_batch import MicroBatch, Rows, WorkloadSettings
from hpplan.workload.sample_codes import SAMPLE_TOO_LONG
from hpplan.workload.samples import Sample

OPEN_PACKS = 64
"""Packs that still take samples: first-fit looks at no more, so that a long file streams."""


def grouped(
    samples: Iterable[Sample], settings: WorkloadSettings, size: int | None, problems: list[Diagnostic]
) -> Iterator[MicroBatch]:
    """Yield micro-batches of `size` samples a replica, one batch row each; None: one of all samples.

    Replicas get their samples one after the other. The last micro-batch may
    have fewer samples.
    """
    replicas = settings.replicas or 1
    current = MicroBatch(settings, [Rows(described=settings.described) for _ in range(replicas)])
    for sample in samples:
        if settings.length is not None and sample.length > settings.length:
            problems.append(_too_long(sample, settings.length))
            continue
        at = 0 if size is None else current.samples // size
        current.batches[at].add(sample)
        if size is not None and current.samples == size * replicas:
            yield current
            current = MicroBatch(settings, [Rows(described=settings.described) for _ in range(replicas)])
    if current.samples:
        yield current


def packed(
    samples: Iterable[Sample],
    settings: WorkloadSettings,
    length: int,
    problems: list[Diagnostic],
    multiple: int = 1,
) -> Iterator[MicroBatch]:
    """Yield micro-batches of one batch row of `length` tokens a replica, packed with whole samples.

    A sample is a document, padded at its end to a multiple of `multiple`. It
    goes into the first pack with room of those that are open; when there are
    more than `OPEN_PACKS`, the oldest is closed. What is left at the end of a
    row is a document of its own, so that padding attends to no sample. Replicas
    get their rows one after the other; those that are left without one in the
    last micro-batch have no samples.
    """
    settings = replace(settings, length=length)
    replicas = settings.replicas or 1
    rows = _packed_rows(samples, length, problems, multiple, described=settings.described)
    while batches := list(islice(rows, replicas)):
        yield MicroBatch(settings, batches + [Rows() for _ in range(replicas - len(batches))])


def _packed_rows(
    samples: Iterable[Sample], length: int, problems: list[Diagnostic], multiple: int, *, described: bool
) -> Iterator[Rows]:
    packs: list[Rows] = []
    room: list[int] = []
    for sample in samples:
        needed = -(-sample.length // multiple) * multiple
        if needed > length:
            problems.append(_too_long(sample, length, needed))
            continue
        at = next((number for number, left in enumerate(room) if left >= needed), len(packs))
        if at == len(packs):
            packs.append(Rows(described=described))
            room.append(length)
        pack = packs[at]
        pack.place(sample, 0, length - room[at])
        pack.documents.append(needed)
        room[at] -= needed
        # A full pack leaves at once; an early one waits only as long as later samples may still fit.
        closed = at if room[at] < multiple else 0 if len(packs) > OPEN_PACKS else None
        if closed is not None:
            yield _closed(packs.pop(closed), room.pop(closed))
    for pack, left in zip(packs, room, strict=True):
        yield _closed(pack, left)


def _closed(pack: Rows, left: int) -> Rows:
    if left:
        pack.documents.append(left)
    return pack


def _too_long(sample: Sample, length: int, needed: int | None = None) -> Diagnostic:
    padded = f" ({needed:,} after padding)" if needed is not None and needed > sample.length else ""
    message = f"{sample.name} has {plural(sample.length, 'token')}{padded}, and the sequence {length:,}"
    return Diagnostic(SAMPLE_TOO_LONG, message, sample.place)
