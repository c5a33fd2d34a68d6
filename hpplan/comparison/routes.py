"""What two routing tables do differently: mesh, workload, who sends which rows where, and where they land."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.comparison.changes import Differences, compare_names, field_changes, leaves
from hpplan.shapes.shape import written
from hpplan.workload.shape import FURTHER_ITEM_FIELDS

if TYPE_CHECKING:
    from hpplan.routing.routes import RoutingTable


def compare_routes(before: RoutingTable, after: RoutingTable) -> Differences:
    """Return the differences of two tables, item by item for each parent.

    Matrix, traffic and digest follow from the rest and are not compared.
    """
    old, new = _items(before), _items(after)
    changes = {name: field_changes(entry, new[name]) for name, entry in old.items() if name in new}
    return compare_names(old, new, changes, field_changes(_fields(before), _fields(after)))


def _fields(table: RoutingTable) -> dict[str, Any]:
    """Return what is about no single item, by dotted path; axes of size 1, and sp without tp, are none."""
    axes, sp = table.mesh.shape
    workload = table.workload.to_data()
    for name in ("items", "replicas"):
        workload.pop(name, None)
    mesh = {**table.mesh.to_data(), "axes": dict(axes), "order": [axis for axis, _ in axes], "sp": sp}
    fields = leaves(
        {"mesh": mesh, "mode": table.mode.name, "granularity": table.granularity, "workload": workload}
    )
    for number in range(table.mesh.dp if table.workload.per_replica else 0):
        documents = table.workload.documents_of(table.workload.batches[number])
        if documents != table.workload.documents:
            fields[f"parents.{number}.documents"] = list(documents)
    return fields


def _items(table: RoutingTable) -> dict[str, dict[str, Any]]:
    """Return what happens to each item of each parent, in global ranks, and where its rows land."""
    items: dict[str, dict[str, Any]] = {}
    for number, (ranks, routes) in enumerate(table.parents):
        prefix = f"parents.{number}.items."
        for source, bucket in enumerate(routes.buckets):
            for place, item in enumerate(bucket):
                items[f"{prefix}{item.item_id}"] = {
                    "producer": ranks[source * routes.encoder_cp_size],
                    "place_in_bucket": place,
                    "batch_index": item.batch_index,
                    "tokens": " ".join(f"[{start}:{start + rows}]" for start, rows in item.spans),
                    **written(FURTHER_ITEM_FIELDS, item),
                    "sent": [],
                }
        for _, target, item_id, start, stop in routes.transfers():
            items[f"{prefix}{item_id}"]["sent"].append(f"{ranks[target]}[{start}:{stop}]")
    for entry in items.values():
        entry["sent"] = " ".join(entry["sent"])
    return items
