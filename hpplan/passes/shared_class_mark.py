"""shared-class-mark: source lowering rewrites a class, not an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hpplan.passes.change import Cause, Change, Did
from hpplan.passes.facts import Facts
from hpplan.plan.model import Plan


@dataclass(frozen=True, slots=True)
class SharedClassMark:
    """Mark the boundaries whose class also belongs to a module that is no boundary.

    Before: `model.layers.1.mlp.shared_experts` (DeepseekV3MLP) was stripped,
    and `model.layers.0.mlp` is a boundary of the same class.
    After: `model.layers.0.mlp` has `skip_source_lowering: true` and stays a boundary.
    """

    name: ClassVar[str] = "shared-class-mark"
    did: ClassVar[Did] = Did("mark", "marked")

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Mark; a class counts where an entry says `is_boundary: false` explicitly."""
        unwrapped = {
            facts.classes.get(fqn)
            for fqn, entry in plan.param_plan.items()
            if entry.get("is_boundary") is False
        }
        causes: dict[str, Cause] = {}
        changes: list[Change] = []
        entries = dict(plan.param_plan)
        for fqn, class_name in plan.boundary_classes.items():
            entry = entries.get(fqn)
            if entry is None or class_name not in unwrapped or entry.get("skip_source_lowering") is True:
                continue
            if class_name not in causes:
                causes[class_name] = Cause(
                    self.name,
                    self.did,
                    f"Its class {class_name} is shared with a module that is no boundary, "
                    "so the runtime must wrap this instance alone.",
                    class_name,
                )
            changes.append(
                Change(
                    fqn,
                    "skip_source_lowering",
                    entry.get("skip_source_lowering"),
                    True,  # noqa: FBT003 - a field's value
                    causes[class_name],
                )
            )
            entries[fqn] = {**entry, "skip_source_lowering": True}
        return (plan.replace(param_plan=entries), changes) if changes else (plan, [])
