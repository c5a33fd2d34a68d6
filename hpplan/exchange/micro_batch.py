"""Planning one micro-batch on one rank, from whatever sequences and mappings a trainer has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.diagnostics import Place
from hpplan.errors import UnusableRequest
from hpplan.routing.routes import plan_rank_exchange
from hpplan.workload.workload import load_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hpplan.routing.mesh import Mesh
    from hpplan.routing.routes import RankExchange
    from hpplan.routing.transfers import Granularity


def workload_data(
    items: Iterable[Mapping[str, Any]],
    sequence: Mapping[str, Any],
    buckets: Iterable[Iterable[int]] | None,
    encoder_cp_size: int,
) -> dict[str, Any]:
    """Return the workload document of a micro-batch, whatever sequences and mappings its parts are.

    Raises UnusableRequest for a part that is neither.
    """
    data: dict[str, Any] = {
        "sequence": _read("sequence", dict, sequence),
        "items": _read("items", list, items),
        "encoder_cp_size": encoder_cp_size,
    }
    if buckets is not None:
        data["buckets"] = _read("buckets", lambda given: [list(bucket) for bucket in given], buckets)
    return data


def _read(name: str, how: Callable[[Any], object], given: object) -> object:
    try:
        return how(given)
    except (TypeError, ValueError) as error:
        raise UnusableRequest(f"{name} cannot be what a workload has: {error}") from None


def plan_micro_batch(
    data: Mapping[str, Any], mesh: Mesh, rank: int, granularity: Granularity, assign: str
) -> RankExchange | None:
    """Return what a rank does in one micro-batch; None on a later pipeline stage.

    `data` is a workload document; raises InvalidInput when it is none, or does
    not fit the mesh.
    """
    return plan_rank_exchange(mesh, load_workload(data, Place("items")), rank, granularity, assign)
