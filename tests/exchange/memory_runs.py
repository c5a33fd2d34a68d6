"""What the tests of row memory do in a process that has torch."""

from __future__ import annotations

LARGE = (1024, 1024)
"""Of float32: 4 MiB, which is worth keeping."""


def reused(rank: int) -> list[bool]:
    """Say whether memory was handed out again: while a view lives, and after the last one is gone."""
    import torch

    from hpplan.exchange.memory import Memory

    memory, cpu = Memory(), torch.device("cpu")
    first = memory.empty(LARGE, torch.float32, cpu)
    address = first.data_ptr()
    view = first[3:4].view(torch.uint8)
    del first
    second = memory.empty(LARGE, torch.float32, cpu)
    while_viewed = second.data_ptr() == address
    del view
    third = memory.empty((1000, 1024), torch.float32, cpu)
    afterwards = third.data_ptr() == address
    apart = second.data_ptr() != third.data_ptr()
    return [while_viewed, afterwards, apart, rank == 0]


def saved_by_autograd(rank: int) -> bool:
    """Say whether a tensor that only autograd holds is left alone."""
    import torch

    from hpplan.exchange.memory import Memory

    memory, cpu = Memory(), torch.device("cpu")
    weight = torch.ones(LARGE, requires_grad=True)
    rows = memory.empty(LARGE, torch.float32, cpu).fill_(3.0)
    product = (weight * rows).sum()
    del rows
    memory.empty(LARGE, torch.float32, cpu).fill_(7.0)
    product.backward()
    return bool((weight.grad == 3.0).all()) and rank == 0


def bounded(rank: int) -> int:
    """Return how many mappings there are after many tensors of different sizes were in use at once."""
    import torch

    from hpplan.exchange.memory import Memory

    memory, cpu = Memory(), torch.device("cpu")
    held = [memory.empty((1 << number, 1024, 512), torch.float32, cpu) for number in range(6)]
    held += [memory.empty((1, 1024, 512), torch.float32, cpu) for _ in range(6)]
    del held
    large = memory.empty((100, 1024, 512), torch.float32, cpu)
    return len(memory._free) + int(large.data_ptr() > 0) + 0 * rank
