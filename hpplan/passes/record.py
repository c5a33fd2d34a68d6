"""The normalization record: what was stripped, so that a normalized plan can be normalized again."""

from __future__ import annotations

from typing import Any

from hpplan.passes.change import Change
from hpplan.passes.pipeline import Normalized
from hpplan.plan.model import Plan
from hpplan.version import __version__


def with_record(before: Plan, normalized: Normalized) -> Plan:
    """Return the normalized plan with its `normalization` block.

    A run that changed nothing keeps the block it found, or none: that makes
    normalizing idempotent to the byte.
    """
    if not normalized.changes:
        return normalized.plan
    stripped = dict(before.stripped)
    for change in normalized.changes:
        if change.field == "boundary_classes":
            stripped[change.fqn] = {"class": change.before, **_cause(change)}
        elif change.field == "is_boundary":
            stripped.setdefault(change.fqn, _cause(change))
    block = {
        "hpplan_version": __version__,
        "input_sha256": content_sha256(before),
        "passes": list(normalized.passes),
        "stripped": stripped,
    }
    return normalized.plan.replace(normalization=block)


def without_record(plan: Plan) -> Plan:
    """Return a plan without its `normalization` block."""
    return Plan({name: value for name, value in plan.data.items() if name != "normalization"}, plan.place)


def content_sha256(plan: Plan) -> str:
    """Return the sha256 of a plan's content: neither key order, spelling nor an earlier record counts."""
    import json
    from hashlib import sha256

    text = json.dumps(without_record(plan).data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def _cause(change: Change) -> dict[str, Any]:
    cause = change.cause
    entry: dict[str, Any] = {"pass": cause.pass_name, "pattern": cause.pattern}
    if cause.rule is not None:
        entry["rule"] = cause.rule
    if cause.below is not None:
        entry["below"] = cause.below
    return entry
