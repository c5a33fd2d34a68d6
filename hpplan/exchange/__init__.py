"""Running routes with real collectives. torch is imported only when something of it is used."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from hpplan.late import exporter

if TYPE_CHECKING:
    from hpplan.errors import InvalidInput, UnusableRequest
    from hpplan.exchange.feature_exchange import FeatureExchange
    from hpplan.exchange.group import ExchangeGroup
    from hpplan.exchange.received import Received, ReceivedRecord
    from hpplan.watch.faults import PeersFailed
    from hpplan.workload.batch_items import BatchItems, items_from_batch

__all__ = [
    "BatchItems",
    "ExchangeGroup",
    "FeatureExchange",
    "InvalidInput",
    "PeersFailed",
    "Received",
    "ReceivedRecord",
    "UnusableRequest",
    "items_from_batch",
]

_export = exporter(
    __name__,
    {
        "hpplan.errors": ("InvalidInput", "UnusableRequest"),
        "hpplan.exchange.feature_exchange": ("FeatureExchange",),
        "hpplan.exchange.group": ("ExchangeGroup",),
        "hpplan.exchange.received": ("Received", "ReceivedRecord"),
        "hpplan.watch.faults": ("PeersFailed",),
        "hpplan.workload.batch_items": ("BatchItems", "items_from_batch"),
    },
)

NO_TORCH = "PyTorch, which is not installed; in the folder of hpplan, type: python -m pip install '.[exec]'"
"""What is needed and how to come by it, for messages."""

NO_NUMPY = "Failed to initialize NumPy"
"""How a warning of torch begins that nobody here has to hear."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any export
    """Import an export, and torch with it, when it is first asked for.

    Raises ImportError, with what to install, where there is no torch.
    """
    try:
        with warnings.catch_warnings():
            # torch warns, once, where there is no NumPy; nothing here needs it.
            warnings.filterwarnings("ignore", message=NO_NUMPY)
            return _export(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{name} needs {NO_TORCH}", name="torch") from None
