"""What ranks do in the tests of the transport; returns plain numbers."""

from __future__ import annotations

from typing import Any

from naive_model import Setting
from rank_runs import make_exchange, make_features

WORKLOAD = {
    "sequence": {"length": 16},
    "items": [{"item_id": 0, "batch_index": 0, "decoder_token_start": 2, "output_rows": 10}],
}


def still_held(rank: int, mesh: str) -> int:
    """Count collectives after which a thread of torch still holds a tensor that it was given."""
    from hpplan.exchange.transport import Transport

    setting = Setting(WORKLOAD, 2 if mesh == "cp=2" else 1, 2 if mesh == "tp=2" else 1, sp=False)
    exchange = make_exchange(setting)
    held = 0 * rank
    own = Transport.run

    def run(self: Transport, collectives: Any, lent: Any, doing: str) -> None:  # noqa: ANN401 - as the one it stands for
        nonlocal held
        own(self, collectives, lent, doing)
        held += any(tensor._use_count() > 1 for tensor in lent)

    Transport.run = run  # type: ignore[method-assign]
    # One collective in five ended so; each of these calls runs four.
    for _ in range(50):
        exchange(make_features(exchange, "float32", 3).requires_grad_()).rows.sum().backward()
    return held
