"""From what a batch file says of a sample to its tokens, and the tokens of each of its images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hpplan.diagnostics import Place
from hpplan.documents.json_text.samples import SampleData
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.errors import InvalidInput
from hpplan.wording import plural
from hpplan.workload.families.base import Family, Kind, Size
from hpplan.workload.feature import Feature, Span
from hpplan.workload.features import Findings, Sized, features_of
from hpplan.workload.mismatch import MismatchError
from hpplan.workload.placeholders import groups, match, place_by_sizes, placeholder_runs, split_text
from hpplan.workload.sample_codes import PLACEHOLDERS_DO_NOT_MATCH


class SampleItem(NamedTuple):
    """One image or video of a sample and its tokens within the sample."""

    kind: Kind
    spans: tuple[Span, ...]
    input_rows: int | None = None
    grid: tuple[int, ...] | None = None
    slices: tuple[int, int] | None = None
    """First and stop of the temporal slices that it is, where it is a part of a video."""

    def split(self, slices: int, most_rows: int | None) -> Iterator[SampleItem]:
        """Yield parts of one temporal slice, or of as many as have `most_rows` rows."""
        each = sum(rows for _, rows in self.spans) // slices
        together = 1 if most_rows is None else max(1, most_rows // each)
        inputs = None if self.input_rows is None else self.input_rows // slices
        for first in range(0, slices, together):
            stop = min(first + together, slices)
            yield SampleItem(
                self.kind,
                tuple(_cut(self.spans, first * each, stop * each)),
                None if inputs is None else inputs * (stop - first),
                self.grid,
                (first, stop),
            )


def _cut(spans: Sequence[Span], start: int, stop: int) -> Iterator[Span]:
    """Yield the spans of rows `[start, stop)`."""
    row = 0
    for token, rows in spans:
        low, high = max(start, row), min(stop, row + rows)
        if low < high:
            yield token + low - row, high - low
        row += rows


class Sample(NamedTuple):
    """One sample of `length` tokens: its images, then its videos, each in the order of their features."""

    name: str
    place: Place
    length: int
    items: tuple[SampleItem, ...]
    sample_id: str | int
    """Its `id`, else its number in the file."""


@dataclass(frozen=True)
class Splitting:
    """That videos are split into items of one temporal slice, or of as many as have `most_rows` rows."""

    most_rows: int | None = None


def read_sample(sample: SampleData, family: Family, splitting: Splitting | None = None) -> Sample:
    """Read one sample of a batch file; raise InvalidInput with everything that is wrong with it."""
    findings = Findings(sample)
    sized = features_of(sample, family, findings)
    features = [entry.feature for entry in sized]
    spans: list[tuple[Span, ...]] = []
    length = 0
    tokens = _tokens(sample, findings)
    if tokens is not None:
        length = len(tokens)
        if not findings:
            spans = _spans(tokens, features, family, findings)
    elif sample.data.get("input_ids") is None:
        text = _text(sample, len(features), findings)
        if not findings:
            length, spans = place_by_sizes(features, _around(sized, family), text)
            if not length:
                findings.malformed("there is not a single token", "text_tokens")
            if length > LARGEST_NUMBER:
                most = f"2^53 - 1 = {LARGEST_NUMBER}"
                findings.malformed(f"there are more tokens than {most}", "text_tokens")
    if findings:
        raise InvalidInput(findings.located())
    named = sample.data.get("id")
    sample_id = named if isinstance(named, (str, int)) else sample.number
    items = tuple(_items(sized, spans, family, splitting, findings))
    if findings:
        raise InvalidInput(findings.located())
    return Sample(findings.name, sample.place, length, items, sample_id)


def _items(
    sized: Sequence[Sized],
    spans: Sequence[tuple[Span, ...]],
    family: Family,
    splitting: Splitting | None,
    findings: Findings,
) -> Iterator[SampleItem]:
    for (feature, size), its_spans in zip(sized, spans, strict=True):
        try:
            yield from items_of(feature, size, its_spans, family, splitting)
        except ValueError as error:  # noqa: PERF203 - each video has a finding of its own
            findings.unusable(str(error), *feature.path)


def items_of(
    feature: Feature, size: Size | None, spans: tuple[Span, ...], family: Family, splitting: Splitting | None
) -> Iterator[SampleItem]:
    """Yield an image or video as an item, or as the items that it is split into; it has a grid or a size.

    Raises ValueError for a video that the family's encoder is not known to keep apart.
    """
    shown = feature.grid or size
    assert shown is not None
    inputs = family.input_rows(feature.kind, feature.runs, shown)
    item = SampleItem(feature.kind, spans, inputs, feature.grid)
    if splitting is None or feature.kind != "video":
        yield item
        return
    try:
        slices = family.slices(feature.runs, shown)
    except ValueError as error:
        raise ValueError(f"videos cannot be split: {error}") from None
    yield from item.split(slices, splitting.most_rows)


def _tokens(sample: SampleData, findings: Findings) -> list[int] | None:
    tokens = sample.data.get("input_ids")
    if tokens is None:
        return None
    if isinstance(tokens, list) and len(tokens) == 1 and isinstance(tokens[0], list):
        # A processor that is called for one sample returns a batch of one.
        tokens = tokens[0]
    if not isinstance(tokens, list) or {*map(type, tokens)} != {int}:
        findings.malformed("`input_ids` must be a list of whole numbers, one at least", "input_ids")
        return None
    return tokens


def _text(sample: SampleData, images: int, findings: Findings) -> list[int]:
    """Return the text tokens before each image and after the last."""
    text = sample.data.get("text_tokens")
    if text is None:
        findings.malformed(
            "there are no tokens: neither `input_ids` nor `text_tokens`",
            hint="where only sizes are known, give the number of text tokens as `text_tokens`",
        )
    elif type(text) is int and text >= 0:
        return split_text(text, images)
    elif not isinstance(text, list) or any(type(part) is not int or part < 0 for part in text):
        findings.malformed(
            "`text_tokens` must be a whole number of at least 0, or a list of them", "text_tokens"
        )
    elif len(text) != images + 1:
        findings.malformed(
            f"`text_tokens` has {plural(len(text), 'entry', 'entries')}, not {images + 1}: "
            "the text before each image or video, and after the last",
            "text_tokens",
        )
    else:
        return text
    return [0] * (images + 1)


def _around(sized: Sequence[Sized], family: Family) -> list[list[tuple[int, int]]]:
    return [
        [family.text_around(feature.kind, run, len(feature.runs), size) for run in range(len(feature.runs))]
        for feature, size in sized
    ]


def _spans(
    tokens: Sequence[int], features: Sequence[Feature], family: Family, findings: Findings
) -> list[tuple[Span, ...]]:
    """Return the spans of each image, found by its placeholders."""
    try:
        by_placeholder = groups(family, features)
    except ValueError as error:
        findings.malformed(str(error), hint="give their sizes and `text_tokens` instead of `input_ids`")
        return []
    spans: list[tuple[Span, ...]] = []
    for kind, placeholder, sharing in by_placeholder:
        if placeholder < 0:
            if sharing:
                none = family.image_id < 0 and family.video_id < 0
                hint = "give --image-id and --video-id" if none else f"give it as --{kind}-id"
                findings.malformed(f"{family.name} has no placeholder for {kind}s", hint=hint)
            continue
        runs = placeholder_runs(tokens, placeholder)
        try:
            spans += match(runs, sharing, tokens)
        except MismatchError as error:
            _explain(error, sharing, runs, placeholder, family, findings)
    return spans


def _explain(
    error: MismatchError,
    features: Sequence[Feature],
    runs: Sequence[Span],
    placeholder: int,
    family: Family,
    findings: Findings,
) -> None:
    """Name the sample, the image and both numbers."""
    where = f" at token {error.token}" if error.token is not None else ""
    have = f"{plural(error.placeholders, 'placeholder')} ({placeholder})"
    rows = sum(feature.rows for feature in features)
    total = (
        f"the sample has {plural(len(features), 'image or video', 'images and videos')} with "
        f"{plural(rows, 'row')}, and {plural(sum(rows for _, rows in runs), 'placeholder')} for them"
    )
    if error.index is None or error.last is None:
        fields = ", ".join(f"`{name}`" for name in family.grid_fields)
        message = f"{have}{where} without an image or video; {total}"
        hint = f"{family.name} reads its images from {fields}, or sizes from `images` and `videos`"
        findings.add(PLACEHOLDERS_DO_NOT_MATCH, message, ("input_ids",), hint)
        return
    blamed = features[error.index : error.last + 1]
    first, last = blamed[0], blamed[-1]
    who = f"{first.kind} {first.number + 1}, {first.what}, has"
    if len(blamed) > 1:
        who = f"{first.kind}s {first.number + 1} to {last.number + 1} have"
    need = plural(sum(feature.rows for feature in blamed), "row")
    frames = sum(len(feature.runs) for feature in blamed)
    if frames > 1 and 0 < error.runs != frames:
        need += f" in {plural(frames, 'run')}"
        have += f" in {plural(error.runs, 'run')}"
    message = f"{who} {need} and {have}{where}"
    if len(features) > len(blamed):
        message += f"; {total}"
    findings.add(PLACEHOLDERS_DO_NOT_MATCH, message, first.path)
