"""What ranks do in the tests of the transport; returns plain numbers."""

from __future__ import annotations

import time
from typing import Any

from naive_model import Setting
from rank_runs import make_exchange, make_features

WORKLOAD = {
    "sequence": {"length": 16},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 10}],
}


def still_held(rank: int, mesh: str) -> int:
    """Count collectives after which somebody else still holds a tensor that it was given; one waits long."""
    from hpplan.exchange import transport
    from hpplan.exchange.transport import Transport

    # For a busy machine; nobody needs as long.
    transport._LETTING_GO = 5.0
    setting = Setting(WORKLOAD, 2 if mesh == "cp=2" else 1, 2 if mesh == "tp=2" else 1, sp=False)
    exchange = make_exchange(setting)
    held = 0
    own = Transport.run

    def run(self: Transport, collectives: Any, lent: Any, doing: str) -> None:  # noqa: ANN401 - as the one it stands for
        nonlocal held
        own(self, collectives, lent, doing)
        held += any(tensor._use_count() > 1 for tensor in lent)

    Transport.run = run  # type: ignore[method-assign]
    # One collective in five ended so; each of these calls runs four.
    for number in range(50):
        if number == 25 and rank == 1:
            time.sleep(1)
        exchange(make_features(exchange, "float32", 3).requires_grad_()).rows.sum().backward()
    return held
