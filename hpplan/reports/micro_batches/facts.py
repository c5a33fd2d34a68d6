"""What text and pages say about many micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.quantities import duration, size
from hpplan.reports.terminal.quantities import load as spell_load
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpplan.reports.route.facts import Facts
    from hpplan.routing.meshes import Meshes, OnMesh
    from hpplan.routing.statistics import Measure, Statistics

HEADERS = ("policy", "median", "p95", "worst", "in micro-batch")


def verdict_of(found: Statistics) -> Facts:
    """Return the three lines that statistics open with, about the policy that runs."""
    one = found.running
    at = one.worst(1)[0]
    load = one.loads[at]
    named = f"{one.way.name}: " if len(found.found) > 1 else ""
    balance = (
        f"{named}the busiest producers encode {one.times_mean:.2f} times the mean, added up over "
        f"{counted(found.micro_batches)}"
    )
    if load.above:
        balance += (
            f"; furthest above it is micro-batch {at}: rank {load.rank} with "
            f"{spell_load(load.largest, found.cost)}, mean {load.mean:,.1f}"
        )
    measured = found.policies[one.way.name]
    if idle := int(measured["idle_producers"].worst):
        balance += f"; up to {plural(idle, 'producer')} {'encodes' if idle == 1 else 'encode'} nothing"
    if not any(of_one.largest for of_one in one.loads):
        balance = "there is nothing to encode"
    moved = measured["bytes_leaving"]
    cost = (
        f"{size(moved.median)} of features leave their rank in the median micro-batch, "
        f"{size(moved.worst)} in micro-batch {moved.worst_at}"
    )
    if "input_bytes_leaving" in measured:
        inputs = measured["input_bytes_leaving"]
        cost += f"; of inputs {size(inputs.median)}, {size(inputs.worst)} in micro-batch {inputs.worst_at}"
    if found.link is not None:
        seconds = found.policies[one.way.name]["seconds"]
        back = "" if found.ranks_per_node is None else " there and back"
        cost += f"; features{back} in {duration(seconds.median)}, at worst {duration(seconds.worst)}"
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
    if measure.name.endswith("seconds"):
        return duration(value)
    if "bytes" in measure.name:
        return size(value)
    return f"{value:,.{measure.decimals}f}"


def setting_of_meshes(found: Meshes) -> Facts:
    """Return what was routed on each mesh."""
    _, *same = setting_of(found.first)
    return [*same, ("assigned by", found.policy)]


def best_meshes(found: Meshes) -> Facts:
    """Return which mesh has the least of what counts."""
    sums = found.sums
    facts = [
        _least("lightest busiest producer", sums, lambda one: one.largest_load, "{:,}".format),
        _least("best balanced", sums, lambda one: one.times_mean, "{:.2f} times the mean".format),
        _least("lightest busiest rank", sums, lambda one: one.busiest_rank_bytes, size),
    ]
    if found.first.link is not None:
        facts.append(_least("fastest exchange", sums, lambda one: one.seconds or 0.0, duration))
    return facts


def measures_of_meshes(found: Meshes) -> tuple[list[str], list[list[str]]]:
    """Return the names of what is measured, and the measures of each mesh, its name first."""
    headers = ["mesh", "ranks", "busiest load", "mean", "times the mean", "idle"]
    headers += ["leave their rank", "busiest rank moves"]
    timed = found.first.link is not None
    rows = [
        [
            one.mesh,
            f"{one.ranks:,}",
            f"{one.largest_load:,}",
            f"{one.mean_load:,.1f}",
            f"{one.times_mean:.2f}",
            f"{one.idle_producers:,}",
            size(one.bytes_leaving),
            size(one.busiest_rank_bytes),
            *([duration(one.seconds or 0.0)] if timed else []),
        ]
        for one in found.sums
    ]
    return headers + ["estimated time"] * timed, rows


def _least(
    name: str, sums: list[OnMesh], of: Callable[[OnMesh], float], spell: Callable[[float], str]
) -> tuple[str, str]:
    least = min(map(of, sums))
    which = [one.mesh for one in sums if of(one) == least]
    return name, f"{'; '.join(which) if len(which) < len(sums) else 'all the same'}: {spell(least)}"


def counted(number: int) -> str:
    """Spell a number of micro-batches."""
    return plural(number, "micro-batch", "micro-batches")
