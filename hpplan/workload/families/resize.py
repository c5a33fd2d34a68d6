"""How Qwen's processors resize an image so that its patches can be merged."""

from __future__ import annotations

import math

MAX_ASPECT = 200
"""Longest side against the shortest, above which the processors refuse an image."""


def smart_resize(
    height: int, width: int, factor: int, min_pixels: int, max_pixels: int, frames: int = 1, steps: int = 1
) -> tuple[int, int]:
    """Return height and width in pixels: multiples of `factor`, the area within its bounds, aspect kept.

    This is `smart_resize` of the Qwen2-VL processor. Qwen3-VL's video
    processor bounds the volume instead: `frames` of them, or `steps` where
    the result is measured. Raises ValueError for an aspect ratio above 200.

    >>> smart_resize(1000, 1000, 28, 56 * 56, 28 * 28 * 16384)
    (1008, 1008)
    """
    if max(height, width) / min(height, width) > MAX_ASPECT:
        raise ValueError(f"{width}x{height} has an aspect ratio above {MAX_ASPECT}")
    new_height = round(height / factor) * factor
    new_width = round(width / factor) * factor
    volume = frames * height * width
    if steps * new_height * new_width > max_pixels:
        shrink = math.sqrt(volume / max_pixels)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif steps * new_height * new_width < min_pixels:
        grow = math.sqrt(min_pixels / volume)
        new_height = math.ceil(height * grow / factor) * factor
        new_width = math.ceil(width * grow / factor) * factor
    return new_height, new_width
