"""The images and videos of a sample: from grids of a processor, or from sizes in pixels, to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hpplan.diagnostics import Code, Diagnostic, Path
from hpplan.documents.json_text.samples import SampleData
from hpplan.documents.limits import LARGEST_NUMBER
from hpplan.workload.families import readers
from hpplan.workload.families.base import Family, GridField, Kind, Runs, Size
from hpplan.workload.feature import Feature
from hpplan.workload.sample_codes import MALFORMED_SAMPLE, UNUSABLE_IMAGE

SIZE_FIELDS: tuple[tuple[Kind, str, tuple[str, ...]], ...] = (
    ("image", "images", ("width", "height")),
    ("video", "videos", ("width", "height", "frames")),
)
"""Fields of a sample that list sizes in pixels, and what each entry has."""


MOST_FRAMES = 100_000
"""Frames, or steps of a grid, of one video: each may be a run of its own."""

MOST_RUNS = 1_000_000
"""Runs of all images and videos of one sample."""


_SLOWEST, _FASTEST = 1e-6, 1e6
"""Frames a second; beyond them a time in seconds may be no number any more."""


_LONGEST_ID = 60


class Findings:
    """What is wrong with one sample, each message starting with the sample's name."""

    def __init__(self, sample: SampleData) -> None:
        """Name the sample by its `id`, else by its number in the file."""
        named = sample.data.get("id")
        self.name = (
            f"sample {_spelled(named)}" if isinstance(named, (str, int)) else f"sample {sample.number}"
        )
        self._sample = sample
        self._entries: list[tuple[Code, str, Path, str | None]] = []
        self.runs = 0
        """Of the images and videos so far."""

    def malformed(self, message: str, *path: str | int, hint: str | None = None) -> None:
        """Add that a field is not what it should be."""
        self.add(MALFORMED_SAMPLE, message, path, hint)

    def unusable(self, message: str, *path: str | int) -> None:
        """Add that the family cannot take an image."""
        self.add(UNUSABLE_IMAGE, message, path)

    def add(self, code: Code, message: str, path: Path, hint: str | None = None) -> None:
        """Add a finding at a node of the sample."""
        self._entries.append((code, f"{self.name}: {message}", path, hint))

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return bool(self._entries)

    def located(self) -> list[Diagnostic]:
        """Return the findings with their places."""
        places = self._sample.at(path for _, _, path, _ in self._entries)
        return [
            Diagnostic(code, message, place, hint)
            for (code, message, _, hint), place in zip(self._entries, places, strict=True)
        ]


def _spelled(name: str | int) -> str:
    """Spell the name of a sample, which every finding begins with."""
    spelled = repr(name)
    return spelled if len(spelled) <= _LONGEST_ID else f"{spelled[:_LONGEST_ID]}…"


class Sized(NamedTuple):
    """A feature and its size, where that is known: the text around it may depend on its frame rate."""

    feature: Feature
    size: Size


def features_of(sample: SampleData, family: Family, findings: Findings) -> list[Sized]:
    """Return the images, then the videos, each in the order in which the encoder gets them."""
    sized: list[Sized] = []
    for kind, sizes, keys in SIZE_FIELDS:
        grids = [
            (name, field)
            for name, field in family.grid_fields.items()
            if field.kind == kind and sample.data.get(name) is not None
        ]
        for name, field in grids:
            sized += _of_grids(sample, family, name, field, findings)
        if grids:
            continue
        if sample.data.get(sizes) is not None:
            sized += _of_sizes(sample, family, sizes, kind, keys, findings)
        else:
            _refuse_lost(sample, family, sizes, kind, findings)
    return sized


def _refuse_lost(sample: SampleData, family: Family, sizes: str, kind: Kind, findings: Findings) -> None:
    """Report images that only fields of other families speak of: they would be lost without a word."""
    for name, names in readers(kind).items():
        entries = sample.data.get(name)
        if not isinstance(entries, list) or not entries:
            continue
        fields = [f"`{grid}`" for grid, field in family.grid_fields.items() if field.kind == kind]
        ways = [f"take --model {' or '.join(names)}"]
        if fields:
            message = f"{family.name} does not read `{name}`, and nothing else speaks of the {kind}s"
            ways.append(f"give {' or '.join(fields)}, or sizes as `{sizes}`")
        else:
            message = f"{family.name} takes no videos, and `{name}` lists them"
        findings.malformed(message, name, hint="; ".join(ways))


def _of_grids(
    sample: SampleData, family: Family, name: str, field: GridField, findings: Findings
) -> Iterator[Sized]:
    axes = field.axes
    for index, entry in _entries(sample, name, findings):
        grid = entry if isinstance(entry, list) else [entry]
        if not grid or {*map(type, grid)} != {int} or (axes and len(grid) != len(axes)):
            form = f"[{', '.join(axes)}]" if len(axes) > 1 else "a whole number"
            findings.malformed(f"an entry of `{name}` must be {form}", name, index)
            continue
        what = f"grid ({', '.join(map(str, grid))})" if len(axes) > 1 else f"{name} {entry}"
        numbers = tuple(grid)

        def runs(numbers: tuple[int, ...] = numbers) -> Runs:
            _check_numbers(numbers)
            if field.kind == "video" and axes:
                _check_frames(numbers[0])
            return family.from_grid(field.kind, numbers)

        feature = _feature(field.kind, index, what, (name, index), runs, findings)
        if feature is not None:
            yield Sized(feature._replace(grid=numbers), Size(1, 1))


def _of_sizes(
    sample: SampleData, family: Family, name: str, kind: Kind, keys: tuple[str, ...], findings: Findings
) -> Iterator[Sized]:
    if kind == "video" and not any(field.kind == "video" for field in family.grid_fields.values()):
        findings.malformed(f"{family.name} takes no videos", name)
        return
    for index, entry in _entries(sample, name, findings):
        if not isinstance(entry, dict):
            findings.malformed(f"an entry of `{name}` must be {{{', '.join(keys)}}}", name, index)
            continue
        fps = entry.get("fps", 2.0)
        wrong = [key for key in keys if type(entry.get(key)) is not int]
        if wrong:
            findings.malformed(
                f"{kind} {index + 1} needs `{wrong[0]}`, a whole number", name, index, *wrong[:1]
            )
            continue
        if type(fps) not in {int, float} or fps <= 0:
            findings.malformed(f"`fps` of {kind} {index + 1} must be a number above 0", name, index, "fps")
            continue
        source = entry.get("source_frames") if kind == "video" else None
        if source is not None and (type(source) is not int or source < entry["frames"]):
            findings.malformed(
                f"`source_frames` of {kind} {index + 1} must be a whole number of at least `frames`: "
                "those of the video that the frames were taken from, as `fps` is its rate",
                name,
                index,
                "source_frames",
            )
            continue
        frames = entry.get("frames", 1) if kind == "video" else 1
        size = Size(entry["width"], entry["height"], frames, fps, source)

        def runs(size: Size = size) -> Runs:
            _check_numbers((*size[:3], size.source_frames or 1))
            _check_frames(size.frames)
            if not _SLOWEST <= size.fps <= _FASTEST:
                raise ValueError("`fps` must be from 0.000001 to 1,000,000")
            return family.from_size(kind, size)

        feature = _feature(kind, index, f"size {size}", (name, index), runs, findings)
        if feature is not None:
            yield Sized(feature, size)


def _check_numbers(numbers: Sequence[int]) -> None:
    if min(numbers) < 1:
        raise ValueError("every number must be at least 1")
    if max(numbers) > LARGEST_NUMBER:
        raise ValueError("every number must be at most 2^53 - 1")


def _check_frames(frames: int) -> None:
    """Refuse a video before anything is made of its frames."""
    if frames > MOST_FRAMES:
        raise ValueError(f"{frames:,} frames are more than {MOST_FRAMES:,}")


def _entries(sample: SampleData, name: str, findings: Findings) -> Iterator[tuple[int, object]]:
    entries = sample.data[name]
    if isinstance(entries, list):
        yield from enumerate(entries)
    else:
        findings.malformed(f"`{name}` must be a list, an entry for each image or video", name)


def _feature(
    kind: Kind,
    index: int,
    what: str,
    path: tuple[str | int, ...],
    runs: Callable[[], Runs],
    findings: Findings,
) -> Feature | None:
    try:
        feature = Feature(kind, index, runs(), what, path)
    except ValueError as error:
        findings.unusable(f"{kind} {index + 1}, {what}: {error}", *path)
        return None
    findings.runs += len(feature.runs)
    if feature.rows > LARGEST_NUMBER:
        findings.unusable(f"{kind} {index + 1}, {what}: it would have more than 2^53 - 1 rows", *path)
        return None
    if findings.runs > MOST_RUNS:
        most = f"with it the sample has more than {MOST_RUNS:,} runs of tokens"
        findings.unusable(f"{kind} {index + 1}, {what}: {most}", *path)
        return None
    return feature
