"""What two routing tables do differently: mesh, workload, and who sends which item where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.checks.comparison.changes import compare_names, field_changes, leaves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.checks.comparison.changes import Comparison
    from hpplan.routing.routes import RoutingTable

_DERIVED = frozenset({"hpplan_routes", "digest", "parents", "traffic"})
"""Fields that follow from the others, and the parents, which are compared item by item."""


def compare_routes(before: RoutingTable, after: RoutingTable) -> Comparison:
    """Return the differences of two tables, item by item for each parent.

    Matrix, traffic and digest follow from the rest and are not compared.
    """
    old, new = before.to_data(), after.to_data()
    old_items, new_items = _items(old), _items(new)
    changes = {
        name: field_changes(item, new_items[name]) for name, item in old_items.items() if name in new_items
    }
    return compare_names(old_items, new_items, changes, field_changes(_fields(old), _fields(new)))


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in data.items() if name not in _DERIVED}
    workload = {name: value for name, value in data["workload"].items() if name not in {"items", "replicas"}}
    return leaves({**fields, "workload": workload})


def _items(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what happens to each item of each parent, in global ranks."""
    items: dict[str, dict[str, Any]] = {}
    for number, parent in enumerate(data["parents"]):
        ranks = parent["ranks"]
        prefix = f"parents.{number}.items."
        for source, target, item, start, stop in parent["transfers"]:
            found = items.setdefault(f"{prefix}{item}", {"producer": ranks[source], "sent": []})
            found["sent"].append(f"{ranks[target]}[{start}:{stop}]")
    for found in items.values():
        found["sent"] = " ".join(found["sent"])
    return items
