"""A small training loop that ranks of the fault matrix run; it says how it ended."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from sitecustomize import wait_for_all

from hpplan.exchange import ExchangeGroup, FeatureExchange, PeersFailed

STEPS = 5
OWN_FAULT = 4
"""Exit status of the rank that has an error of its own."""


def train(timeout: float) -> None:
    """Run some steps with the exchange."""
    items = [
        {"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 9},
        {"item_id": 1, "batch_index": 0, "decoder_token_start": 12, "output_rows": 8},
    ]
    mesh = f"cp={dist.get_world_size()}"
    group = ExchangeGroup.from_mesh(mesh, timeout)
    for _ in range(STEPS):
        exchange = FeatureExchange.plan(items, mesh, {"length": 24}, group)
        rows = sum(count for _, count in exchange.bucket)
        received = exchange(torch.ones(rows, 4, requires_grad=True))
        received.tie(received.rows.sum()).backward()


def main() -> int:
    """Train; return 0, 3 after PeersFailed, or 4 after an error of this rank itself."""
    dist.init_process_group("gloo")
    # A rank that another one's fault finds in torch's own start waits there as long as torch likes.
    wait_for_all("initialized")
    try:
        train(float(sys.argv[1]))
    except PeersFailed as failure:
        sys.stderr.write(f"PeersFailed: {failure}\n")
        return failure.exit_status
    except (KeyError, RuntimeError) as error:
        sys.stderr.write(f"Own: {error}\n")
        return OWN_FAULT
    return 0


if __name__ == "__main__":
    sys.exit(main())
