"""From one record of a batch file to a sample: its tokens, and the tokens of each of its images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.diagnostics import Diagnostic
from hpplan.errors import InvalidInput
from hpplan.routing.batch.placeholders import (
    Feature,
    place_by_sizes,
)
from hpplan.routing.batch_codes import MALFORMED_SAMPLE, UNUSABLE_IMAGE
from hpplan.routing.families.base import Size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.documents.jsonl import Record
    from hpplan.routing.batch.placeholders import Span
    from hpplan.routing.families.base import Family, GridField, Kind

SIZE_FIELDS: dict[str, Kind] = {"images": "image", "videos": "video"}
"""Fields that list sizes in pixels."""


class SampleItem(NamedTuple):
    """One image or video of a sample and its tokens within the sample."""

    kind: Kind
    spans: tuple[Span, ...]


class Sample(NamedTuple):
    """One sample: `length` tokens, and its images before its videos, each in the order of their features."""

    record: Record
    name: str
    length: int
    items: tuple[SampleItem, ...]


def read_sample(record: Record, family: Family) -> Sample:
    """Return the sample of a record; raise InvalidInput with everything that is wrong with it."""
    return _Reader(record, family).sample()


def sample_name(record: Record) -> str:
    """Name a sample by its `id`, else by its number in the file, counted from 1."""
    given = record.data.get("id")
    return f"sample {given!r}" if isinstance(given, (str, int)) else f"sample {record.number}"


class _Reader:
    """Reads one record and collects what is wrong with it."""

    def __init__(self, record: Record, family: Family) -> None:
        self._record = record
        self._data = record.data
        self._family = family
        self._name = sample_name(record)
        self._problems: list[Diagnostic] = []

    def sample(self) -> Sample:
        features: list[Feature] = []
        sizes: list[Size] = []
        for kind in ("image", "video"):
            for feature, size in self._features_of(kind):
                features.append(feature)
                sizes.append(size)
        tokens = self._tokens()
        text = None if tokens is not None else self._text(len(features))
        if self._problems:
            raise InvalidInput(self._problems)
        if tokens is not None:
            length, spans = len(tokens), self._spans(tokens, features)
        else:
            assert text is not None
            around = [
                [self._family.text_around(feature.kind, run, size) for run in range(len(feature.runs))]
                for feature, size in zip(features, sizes, strict=True)
            ]
            length, spans = place_by_sizes(features, around, text)
        if self._problems:
            raise InvalidInput(self._problems)
        items = tuple(
            SampleItem(feature.kind, own) for feature, own in zip(features, spans, strict=True) if own
        )
        return Sample(self._record, self._name, length, items)

    def _problem(self, message: str, *path: str | int, hint: str | None = None) -> None:
        self._problems.append(
            Diagnostic(MALFORMED_SAMPLE, f"{self._name}: {message}", self._record.at(*path), hint)
        )

    # Images and videos

    def _features_of(self, kind: Kind) -> Iterator[tuple[Feature, Size]]:
        fields = [name for name, field in self._family.grid_fields.items() if field.kind == kind]
        given = [name for name in fields if self._data.get(name) is not None]
        sized = [name for name, of in SIZE_FIELDS.items() if of == kind and self._data.get(name) is not None]
        if given:
            for name in given:
                yield from self._of_grids(name, self._family.grid_fields[name])
            return
        for name in sized:
            if kind == "video" and not self._family.takes_videos:
                self._problem(f"{self._family.name} takes no videos", name)
                return
            yield from self._of_sizes(name, kind)

    def _of_grids(self, name: str, field: GridField) -> Iterator[tuple[Feature, Size]]:
        grids = self._data[name]
        if not isinstance(grids, list):
            self._problem(f"`{name}` must be a list", name)
            return
        for index, grid in enumerate(grids):
            numbers = grid if isinstance(grid, list) else [grid]
            wanted = len(field.axes)
            if (
                not numbers
                or any(type(number) is not int for number in numbers)
                or (wanted and len(numbers) != wanted)
            ):
                shape = f"[{', '.join(field.axes)}]" if wanted > 1 else "a whole number"
                self._problem(f"an entry of `{name}` must be {shape}", name, index)
                continue
            what = f"{_what(field, name)} ({', '.join(map(str, numbers))})"
            feature = self._feature(field.kind, index, what, (name, index), numbers, None)
            if feature is not None:
                yield feature, Size(1, 1)

    def _of_sizes(self, name: str, kind: Kind) -> Iterator[tuple[Feature, Size]]:
        entries = self._data[name]
        if not isinstance(entries, list):
            self._problem(f"`{name}` must be a list", name)
            return
        for index, entry in enumerate(entries):
            size = self._size(name, index, entry, kind)
            if size is not None:
                feature = self._feature(kind, index, f"size {size}", (name, index), None, size)
                if feature is not None:
                    yield feature, size

    def _size(self, name: str, index: int, entry: object, kind: Kind) -> Size | None:
        form = "{width, height}" if kind == "image" else "{width, height, frames}"
        if not isinstance(entry, dict):
            self._problem(f"an entry of `{name}` must be {form}", name, index)
            return None
        numbers = []
        for key in ("width", "height", "frames") if kind == "video" else ("width", "height"):
            number = entry.get(key)
            if type(number) is not int or number < 1:
                what = "is missing" if number is None else "must be a whole number of at least 1"
                self._problem(f"`{key}` {what}", name, index, *([key] if key in entry else []))
            else:
                numbers.append(number)
        fps = entry.get("fps", 2.0)
        if isinstance(fps, bool) or not isinstance(fps, (int, float)) or fps <= 0:
            self._problem("`fps` must be a number above 0", name, index, "fps")
            return None
        if len(numbers) < (2 if kind == "image" else 3):
            return None
        return Size(numbers[0], numbers[1], numbers[2] if kind == "video" else 1, float(fps))

    def _feature(
        self,
        kind: Kind,
        index: int,
        what: str,
        path: tuple[str | int, ...],
        grid: list[int] | None,
        size: Size | None,
    ) -> tuple[Feature] | Any:
        try:
            if grid is not None:
                if min(grid) < 1:
                    raise ValueError("every number must be at least 1")
                runs = self._family.from_grid(kind, tuple(grid))
            else:
                assert size is not None
                runs = self._family.from_size(kind, size)
        except ValueError as error:
            message = f"{self._name}: {kind} {index + 1}, {what}: {error}"
            self._problems.append(Diagnostic(UNUSABLE_IMAGE, message, self._record.at(*path)))
            return None
        return Feature(kind, runs, what, path)

    # Tokens

    def _tokens(self) -> list[int] | None:
        tokens = self._data.get("input_ids")
        if tokens is None:
            return None
        if isinstance(tokens, list) and len(tokens) == 1 and isinstance(tokens[0], list):
            # A processor that is called for one sample returns a batch of one.
            tokens = tokens[0]
        if not isinstance(tokens, list) or set(map(type, tokens)) - {int}:
            self._problem("`input_ids` must be a list of whole numbers", "input_ids")
            return None
        if not tokens:
            self._problem("`input_ids` is empty", "input_ids")
            return None
        return tokens
