"""Tiny models of transformers, batches for them as its processors make them, and what one process learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.nn import functional

from hpplan.workload.families import family_named

if TYPE_CHECKING:
    from hpplan.workload.families.base import Family

LENGTH = 32
IMAGE, VIDEO, START, END, PAD, TEXT = 60, 61, 58, 59, 0, 1
PATCH = 2 * 2 * 2
"""Numbers of a patch: one channel, two frames, two by two pixels."""

TOKEN_IDS = {
    "image_token_id": IMAGE,
    "video_token_id": VIDEO,
    "vision_start_token_id": START,
    "vision_end_token_id": END,
}
_TEXT = {
    "vocab_size": 64,
    "bos_token_id": None,
    "eos_token_id": None,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]},
}
_VISION = {"depth": 3, "hidden_size": 16, "intermediate_size": 24, "num_heads": 2, "out_hidden_size": 16}
_PATCHES = {"in_channels": 1, "patch_size": 2, "temporal_patch_size": 2, "spatial_merge_size": 2}
_OWN_VISION: dict[str, dict[str, Any]] = {
    "qwen2_5_vl": {"window_size": 8, "fullatt_block_indexes": [1]},
    "qwen3_vl": {"num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]},
}

Grid = tuple[int, int, int]


class Batch(NamedTuple):
    """One micro-batch of a replica, with the fields that a processor gives."""

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    mm_token_type_ids: torch.Tensor
    image_grid_thw: torch.Tensor
    video_grid_thw: torch.Tensor
    pixel_values: torch.Tensor
    pixel_values_videos: torch.Tensor

    @property
    def targets(self) -> torch.Tensor:
        """The next token of each position, -100 where there is none."""
        nexts = functional.pad(self.input_ids[:, 1:], (0, 1), value=PAD)
        return nexts.masked_fill(nexts == PAD, -100)

    @property
    def grids(self) -> dict[str, torch.Tensor]:
        """The grids that there are."""
        return {
            name: grid for name in ("image_grid_thw", "video_grid_thw") if len(grid := getattr(self, name))
        }


def family_of(name: str) -> Family:
    """Return a family whose placeholders are those of the tiny models."""
    return family_named(name)(image_id=IMAGE, video_id=VIDEO)


def tiny(name: str) -> Any:  # noqa: ANN401 - a model of transformers
    """Return a model in float64 with the same random weights each time."""
    import transformers

    # Encoders turn queries and keys in float32, which would round what is to be compared at 1e-12.
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    kind = {"qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL"}[name]
    vision = {**_VISION, **_PATCHES, **_OWN_VISION[name]}
    config = getattr(transformers, f"{kind}Config")(text_config=_TEXT, vision_config=vision, **TOKEN_IDS)
    torch.manual_seed(11)
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config).to(torch.float64)
    for module in list(model.modules()):
        for child_name, child in list(module.named_children()):
            if type(child).__name__.endswith("RMSNorm"):
                # Theirs computes in float32 too.
                norm = torch.nn.RMSNorm(child.weight.shape, child.variance_epsilon, dtype=torch.float64)
                setattr(module, child_name, norm)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.train()


def batch_of(name: str, replica: int, shift: int = 0) -> Batch:
    """Return the micro-batch of a replica; the second has text alone."""
    image, wide, large, video = (1, 4, 4), (1, 4, 8), (1, 6, 8), (2, 4, 4)
    layout: list[list[tuple[int, Grid]]] = [
        [(IMAGE, image), (VIDEO, video)],
        [],
        [],
        [],
        [(VIDEO, (2, 2, 4)), (IMAGE, wide)],
        [(IMAGE, image)],
        [],
        [(IMAGE, large)],
    ]
    return _batch(
        name, [layout[(2 * (replica + shift) + row) % len(layout)] for row in range(2)], replica, shift
    )


def alone_batch(name: str, replica: int, turn: int) -> Batch:
    """Return the micro-batch of a replica where one has an image, and the others text alone."""
    return _batch(name, [[(IMAGE, (1, 4, 8))] if replica == turn else [], []], replica, turn)


def _batch(name: str, rows: list[list[tuple[int, Grid]]], replica: int, shift: int) -> Batch:
    ids = [_row(name, visuals, number) for number, visuals in enumerate(rows)]
    input_ids = torch.tensor([[*row, *[PAD] * (LENGTH - len(row))] for row in ids])
    of = {
        kind: [grid for visuals in rows for which, grid in visuals if which == kind]
        for kind in (IMAGE, VIDEO)
    }
    return Batch(
        input_ids,
        (input_ids != PAD).long(),
        (input_ids == IMAGE).long() + 2 * (input_ids == VIDEO).long(),
        *(torch.tensor(of[kind], dtype=torch.int64).reshape(-1, 3) for kind in (IMAGE, VIDEO)),
        *(_pixels(of[kind], seed=kind + 10 * replica + 100 * shift) for kind in (IMAGE, VIDEO)),
    )


def _row(name: str, visuals: list[tuple[int, Grid]], number: int) -> list[int]:
    tokens = [TEXT + number, TEXT + 5]
    for kind, (steps, height, width) in visuals:
        rows = height * width // 4
        if name == "qwen3_vl":
            tokens += [token for step in range(steps) for token in (20 + step, START, *[kind] * rows, END)]
        else:
            tokens += [START, *[kind] * (steps * rows), END]
        tokens.append(TEXT + 7)
    return [*tokens, *range(TEXT + 10, TEXT + 14)]


def _pixels(grids: list[Grid], seed: int) -> torch.Tensor:
    patches = sum(steps * height * width for steps, height, width in grids)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(patches, PATCH, generator=generator, dtype=torch.float64)


def whole_loss(model: Any, batch: Batch) -> torch.Tensor:  # noqa: ANN401 - a model of transformers
    """Return the mean loss of a batch, as transformers alone computes it."""
    given: dict[str, torch.Tensor] = {
        name: value
        for name, value in batch._asdict().items()
        if len(value) and not name.startswith("targets")
    }
    logits = model(**given).logits
    return functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
