"""From what a batch file says of a sample to its tokens, and the tokens of each of its images."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.errors import InvalidInput
from hpplan.wording import plural
from hpplan.workload.features import Findings, features_of
from hpplan.workload.mismatch import MismatchError
from hpplan.workload.placeholders import (
    match,
    place_by_sizes,
    placeholder_runs,
    split_text,
)
from hpplan.workload.sample_codes import PLACEHOLDERS_DO_NOT_MATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.diagnostics import Place
    from hpplan.documents.json_text.samples import SampleData
    from hpplan.workload.families.base import Family, Kind
    from hpplan.workload.feature import Feature, Span
    from hpplan.workload.features import Sized


class SampleItem(NamedTuple):
    """One image or video of a sample and its tokens within the sample."""

    kind: Kind
    spans: tuple[Span, ...]


class Sample(NamedTuple):
    """One sample of `length` tokens: its images, then its videos, each in the order of their features."""

    name: str
    place: Place
    length: int
    items: tuple[SampleItem, ...]


def read_sample(sample: SampleData, family: Family) -> Sample:
    """Read one sample of a batch file; raise InvalidInput with everything that is wrong with it."""
    findings = Findings(sample)
    sized = features_of(sample, family, findings)
    features = [one.feature for one in sized]
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
    items = tuple(SampleItem(feature.kind, own) for feature, own in zip(features, spans, strict=True))
    return Sample(findings.name, sample.place, length, items)


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
    given = sample.data.get("text_tokens")
    if given is None:
        findings.malformed(
            "there are no tokens: neither `input_ids` nor `text_tokens`",
            hint="where only sizes are known, give the number of text tokens as `text_tokens`",
        )
    elif type(given) is int and given >= 0:
        return split_text(given, images)
    elif not isinstance(given, list) or any(type(part) is not int or part < 0 for part in given):
        findings.malformed(
            "`text_tokens` must be a whole number of at least 0, or a list of them", "text_tokens"
        )
    elif len(given) != images + 1:
        findings.malformed(
            f"`text_tokens` has {plural(len(given), 'entry', 'entries')}, not {images + 1}: "
            "the text before each image or video, and after the last",
            "text_tokens",
        )
    else:
        return given
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
    if family.image_id == family.video_id:
        if len({feature.kind for feature in features}) > 1:
            findings.malformed(
                f"images and videos of {family.name} have the same placeholder, {family.image_id}, "
                "so their order in the text cannot be told",
                hint="give their sizes and `text_tokens` instead of `input_ids`",
            )
            return []
        groups = [("image", family.image_id, features)]
    else:
        groups = [
            (kind, placeholder, [feature for feature in features if feature.kind == kind])
            for kind, placeholder in (("image", family.image_id), ("video", family.video_id))
        ]
    found: list[tuple[Span, ...]] = []
    for kind, placeholder, own in groups:
        if placeholder < 0:
            if own:
                none = family.image_id < 0 and family.video_id < 0
                hint = "give --image-id and --video-id" if none else f"give it as --{kind}-id"
                findings.malformed(f"{family.name} has no placeholder for {kind}s", hint=hint)
            continue
        runs = placeholder_runs(tokens, placeholder)
        try:
            found += match(runs, own, tokens)
        except MismatchError as error:
            _explain(error, own, runs, placeholder, family, findings)
    return found


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
