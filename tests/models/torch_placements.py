"""What torch's DTensor says of each parameter once transformers has applied its own plans."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers.distributed.configuration_utils import DistributedConfig
from transformers.distributed.expert_parallel import apply_expert_parallelism
from transformers.distributed.tensor_parallel import apply_tensor_parallelism

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def fake_ranks(count: int) -> Iterator[None]:
    """Pretend to be rank 0 of a job: collectives return at once, and nothing is sent."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=count)
    try:
        yield
    finally:
        dist.destroy_process_group()


def placements(model: Any, tp: int, ep: int) -> dict[str, tuple[str, str]]:  # noqa: ANN401 - a transformers model
    """Apply transformers' plans to a model on the meta device; return each parameter's axis and placement.

    `ep` is 1, or `tp`: expert groups are the ranks of the tp group then.
    """
    config = DistributedConfig(tp_size=tp, ep_size=ep)
    tp_plan, ep_plan, _ = model._resolve_parallel_plans(config)
    mesh = init_device_mesh("cpu", (tp,), mesh_dim_names=("tp",))
    apply_tensor_parallelism(model, mesh["tp"], tp_plan)
    if ep > 1:
        apply_expert_parallelism(model, mesh["tp"], mesh["tp"], ep_plan)
    found = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        axis = "ep" if name in ep_plan else "tp"
        (placement,) = parameter.placements if isinstance(parameter, DTensor) else (None,)
        found[name] = (axis, _spelled(placement, parameter.ndim))
    return found


def _spelled(placement: Any, dims: int) -> str:  # noqa: ANN401 - a placement of torch, or None
    if placement is None or placement.is_replicate():
        return "R"
    dim = placement.dim % dims
    factor = getattr(placement, "split_factor", None)
    return f"SS({dim},{factor})" if factor else f"S({dim})"


__all__ = ["fake_ranks", "placements", "torch"]
