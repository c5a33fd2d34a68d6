"""The library as the README shows it, between its two marks; it runs where the sample plans are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def library(folder: Path) -> tuple[str, str, int]:
    """Normalize, check and route a sample plan; return the findings, the preview and the rows that move."""
    # The README quotes from here.
    import hpplan

    plan = hpplan.load_plan("sample_plans/qwen3_vl_30b_a3b.yaml")
    rules = hpplan.load_rules("sample_plans/qwen3_vl_30b_a3b.rules.yaml")
    normalized = hpplan.normalize(plan, rules)
    for change in normalized.changes:
        print(change.fqn, change.field, change.before, change.after, change.cause.pattern)
    hpplan.write_document(folder / "normalized.yaml", normalized.plan)

    findings = hpplan.check(normalized.plan, rules="sample_plans/qwen3_vl_30b_a3b.rules.yaml")
    print(hpplan.report(findings, format_name="concise"))

    workload = hpplan.load_workload("sample_plans/qwen3_vl_30b_a3b.yaml")  # its feature_exchange
    table = hpplan.plan_routes(hpplan.mesh_of_plan(plan), workload)
    print(hpplan.preview(table, link=hpplan.Link(bandwidth=50.0)))
    hpplan.write_document(folder / "routes.json", table)
    route = hpplan.plan_rank(table.mesh, workload, 3)  # None on a later pipeline stage
    if route is not None:
        print(route.sends)  # (destination, item_id, row_start, row_stop) in wire order
    # The README quotes up to here.
    return hpplan.report(findings), hpplan.preview(table), hpplan.Traffic(table).rows_leaving
