"""What text and pages say about many micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.quantities import duration, size
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.route.facts import Facts
    from hpplan.routing.statistics import Measure, Statistics

HEADERS = ("policy", "median", "p95", "worst", "in micro-batch")


def verdict_of(found: Statistics) -> Facts:
    """Return the three lines that statistics open with, about the policy that runs."""
    one = found.first
    at = one.worst(1)[0]
    load = one.loads[at]
    unit = "rows" if found.cost == "rows" else found.cost
    balance = (
        f"the busiest producers encode {one.times_mean:.2f} times the mean, added up over "
        f"{counted(found.micro_batches)}; furthest above it is micro-batch {at}: rank {load.rank} with "
        f"{load.largest:,} {unit}, mean {load.mean:,.1f}"
    )
    idle = found.policies[one.way.name]["idle_producers"]
    if idle.worst:
        balance += f"; up to {idle.worst:,.0f} producers encode nothing"
    moved = found.policies[one.way.name]["bytes_leaving"]
    cost = (
        f"{size(moved.median)} leave their rank in the median micro-batch, "
        f"{size(moved.worst)} in micro-batch {moved.worst_at}"
    )
    if found.link is not None:
        seconds = found.policies[one.way.name]["seconds"]
        cost += f"; features in {duration(seconds.median)}, at worst {duration(seconds.worst)}"
    others, better = len(found.found) - 1, found.better
    change = f"none of {others} that were planned helps" if others else "none was planned"
    if better is not None:
        after = found.policies[better.way.name]["bytes_leaving"]
        change = (
            f"{better.way.option}: {better.times_mean:.2f} times the mean, "
            f"{size(after.median)} leave their rank in the median micro-batch"
        )
    return [("balance", balance), ("cost", cost), ("change", change)]


def setting_of(found: Statistics) -> Facts:
    """Return what was routed."""
    return [
        ("mesh", f"{found.mesh}: {plural(found.mesh.world_size, 'rank')}"),
        ("granularity", found.granularity),
        ("over", counted(found.micro_batches)),
        ("cost", found.cost),
    ]


def side_by_side(found: Statistics, measure: Measure) -> tuple[str, list[list[str]]]:
    """Return the title of a measure, and its distribution under each policy, below `HEADERS`."""
    title = f"{measure.name.replace('_', ' ').capitalize()}: {measure.summary}"
    rows = []
    for policy, values in found.policies.items():
        one = values[measure.name]
        rows.append([policy, *(spelled(measure, value) for value in one[:3]), str(one.worst_at)])
    return title, rows


def spelled(measure: Measure, value: float) -> str:
    """Spell a value of a measure."""
    if measure.name == "seconds":
        return duration(value)
    if measure.name.endswith("bytes_leaving"):
        return size(value)
    return f"{value:,.{measure.decimals}f}"


def counted(number: int) -> str:
    """Spell a number of micro-batches."""
    return plural(number, "micro-batch", "micro-batches")
