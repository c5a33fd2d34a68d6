"""DESIGN section 3 written down as plainly as it reads, to hold the passes against."""

from __future__ import annotations

from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any

STRATEGIES = {
    "hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn": (
        "Qwen3MoeSparseMoeBlock",
        [],
    ),
    "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn": (
        "DeepseekV3MoE",
        ["experts.*", "shared_experts"],
    ),
}


def naive_normalize(plan: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the plan after the three passes, without a normalization record."""
    plan = deepcopy(plan)
    classes = plan["boundary_classes"]
    entries = plan["param_plan"]
    remembered = dict(classes)

    doomed = {fqn for rule in rules for fqn in _ep_doomed(rule, entries, classes)}
    _strip(doomed, entries, classes)

    external = plan.get("external_state_classes", [])
    _strip({fqn for fqn, name in classes.items() if name in external}, entries, classes)

    for fqn, entry in list(entries.items()):
        if entry.get("is_boundary") is False and fqn in remembered:
            for other, name in classes.items():
                if name == remembered[fqn] and other in entries:
                    entries[other]["skip_source_lowering"] = True
    return plan


def _ep_doomed(rule: dict[str, Any], entries: dict[str, Any], classes: dict[str, str]) -> set[str]:
    target_class, strip_patterns = STRATEGIES.get(rule["local_compute_fn"], (None, []))
    patterns = [rule["match"]] if isinstance(rule["match"], str) else rule["match"]
    doomed = set()
    for fqn, class_name in classes.items():
        if class_name != target_class or not any(fnmatchcase(fqn, pattern) for pattern in patterns):
            continue
        doomed.add(fqn)
        for other in entries:
            suffix = other[len(fqn) + 1 :]
            if other.startswith(fqn + ".") and any(
                fnmatchcase(suffix, pattern) for pattern in strip_patterns
            ):
                doomed.add(other)
    return doomed


def _strip(fqns: set[str], entries: dict[str, Any], classes: dict[str, str]) -> None:
    for fqn in fqns:
        if fqn in entries:
            entries[fqn]["is_boundary"] = False
        classes.pop(fqn, None)
