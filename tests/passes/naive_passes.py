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
"""Target to target class and strip patterns."""


def naive_normalize(
    plan: dict[str, Any],
    rules: list[dict[str, Any]],
    strategies: dict[str, tuple[str, list[str]]] = STRATEGIES,
) -> dict[str, Any]:
    """Return the plan after the three passes, with the normalization record that it came with."""
    plan = deepcopy(plan)
    classes = plan["boundary_classes"]
    entries = plan["param_plan"]
    remembered = dict(classes)
    for fqn, stripped in plan.get("normalization", {}).get("stripped", {}).items():
        if "class" in stripped and fqn not in remembered:
            remembered[fqn] = stripped["class"]

    doomed = set()
    for rule in rules:
        if rule.get("when") == "ep" and plan.get("parallel_dims", {}).get("ep_size", 1) <= 1:
            continue
        if rule["local_compute_fn"] in strategies:
            doomed |= _ep_doomed(rule, entries, remembered, *strategies[rule["local_compute_fn"]])
    _strip(doomed, entries, classes)

    external = plan.get("external_state_classes", [])
    _strip({fqn for fqn, name in classes.items() if name in external}, entries, classes)

    for fqn, entry in list(entries.items()):
        if entry.get("is_boundary") is False and fqn in remembered:
            for other, name in classes.items():
                if name == remembered[fqn] and other in entries:
                    entries[other]["skip_source_lowering"] = True
    return plan


def _ep_doomed(
    rule: dict[str, Any],
    entries: dict[str, Any],
    remembered: dict[str, str],
    target_class: str,
    strip_patterns: list[str],
) -> set[str]:
    patterns = [rule["match"]] if isinstance(rule["match"], str) else rule["match"]
    doomed = set()
    for fqn, class_name in remembered.items():
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
