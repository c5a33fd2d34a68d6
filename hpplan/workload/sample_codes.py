"""Codes HP45x: what can be wrong with the samples of a batch file."""

from __future__ import annotations

from hpplan.diagnostics import Code

MALFORMED_SAMPLE = Code(
    "HP450",
    "malformed-sample",
    "error",
    """\
## What it finds
A sample with a field that is missing or of another type than it has, with fields that do not go
together, or with images or videos that only a field of another model family speaks of.

## Why it hurts
Without its tokens, or without the grids or sizes of its images, nobody can say which tokens the
feature rows belong to.

## Example
```json
{"images": [{"width": 640, "height": 480}]}
```

## What to do
Give each sample its tokens, as `input_ids` or as a number `text_tokens`, and its images, as the
grids of the processor (`image_grid_thw`, `video_grid_thw`, ...) or as sizes in pixels (`images`,
`videos`). `hpplan workload --help` lists the fields that each `--model` reads.
""",
)

PLACEHOLDERS_DO_NOT_MATCH = Code(
    "HP451",
    "placeholders-do-not-match",
    "error",
    """\
## What it finds
An image or a video with another number of feature rows than it has placeholder tokens in
`input_ids`.

## Why it hurts
Rows are put on placeholders one by one. With a missing or a surplus one every later row of the
sample lands on a wrong token, and training goes on without a word.

## Example
```json
{"input_ids": [1, 151652, 151655, 151655, 151655, 151653], "image_grid_thw": [[1, 4, 4]]}
```

The grid makes 1 x 4 x 4 / 4 = 4 rows, and there are 3 placeholders.

## What to do
Look for a sample that was truncated in the middle of an image, for placeholders that were expanded
with another merge size or another processor version, and for the right `--model`. Where a model has
placeholder ids of its own, give `--image-id` and `--video-id`.
""",
)

UNUSABLE_IMAGE = Code(
    "HP452",
    "unusable-image",
    "error",
    """\
## What it finds
An image or a video that the model family cannot take: a side or a frame count below 1, an aspect
ratio above its limit, a patch grid that its merge size does not divide, more than 100,000 frames.

## Why it hurts
The family's own processor refuses it, too, or has made this grid with other settings.

## Example
```json
{"images": [{"width": 10000, "height": 20}], "text_tokens": 50}
```

## What to do
Leave the sample out or resize its image. When the model was trained with other numbers than the
published ones, give them with `--set`, as in `--set merge_size=1`.
""",
)

SAMPLE_TOO_LONG = Code(
    "HP453",
    "sample-too-long",
    "error",
    """\
## What it finds
A sample with more tokens than the sequence has, by `--pack` or `--seq-length`.

## Why it hurts
Cutting it would cut images in the middle.

## Example
```sh
hpplan workload batch.jsonl --model qwen2_vl --pack 4096     # one sample has 5000 tokens
```

## What to do
Leave the sample out, shrink its images, or give a greater length.
""",
)

NO_SAMPLES = Code(
    "HP454",
    "no-samples",
    "error",
    """\
## What it finds
A batch file without a single sample.

## Why it hurts
There is nothing to make a workload from; most often the file was not written, or another one was
meant.

## Example
```sh
hpplan workload /dev/null --model qwen2_vl
```

## What to do
Name the file with the samples: one JSON object a line, or one JSON array of them.
""",
)

CODES: tuple[Code, ...] = (
    MALFORMED_SAMPLE,
    PLACEHOLDERS_DO_NOT_MATCH,
    UNUSABLE_IMAGE,
    SAMPLE_TOO_LONG,
    NO_SAMPLES,
)
