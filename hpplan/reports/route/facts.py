"""What the text of a routing table says about mesh and workload, and in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.reports.terminal.quantities import duration, share, size
from hpplan.routing.comparison import leaves_out, records_needed
from hpplan.routing.traffic import Link
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.reports.route.view import RouteView
    from hpplan.routing.traffic import Peak

Facts = list[tuple[str, str]]
"""Names and values."""


def setting_of(view: RouteView) -> Facts:
    """Return what was routed: mesh, mode and why, sequence, features, items, producers."""
    table = view.table
    workload, mesh, fitted = table.workload, table.mesh, table.fitted
    stage = f", on the first of {mesh.pp} pipeline stages" if mesh.pp > 1 else ""
    parents = f"{plural(mesh.parent_count, 'parent')} of {plural(mesh.parent_size, 'rank')}"
    if mesh.pool > 1:
        parents += f", pools of {mesh.pool} replicas"
    padding = f", padded from {workload.length:,}" if fitted.length != workload.length else ""
    documents = f", {plural(len(workload.documents), 'document')}" if workload.documents else ""
    local = f"{fitted.ownership.local_length:,} a rank"
    items = sum(len(batch.items) for batch in workload.batches)
    rows = sum(item.rows for batch in workload.batches for item in batch.items)
    whose = ""
    if mesh.dp > 1:
        whose = f" in {plural(mesh.dp, 'replica')}" if workload.per_replica else " in each replica"
    filled = f"assigned by {view.assigned_by}" if view.assigned_by else "filled as the input says"
    return [
        ("mesh", f"{mesh}: {plural(mesh.world_size, 'rank')}, {parents}{stage}"),
        ("mode", f"{table.mode.name}: {table.mode.why}"),
        ("granularity", table.granularity),
        ("sequence", f"{plural(fitted.length, 'token')}{padding}, {workload.cp_layout}{documents}; {local}"),
        ("features", f"{features_of(view)}: {workload.row_bytes:,} bytes a row"),
        ("items", f"{plural(items, 'item')}, {plural(rows, 'row')}{whose}"),
        ("producers", f"{fitted.producers} a parent, encoder cp {workload.encoder_cp_size}, {filled}"),
    ]


def verdict_of(view: RouteView) -> Facts:
    """Return the three lines that a preview opens with."""
    found = view.verdict
    idle = f", {found.idle:,} encode nothing" if found.idle else ""
    sets = ""
    if found.heaviest is not None:
        sample = "" if found.heaviest.sample is None else f" of sample {found.heaviest.sample}"
        sets = f"; its largest is item {found.heaviest.item_id}{sample}, {plural(found.heaviest.rows, 'row')}"
    measure = "" if view.cost == "rows" else f" in {view.cost}"
    balance = (
        "there is nothing to encode"
        if found.heaviest is None
        else (
            f"rank {found.rank} encodes {found.times_mean:.2f} times the mean of "
            f"{plural(found.producers, 'producer')}{measure}{idle}{sets}"
        )
    )
    inputs = f", {size(found.input_bytes)} of them inputs," if found.input_bytes else ""
    cost = (
        f"{size(found.price.bytes_leaving)}{inputs} leave their rank; "
        f"the busiest rank moves {size(found.price.busiest_bytes)}"
    )
    predicted = view.traffic.prediction
    if predicted is not None:
        cost += f", features in {duration(predicted.forward)} and back in {duration(predicted.backward)}"
    elif found.seconds is not None:
        cost += f", features in {duration(found.seconds)}"
    change = f"none of {found.tried} that were planned helps" if found.tried else "none was planned"
    if found.change is not None:
        after = found.change.price
        change = (
            f"{found.change.option}: {found.change.times_mean:.2f} times the mean, "
            f"{size(after.bytes_leaving)} leave their rank, the busiest moves {size(after.busiest_bytes)}"
        )
        if after.seconds is not None:
            change += f", features there and back in {duration(after.seconds)}"
    return [("balance", balance), ("cost", cost), ("change", change)]


def features_of(view: RouteView) -> str:
    """Return what one row is."""
    workload = view.table.workload
    return f"{workload.payloads} x {workload.feature_width} {workload.dtype}"


def producer_of(view: RouteView) -> str:
    """Return the rank of the busiest producer, with its parent where there are several."""
    load = view.traffic.producer_load
    parent = f" of parent {load.parent}" if view.table.mesh.dp > 1 else ""
    return f"rank {load.rank}{parent}"


def totals_of(view: RouteView) -> Facts:
    """Return what moves in all, against the least possible, the means and the bounds."""
    traffic = view.traffic

    row_bytes = traffic.row_bytes

    def amount(rows: int) -> str:
        return _amount(rows, row_bytes)

    least = amount(traffic.least_rows_leaving)
    saved = traffic.rows_leaving - traffic.least_rows_leaving
    incomplete = records_needed(view.table)
    if incomplete:
        least += f" to owners; {leaves_out(incomplete)}"
    elif saved:
        part = share(saved, traffic.rows_leaving)
        least += f"; row granularity saves {amount(saved)} ({part})"
    load = traffic.producer_load
    over = f", {load.largest / load.bound:.2f} times the bound" if load.bound else ""
    loaded = (
        f"{producer_of(view)}: {plural(load.largest, 'row')}; "
        f"bound {load.bound:,}, mean {load.mean:,.1f}{over}"
    )
    totals = [("arrive in all", amount(traffic.rows)), ("leave their rank", amount(traffic.rows_leaving))]
    between = view.rows_between_nodes
    if between is not None:
        part = share(between, traffic.rows_leaving)
        totals.append(("leave their node", f"{amount(between)} ({part} of what leaves its rank)"))
    totals += [
        ("least that must", least),
        ("largest sender", _peak(traffic.largest_sender, row_bytes)),
        ("largest receiver", _peak(traffic.largest_receiver, row_bytes)),
        ("producer load", loaded),
        ("largest buffer", f"{size(traffic.largest_buffer)} on one side of a rank"),
    ]
    if traffic.prediction is not None:
        forward, backward = map(duration, traffic.prediction)
        totals.append(("predicted time", f"{forward} forward, {backward} backward, over the links given"))
    elif isinstance(view.link, Link) and traffic.seconds is not None:
        at = f"at {view.link.bandwidth:g} GB/s and {view.link.latency:g} us"
        totals.append(("estimated time", f"{duration(traffic.seconds)} {at}, for the busiest rank"))
    return totals + _of_inputs(view)


def _of_inputs(view: RouteView) -> Facts:
    """Return what moves of inputs, where replicas share the encoder work."""
    inputs = view.traffic.inputs
    if inputs is None:
        return []

    row_bytes = inputs.row_bytes
    return [
        ("inputs that travel", f"{_amount(inputs.rows_leaving, row_bytes)}, before the features"),
        ("largest input sender", _peak(inputs.largest_sender, row_bytes)),
        ("largest input receiver", _peak(inputs.largest_receiver, row_bytes)),
        ("largest input buffer", f"{size(inputs.largest_buffer)} on one side of a rank"),
    ]


def _amount(rows: int, row_bytes: int) -> str:
    return f"{plural(rows, 'row')}, {size(rows * row_bytes)}"


def _peak(peak: Peak, row_bytes: int) -> str:
    times = f", {peak.rows / peak.mean:.2f} times the mean" if peak.mean else ""
    return f"rank {peak.rank}: {_amount(peak.rows, row_bytes)}{times}"
