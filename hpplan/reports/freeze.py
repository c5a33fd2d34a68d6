"""What a frozen plan leaves to its reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.plan.folding import fold
from hpplan.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.models.facts import ModelFacts
    from hpplan.models.freeze import Frozen
    from hpplan.routing.mesh import Mesh


def notes(model: ModelFacts, frozen: Frozen, mesh: Mesh, without: list[str]) -> Iterator[str]:
    """Yield what a reader of the plan should know that the plan does not say.

    `without` are classes of experts that have no one strategy.
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in frozen.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        count = sum(len(model.parameters_below(name)) if name in model.modules else 1 for name in names)
        yield f"{reason} {', '.join(fold(names))} ({plural(count, 'parameter')}); listed under `not_covered`"
    if mesh.cp > 1:
        yield "attention under context parallelism needs a strategy, as an `inner_wrapper` rule"
    for name in without:
        yield (
            f"no one strategy for the experts of {name} is known; declare one under `strategies`, "
            "with a rule that points at it"
        )
