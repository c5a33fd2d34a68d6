"""external-state-strip: a forward that was replaced carries its own orchestration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hpplan.passes.change import Cause, Change, Did
from hpplan.passes.facts import Facts
from hpplan.passes.strip import STRIPPED, strip_boundaries
from hpplan.plan.model import Plan


@dataclass(frozen=True, slots=True)
class ExternalStateStrip:
    """Take the boundary of each FQN whose class is in `external_state_classes`.

    Before: `external_state_classes: [DeepseekV3MoE]` and `model.layers.1.mlp: DeepseekV3MoE`.
    After: `model.layers.1.mlp` is no boundary and has no class.
    """

    name: ClassVar[str] = "external-state-strip"
    did: ClassVar[Did] = STRIPPED

    def apply(self, plan: Plan, facts: Facts) -> tuple[Plan, list[Change]]:
        """Strip every instance of the external-state classes."""
        causes = {
            name: Cause(
                self.name,
                STRIPPED,
                f"Its class {name} is in external_state_classes: its forward was replaced by a body "
                "that carries its own orchestration.",
                name,
            )
            for name in plan.external_state_classes
        }
        return strip_boundaries(
            plan, {fqn: causes[name] for fqn, name in plan.boundary_classes.items() if name in causes}
        )
