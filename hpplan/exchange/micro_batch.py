"""The workload document of one micro-batch, from whatever sequences and mappings a trainer has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.errors import UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hpplan.routing.mesh import Mesh


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


def pooled_data(said: Sequence[Mapping[str, Any]], mesh: Mesh, rank: int) -> dict[str, Any]:
    """Return the workload of a pool from what each of its ranks said of its own replica.

    `said` are workload documents in parent-rank order. Items are numbered
    through all replicas. Raises UnusableRequest where a rank gives buckets, or
    ranks of one replica differ.
    """
    at = mesh.parent_of(rank)
    replicas: list[dict[str, Any]] = [{"items": []} for _ in range(mesh.dp)]
    number = 0
    for replica in range(mesh.pool if at is not None else 0):
        first = replica * mesh.replica_size
        own = said[first]
        for beside in range(first, first + mesh.replica_size):
            if said[beside] != own:
                raise UnusableRequest(f"ranks {first} and {beside} of the pool have other items")
        if _sequence(own) != _sequence(said[0]):
            raise UnusableRequest(f"ranks 0 and {first} of the pool have other sequences")
        if "buckets" in own:
            raise UnusableRequest("in a pool items are assigned by hpplan; leave out `buckets`")
        items = [{**item, "item_id": item_id} for item_id, item in enumerate(own["items"], number)]
        number += len(items)
        entry: dict[str, Any] = {"items": items}
        if own["sequence"].get("documents"):
            entry["documents"] = own["sequence"]["documents"]
        assert at is not None
        replicas[at[0] * mesh.pool + replica] = entry
    head = {name: value for name, value in said[0].items() if name != "items"}
    return {**head, "sequence": _sequence(said[0]), "encoder_pool": mesh.pool, "replicas": replicas}


def _sequence(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all replicas of a pool have in common of their sequences."""
    return {name: value for name, value in data["sequence"].items() if name != "documents"}
