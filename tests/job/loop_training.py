"""A training loop over a pool in which one rank goes wrong in its third step; it says how it ended.

    loop_training.py FAULT RANK TIMEOUT

The next step is planned ahead, and rows travel while text is embedded.
"""

from __future__ import annotations

import sys
import threading

import torch
import torch.distributed as dist

from hpplan.exchange import ExchangeGroup, FeatureExchange, PeersFailed, UnusableRequest

STEPS, THIRD, BROKEN = 6, 2, 3
LENGTH, WIDTH, PIXELS = 16, 4, 3


def _items(replica: int, step: int) -> list[dict[str, int]]:
    rows = 2 + (replica + step) % 3
    return [
        {
            "item_id": number,
            "batch_index": 0,
            "decoder_token_start": 1 + 5 * number,
            "output_rows": rows,
            "input_rows": rows,
        }
        for number in range(1 + replica)
    ]


def train(fault: str, culprit: int, timeout: float) -> None:
    """Train some steps; the culprit raises, skips a backward, or takes another batch."""
    group = ExchangeGroup.from_mesh("dp=2,cp=2", timeout, pool="all")
    assert group.mesh is not None
    rank, sequence = dist.get_rank(), {"length": LENGTH, "cp_layout": "zigzag"}
    replica = group.mesh.coordinates(rank)["dp"]
    encoder = torch.nn.Linear(PIXELS, WIDTH)
    ahead = FeatureExchange.plan_ahead(_items(replica, 0), None, sequence, group)
    for step in range(STEPS):
        wrong = fault if (rank, step) == (culprit, THIRD) else ""
        exchange = ahead.wait()
        rows = sum(one["input_rows"] for one in _items(replica, step))
        (pixels,) = exchange.bring(torch.ones(rows, PIXELS))
        if wrong == "raises":
            raise KeyError("a bug of the encoder")
        pending = exchange.start(encoder(pixels))
        following = _items(replica, step + 1 + (wrong == "other batch"))
        ahead = FeatureExchange.plan_ahead(following, None, sequence, group)
        text = torch.zeros(1, exchange.route.local_length, WIDTH, requires_grad=True)
        loss = pending.wait().merge_into(text).square().sum()
        if wrong != "skips a backward":
            loss.backward()


def main() -> int:
    """Train; return 3 where the exchange broke off, after one line."""
    fault, culprit, timeout = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    dist.init_process_group("gloo")
    try:
        train(fault, culprit, timeout)
    except (PeersFailed, UnusableRequest) as failure:
        sys.stderr.write(f"{type(failure).__name__}: {failure}\n")
        return BROKEN
    finally:
        sys.stdout.write(f"{sum(one.name == 'hpplan-call' for one in threading.enumerate())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
