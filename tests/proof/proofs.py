"""Proofs of frozen plans, many in one process that has torch: it reads cases, and writes reports."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

CONFIGS = Path(__file__).parents[1] / "models" / "configs"


class Case(NamedTuple):
    """A model, as frozen for a mesh and changed: (FQN, field, value).

    None takes a field away, and the whole entry where the field is "".
    """

    model: str
    mesh: str
    changes: tuple[tuple[str, str, Any], ...] = ()
    other: dict[str, Any] | None = None
    """What the configuration says otherwise when the plan is proven; it is frozen as it is."""
    normalized: bool = False
    """Whether the plan is normalized before, with the rules that come with it."""


def prove_all(cases: list[Case]) -> list[dict[str, Any]]:
    """Return the report of each case, and under `findings` code, path and hint of each."""
    ran = subprocess.run(
        [sys.executable, __file__], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    reports: list[dict[str, Any]] = json.loads(ran.stdout)
    return reports


def _report(case: Case) -> dict[str, Any]:
    import hpplan
    from hpplan.models.expert_rules import expert_rules
    from hpplan.plan.rules import load_rules
    from hpplan.proof.results import proof_to_data

    data = json.loads((CONFIGS / f"{case.model}.json").read_text(encoding="utf-8"))
    mesh = hpplan.parse_mesh(case.mesh)
    frozen = copy.deepcopy(hpplan.freeze(hpplan.load_model(data), mesh).data)
    for fqn, field, value in case.changes:
        if not field:
            del frozen["param_plan"][fqn], frozen["boundary_classes"][fqn]
        elif value is None:
            frozen["param_plan"][fqn].pop(field)
        else:
            frozen["param_plan"][fqn][field] = value
    plan = hpplan.load_plan(frozen)
    strategies = hpplan.load_strategies()
    rules = load_rules(hpplan.read_document(expert_rules(plan, strategies)[0], name="rules"))
    if case.normalized:
        plan = hpplan.normalize(plan, rules).plan
    proof = hpplan.prove(plan, {**data, **(case.other or {})}, rules=rules)
    findings = [[one.code.id, *one.place.path, str(one.hint)] for one in proof.findings(plan)]
    return {**proof_to_data(proof, "plan"), "findings": findings}


if __name__ == "__main__":
    json.dump([_report(Case(*case)) for case in json.load(sys.stdin)], sys.stdout)
