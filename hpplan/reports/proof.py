"""What a proof found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpplan.plan.folding import fold
from hpplan.proof.results import STATUSES
from hpplan.reports.terminal.screen import stacked
from hpplan.wording import plural

if TYPE_CHECKING:
    from hpplan.proof.results import Proof
    from hpplan.reports.terminal.screen import Screen


def render(proof: Proof, plan: str, screen: Screen) -> str:
    """Return the verdict, a line for each class, and what the runtime must do."""
    facts = [("proven", _verdict(proof)), ("plan", plan), ("model", proof.model_class), ("mesh", proof.mesh)]
    parts = [screen.facts(facts)]
    classes = proof.classes().items()
    rows = [[name, *(str(counted[status]) for status in STATUSES)] for name, counted in classes]
    parts.append(screen.table("", ("class", *STATUSES), rows, (1, 2, 3)))
    if assumed := _assumed(proof):
        parts.append("Assumed:\n" + "".join(screen.folded("  ", line) for line in assumed))
    if sums := proof.sums():
        lines = [f"over {' and '.join(axes)}: {', '.join(names)}" for axes, names in sums]
        title = "Gradients that are right once they are summed, which the runtime must do:\n"
        parts.append(title + "".join(screen.folded("  ", line) for line in lines))
    return stacked(parts)


def _verdict(proof: Proof) -> str:
    ran = [unit for unit in proof.units if unit.status != "assumed"]
    if differ := proof.wrong:
        return f"no: {len(differ)} of {plural(len(ran), 'module')} that ran differ, first {differ[0].fqn}"
    if proof.model.why:
        return f"no: {proof.model.why}"
    if proof.uneven:
        return "no: the mesh cuts parameters of the real model into unequal parts"
    return (
        f"yes: {plural(len(ran), 'module')} ran as the plan says, which stand for "
        f"{sum(proof.times(unit) for unit in ran):,}; logits are within {proof.model.logits or 0:.1e} of the "
        "whole model's, and gradients are right, some after a sum"
    )


def _assumed(proof: Proof) -> list[str]:
    """Return what did not run as the plan says, folded over layers, and why."""
    by_reason: dict[str, list[str]] = {}
    for unit in proof.units:
        if unit.assumed:
            by_reason.setdefault(unit.assumed, []).append(unit.fqn)
    return [f"{', '.join(fold(names))}: {why}" for why, names in by_reason.items()]
