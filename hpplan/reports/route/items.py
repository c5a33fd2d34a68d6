"""The items of a routing table in HTML: where they are, who encodes them, where they go."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hpplan.reports.route.markup import details, table
from hpplan.routing.fit import parent_batches
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView

MOST_ITEMS = 500
"""Items that are listed."""
MOST_DESTINATIONS = 16


def items_table(view: RouteView) -> str:
    """Return the first items with who encodes them and where they go, as HTML."""
    parents = view.table.parents[:1] if view.alike else view.table.parents
    lines: list[list[str]] = []
    total = sum(len(bucket) for _, routes in parents for bucket in routes.buckets)
    produced = (
        (number, ranks, routes, source, item)
        for number, (ranks, routes) in enumerate(parents)
        for source, item in routes.produced()
    )
    several = len(parents) > 1
    batches = parent_batches(view.table.mesh, view.table.workload)
    given = [{item.item_id: item for item in batch.items} for batch in batches]
    for number, ranks, routes, source, item in islice(produced, MOST_ITEMS):
        to = [ranks[rank] for rank in routes.destinations(item)]
        shown = ", ".join(map(str, to[:MOST_DESTINATIONS]))
        if len(to) > MOST_DESTINATIONS:
            shown += f" and {len(to) - MOST_DESTINATIONS} more"
        # Padding may have moved it; the workload has it where the sample has it.
        item = given[number][item.item_id]  # noqa: PLW2901 - the same item
        runs = f" in {len(item.spans)} runs" if len(item.spans) > 1 else ""
        replica = [f"{number}"] * several
        token = f"{item.first_token:,}{runs}"
        line = [f"{item.item_id}", *replica, f"{item.batch_index}", token, f"{item.rows:,}"]
        lines.append([*line, f"{ranks[source]}", shown])
    if not lines:
        return "<p>There are no items: every rank sends and receives nothing.</p>"
    head = ["item", *(["replica"] * several), "batch row", "first token", "rows", "encoded by", "sent to"]
    more = f"<p>Of {total:,} items the first {MOST_ITEMS} are listed.</p>\n" if total > MOST_ITEMS else ""
    shown = table("Items", head, lines, words=len(head) - 1)
    return more + details(f"{plural(len(lines), 'item')} by encoding rank", shown)
