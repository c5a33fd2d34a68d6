"""What a model family answers: how many feature rows an image has, and where they stand in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, NamedTuple

from hpplan.documents.limits import LARGEST_NUMBER

Kind = Literal["image", "video"]
"""What an item is; a family may have one placeholder token for each, or the same for both."""

Runs = tuple[int, ...]
"""Feature rows of each run of placeholders of one image or video, in order."""


class Size(NamedTuple):
    """An image in pixels, or `frames` of a video with `fps` of them a second.

    Where the processor took the frames from a longer video, `source_frames`
    and `fps` are those of that one.
    """

    width: int
    height: int
    frames: int = 1
    fps: float = 2.0
    source_frames: int | None = None

    def __str__(self) -> str:
        """Spell the size the way messages do."""
        return f"{self.width}x{self.height}" + (f", {self.frames} frames" if self.frames > 1 else "")


THW = ("t", "h", "w")
"""Axes of a grid: temporal patches, then patches of a frame."""


class GridField(NamedTuple):
    """A field of a sample that lists one entry of whole numbers for each image or video."""

    kind: Kind
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """The published arithmetic of a model family. Fields are its options, with the published defaults.

    Methods raise ValueError with a sentence about an image that the family
    cannot take.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What `--help` says about the family's rows."""
    grid_fields: ClassVar[Mapping[str, GridField]] = {}
    """What the family's processor says about images and videos beside `input_ids`."""

    least: ClassVar[Mapping[str, int]] = {"image_id": -1, "video_id": -1}
    """The least value of options that may be below 1."""
    most: ClassVar[Mapping[str, int]] = {}
    """The largest value of options for which 2^53 - 1 would be too much."""

    image_id: int = -1
    """Placeholder token of an image; -1: the family has none."""
    video_id: int = -1
    """Placeholder token of a video; -1: the family takes no videos."""
    feature_width: int = 1
    """Columns of a feature row: the hidden size of the decoder."""
    dtype: str = "bfloat16"
    payloads: int = 1
    """Tensors that travel on the same routes."""

    def __post_init__(self) -> None:
        """Refuse options that no arithmetic can use."""
        for field in fields(self):
            value = getattr(self, field.name)
            least = self.least.get(field.name, 1)
            if isinstance(value, int) and value < least:
                raise ValueError(f"{field.name} must be at least {least}, not {value}")
            most = self.most.get(field.name, LARGEST_NUMBER)
            if isinstance(value, int) and value > most:
                spelled = "2^53 - 1" if most == LARGEST_NUMBER else most
                raise ValueError(f"{field.name} must be at most {spelled}, not {value}")

    def from_grid(self, kind: Kind, grid: tuple[int, ...]) -> Runs:
        """Return the rows of an entry of one of `grid_fields`."""
        raise NotImplementedError

    def from_size(self, kind: Kind, size: Size) -> Runs:
        """Return the rows of an image or video of a size in pixels, as the processor resizes it."""
        raise NotImplementedError

    @property
    def input_width(self) -> int | None:
        """Columns of a row of the encoder's inputs, None where that is not known."""
        return None

    def input_rows(self, kind: Kind, runs: Runs, given: tuple[int, ...] | Size) -> int | None:
        """Return the rows of an item's inputs, as `pixel_values` has them; None where that is not known.

        `given` is the grid, or the size, that gave the `runs`.
        """
        return None

    def slices(self, runs: Runs, given: tuple[int, ...] | Size) -> int:
        """Return into how many parts of equal rows a video can be cut that are encoded apart, exactly.

        Raises ValueError, with the reason, where the family's encoder is not known to keep them apart.
        """
        raise ValueError(f"{self.name} is not known to encode the frames of a video apart")

    def text_around(self, kind: Kind, run: int, runs: int, size: Size) -> tuple[int, int]:
        """Return how many tokens of markup stand before and after run number `run` of `runs`.

        Used where only sizes are known, to work out where tokens would be.
        """
        return 0, 0

    @classmethod
    def options(cls) -> dict[str, type]:
        """Return the name and type of every option."""
        return {field.name: type(field.default) for field in fields(cls)}


def frame_time(size: Size, frame: int) -> float:
    """Return the second at which a frame of a video is shown.

    Of a longer video processors take frames at even distances, the first and
    the last among them, rounded to whole frames with halves to even.

    >>> [frame_time(Size(1, 1, frames=3, fps=10.0, source_frames=8), frame) for frame in range(3)]
    [0.0, 0.4, 0.7]
    """
    if size.source_frames is None or size.frames == 1:
        return frame / size.fps
    return round(frame * (size.source_frames - 1) / (size.frames - 1)) / size.fps


def temporal_steps(frames: int, temporal_patch: int) -> int:
    """Return the temporal patches of a video, whose last frame is repeated to fill the last of them.

    >>> temporal_steps(17, 4)
    5
    """
    return -(-frames // temporal_patch)


def merged_rows(height: int, width: int, merge_size: int) -> int:
    """Return the rows of one grid step: `merge_size` x `merge_size` patches become one row."""
    if height % merge_size or width % merge_size:
        raise ValueError(f"a grid of {height} x {width} patches is not divided by merge size {merge_size}")
    return height * width // merge_size**2
