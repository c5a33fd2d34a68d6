"""What a caller brings: payload tensors, what is wrong with them, and what all ranks must bring alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import torch

from hpplan.wording import some

if TYPE_CHECKING:
    from collections.abc import Sequence


class Signature(NamedTuple):
    """What all ranks must bring alike, in one kind of call."""

    dtype: torch.dtype
    widths: tuple[int, ...]
    device: str
    grad_mode: bool


def tensors(features: object) -> tuple[tuple[torch.Tensor, ...], str | None]:
    """Return the payload tensors that a caller gave, and what is wrong where it gave something else."""
    if isinstance(features, torch.Tensor):
        return (features,), None
    if not isinstance(features, Iterable):
        return (), f"the features are of type {type(features).__name__}, and no tensor"
    given = tuple(features)
    for number, payload in enumerate(given):
        if not isinstance(payload, torch.Tensor):
            return (), f"payload {number} is of type {type(payload).__name__}, and no tensor"
    return given, None


def peculiarity(tensor: torch.Tensor) -> str | None:
    """Return what keeps a tensor from being rows that lie in this rank's memory; None where nothing."""
    if hasattr(tensor, "to_local"):
        return "of a DTensor, pass to_local()"
    if tensor.layout != torch.strided:
        return f"the layout is {name_of(tensor.layout)}, and must be strided"
    return None


def difference(name: str, payload: torch.Tensor, first: torch.Tensor, rows: int) -> str | None:
    """Return what keeps a payload, called `name`, from travelling with the first; None where nothing."""
    if payload.ndim != 2 or not payload.shape[1]:  # noqa: PLR2004 - rows, width
        return f"{name} have shape {list(payload.shape)}, and the exchange needs [rows, width]"
    if (problem := peculiarity(payload)) is not None:
        return f"{name} cannot be sent: {problem}"
    if len(payload) != rows:
        return f"{name} have {len(payload)} rows, and the rank's bucket has {rows}"
    if rows and payload.dtype != first.dtype:
        return f"{name} has dtype {name_of(payload.dtype)}, and payload 0 {name_of(first.dtype)}"
    if payload.device != first.device:
        return f"{name} is on {payload.device}, and payload 0 on {first.device}"
    return None


def look_of(payloads: Sequence[torch.Tensor]) -> Hashable:
    """Return what tells calls apart at a glance: payloads that look alike are right, or wrong, alike."""
    looks = [(type(one), one.dtype, one.shape, one.device, one.layout) for one in payloads]
    return torch.is_grad_enabled(), *looks


def signature_of(payloads: Sequence[torch.Tensor]) -> Signature:
    """Return the kind of call that has these payloads."""
    first = payloads[0]
    widths = tuple(payload.shape[1] for payload in payloads)
    return Signature(first.dtype, widths, first.device.type, torch.is_grad_enabled())


def spelled(signature: Signature) -> str:
    """Return a kind of call in words."""
    mode = "" if signature.grad_mode else " without grad mode"
    return f"{name_of(signature.dtype)} on {signature.device}, {_shown(signature.widths)}{mode}"


def news(now: Signature, before: Signature) -> str:
    """Return what a rank does for the first time, for ranks that did not expect it."""
    if now.grad_mode != before.grad_mode:
        modes = ("in grad mode", "without grad mode")
        ours, theirs = modes if now.grad_mode else modes[::-1]
        return f"calls {ours}, and {theirs} was agreed; every rank must call in the same mode"
    pairs = [
        (name_of(now.dtype), name_of(before.dtype)),
        (f"features on {now.device}", f"on {before.device}"),
        (_shown(now.widths), _shown(before.widths)),
    ]
    differing = [pair for pair in pairs if pair[0].removeprefix("features ") != pair[1]]
    return "brings {}, and {} was agreed".format(*(", ".join(side) for side in zip(*differing, strict=True)))


def _shown(widths: Sequence[int]) -> str:
    listed = some(widths)
    return f"{len(widths)} payloads of width {listed}" if len(widths) > 1 else f"width {listed}"


def name_of(of_torch: torch.dtype | torch.layout) -> str:
    """Return torch's name of a dtype or layout, without `torch.`."""
    return str(of_torch).removeprefix("torch.")
