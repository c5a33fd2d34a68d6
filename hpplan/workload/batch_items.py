"""Work items of a batch as a trainer has it: token ids, and the processor's grids, flat over the batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from hpplan.errors import UnusableRequest
from hpplan.wording import plural
from hpplan.workload.families import FAMILIES, family_named
from hpplan.workload.families.base import Family, Kind
from hpplan.workload.feature import Feature, Span
from hpplan.workload.mismatch import MismatchError
from hpplan.workload.placeholders import groups, match, placeholder_runs
from hpplan.workload.samples import SampleItem, Splitting, items_of


class BatchItems(NamedTuple):
    """The items of a batch: its images, then its videos, each in the order of their grids."""

    items: list[dict[str, Any]]
    """As a workload lists them; `sample` is the sample's id, else the number of its batch row or document."""
    slices: list[slice]
    """Of each item, its rows in the inputs of its kind, as in `pixel_values` or `pixel_values_videos`."""
    kinds: list[Kind]
    grids: list[tuple[int, ...]]
    """Of each item; of a part of a video that of its slices alone."""
    documents: list[int]
    """Lengths of packed documents, as a sequence lists them; none where the batch is not packed."""


def items_from_batch(
    family: Family | str,
    input_ids: Any,  # noqa: ANN401 - a tensor, an array or lists
    *,
    attention_mask: Any = None,  # noqa: ANN401 - the same
    cu_seqlens: Any = None,  # noqa: ANN401 - the same
    position_ids: Any = None,  # noqa: ANN401 - the same
    sample_ids: Sequence[str | int] | None = None,
    split_videos: bool | int = False,
    **grids: Any,  # noqa: ANN401 - the same
) -> BatchItems:
    """Return the items of a collated batch and say which rows of the inputs are whose.

    `input_ids` is `[batch rows, tokens]`, tensors, arrays or lists; where
    `attention_mask` is 0 there is padding, on either side. `grids` are what the
    family's processor gives beside the tokens, flat over the batch, as
    `image_grid_thw=…`. Documents packed into one batch row are told apart by
    `cu_seqlens`, `[documents + 1]`, or by `position_ids`, `[1, tokens]`, that begin
    again at 0. `sample_ids` names each batch row, or each document. With `split_videos` each
    temporal slice of a video is an item, or as many as have so many rows. Raises
    UnusableRequest for an unknown family or grid, where placeholders and grids do
    not fit, naming the batch row and the image, and for a family whose encoder is
    not known to keep slices apart.
    """
    known = _family(family)
    rows = _lists(input_ids, "input_ids")
    mask = None if attention_mask is None else _lists(attention_mask, "attention_mask")
    if mask is not None and [len(row) for row in mask] != [len(row) for row in rows]:
        raise UnusableRequest("attention_mask has another shape than input_ids")
    documents = _documents(rows, cu_seqlens, position_ids)
    _check_names(sample_ids, rows, documents)
    features = list(_features(known, grids))
    items: list[dict[str, Any]] = []
    slices: list[slice] = []
    kinds: list[Kind] = []
    shapes: list[tuple[int, ...]] = []
    try:
        by_placeholder = groups(known, features)
    except ValueError as error:
        raise UnusableRequest(f"{error}; a batch has the one or the other") from None
    splitting = None if split_videos is False else Splitting(None if split_videos is True else split_videos)
    for _, placeholder, sharing in by_placeholder:
        read = 0
        for row, feature, spans in _matched(rows, mask, sharing, placeholder):
            for part in _parts(known, feature, spans, splitting):
                number = _sample(row, part.spans[0][0], documents)
                named = number if sample_ids is None else sample_ids[number]
                items.append(_item(len(items), row, part, named))
                slices.append(slice(read, read + (part.input_rows or 0)))
                kinds.append(feature.kind)
                shapes.append(_shape(part))
                read += part.input_rows or 0
    return BatchItems(items, slices, kinds, shapes, documents)


def _documents(rows: Sequence[Sequence[int]], cu_seqlens: Any, position_ids: Any) -> list[int]:  # noqa: ANN401 - as above
    """Return the lengths of packed documents; none where nothing says that there are any."""
    if cu_seqlens is None and position_ids is None:
        return []
    if len(rows) != 1:
        raise UnusableRequest(f"documents are packed into one batch row, not into {len(rows)}")
    tokens = len(rows[0])
    if cu_seqlens is not None:
        ends = list(cu_seqlens.tolist() if hasattr(cu_seqlens, "tolist") else cu_seqlens)
        if ends[:1] != [0] or ends[-1] != tokens or ends != sorted(ends):
            raise UnusableRequest(f"cu_seqlens must go up from 0 to {tokens}, the number of tokens")
    else:
        positions = _lists(position_ids, "position_ids")
        if [len(row) for row in positions] != [tokens]:
            raise UnusableRequest("position_ids has another shape than input_ids")
        ends = [*(at for at, position in enumerate(positions[0]) if position == 0), tokens]
        if ends[0] != 0:
            raise UnusableRequest("position_ids must begin with 0, at each document")
    return [end - start for start, end in pairwise(ends)]


def _check_names(
    sample_ids: Sequence[str | int] | None, rows: Sequence[Sequence[int]], documents: Sequence[int]
) -> None:
    count, what = (len(documents), "document") if documents else (len(rows), "batch row")
    if sample_ids is not None and len(sample_ids) != count:
        are = "is" if len(sample_ids) == 1 else "are"
        given = plural(len(sample_ids), "sample_id")
        raise UnusableRequest(f"there {are} {given} for {plural(count, what)}")


def _sample(row: int, token: int, documents: Sequence[int]) -> int:
    """Return the number of the sample that a token belongs to: its document, else its batch row."""
    return bisect_right(list(accumulate(documents)), token) if documents else row


def _parts(
    family: Family, feature: Feature, spans: tuple[Span, ...], splitting: Splitting | None
) -> Iterator[SampleItem]:
    try:
        yield from items_of(feature, None, spans, family, splitting)
    except ValueError as error:
        raise UnusableRequest(str(error)) from None


def _shape(part: SampleItem) -> tuple[int, ...]:
    """Return the grid of an item; temporal slices come first in the grids of families that split videos."""
    grid = part.grid or ()
    return grid if part.slices is None else (part.slices[1] - part.slices[0], *grid[1:])


def _item(number: int, row: int, part: SampleItem, sample: str | int) -> dict[str, Any]:
    item: dict[str, Any] = {
        "item_id": number,
        "batch_index": row,
        "decoder_token_start": part.spans[0][0],
        "output_rows": sum(rows for _, rows in part.spans),
        "sample": sample,
    }
    if len(part.spans) > 1:
        item["spans"] = [{"token_start": start, "rows": rows} for start, rows in part.spans]
    for name in ("input_rows", "grid", "slices"):
        value = getattr(part, name)
        if value is not None:
            item[name] = list(value) if isinstance(value, tuple) else value
    return item


def _family(family: Family | str) -> Family:
    if isinstance(family, Family):
        return family
    try:
        return family_named(family)()
    except KeyError:
        names = ", ".join(known.name for known in FAMILIES)
        raise UnusableRequest(f"there is no family {family!r}; it is one of {names}") from None


def _lists(batch: Any, name: str) -> list[list[int]]:  # noqa: ANN401 - a tensor, an array or lists
    rows = batch.tolist() if hasattr(batch, "tolist") else batch
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in rows):
        raise UnusableRequest(f"{name} must be [batch rows, tokens]")
    return [list(row) for row in rows]


def _features(family: Family, grids: Mapping[str, Any]) -> Iterator[Feature]:
    unknown = [name for name in grids if name not in family.grid_fields]
    if unknown:
        names = ", ".join(family.grid_fields)
        raise UnusableRequest(f"{family.name} has no {unknown[0]}; it reads {names}")
    for name, field in family.grid_fields.items():
        column = grids.get(name)
        entries = [] if column is None else column.tolist() if hasattr(column, "tolist") else list(column)
        for number, entry in enumerate(entries):
            grid = tuple(entry) if isinstance(entry, (list, tuple)) else (entry,)
            try:
                runs = family.from_grid(field.kind, grid)
            except ValueError as error:
                raise UnusableRequest(f"{name} {number}: {error}") from None
            yield Feature(field.kind, number, runs, f"grid {grid}", (name, number), grid)


def _matched(
    rows: Sequence[Sequence[int]],
    mask: Sequence[Sequence[int]] | None,
    features: Sequence[Feature],
    placeholder: int,
) -> Iterator[tuple[int, Feature, tuple[tuple[int, int], ...]]]:
    """Yield each feature with its batch row and spans; a row takes those that its placeholders are for."""
    at = 0
    for row, tokens in enumerate(rows):
        masked = None if mask is None else mask[row]
        shown = (
            tokens if masked is None else [t if kept else -1 for t, kept in zip(tokens, masked, strict=True)]
        )
        runs = [] if placeholder < 0 else placeholder_runs(shown, placeholder)
        count, first, taken = sum(length for _, length in runs), at, 0
        while taken < count and at < len(features):
            taken += features[at].rows
            at += 1
        sharing = features[first:at]
        try:
            spans = match(runs, sharing, shown)
        except MismatchError as error:
            number = first + (error.index or 0)
            what = (
                f"{features[number].kind} {number}, {features[number].what}"
                if sharing
                else "no image or video"
            )
            raise UnusableRequest(
                f"batch row {row} has {plural(count, 'placeholder')} ({placeholder}), and the grids that "
                f"belong there {plural(taken, 'row')}: look at {what}"
            ) from None
        yield from zip([row] * len(sharing), sharing, spans, strict=True)
    if at < len(features):
        left = features[at]
        raise UnusableRequest(
            f"{plural(len(features) - at, 'image or video', 'images and videos')} of the batch, from "
            f"{left.kind} {left.number} on, {left.what}, have no placeholders in input_ids"
        )
