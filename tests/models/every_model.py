"""Freezes every model that transformers has a plan for: `python tests/models/every_model.py [TYPE …]`.

Each is built as its configuration class has it, with few layers. Its plans must pass every check, also held
against the model, and place each parameter as transformers does. Prints what differs, and exits with 1 where
something does. Takes some minutes, and covers what tests of a few types cannot.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch_placements import fake_ranks, placements
from transformers.initialization import no_init_weights, no_tie_weights

from hpplan.diagnostics import Place
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_yaml
from hpplan.models.build import usual_class
from hpplan.models.describe import describe
from hpplan.models.freeze import freeze
from hpplan.models.library import quiet
from hpplan.plan.model import KEY_ORDER
from hpplan.routing.mesh import parse_mesh
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.models.facts import ModelFacts

RANKS = 2
LAYERS = 4


def model_of(model_type: str) -> Any:  # noqa: ANN401 - a transformers model, or None
    """Return a model of a type with its own defaults; None where there is none, or none can be built."""
    with suppress(Exception), torch.device("meta"), no_init_weights(), no_tie_weights():
        config = transformers.CONFIG_MAPPING[model_type]()
        parts = [config, *(getattr(config, name, None) for name in getattr(config, "sub_configs", {}))]
        for part in filter(None, parts):
            for name in ("num_hidden_layers", "depth", "num_layers"):
                with suppress(Exception):
                    if getattr(part, name) > LAYERS and not getattr(part, "layer_types", None):
                        setattr(part, name, LAYERS)
        return getattr(transformers, usual_class(model_type))._from_config(config)
    return None


def faults(model: ModelFacts, said: dict[str, tuple[str, str]], mesh: str) -> Iterator[str]:
    """Yield what is wrong with the plan of a model."""
    data = freeze(model, parse_mesh(mesh), Place("config.json")).data
    run = CheckRun(model=model)
    run.check(parse_document(dump_yaml(data, KEY_ORDER).encode(), "plan.yaml"))
    run.finish()
    # Whatever the defaults of a class are, RANKS need not divide them.
    found = [item for item in (*run.blocking, *run.findings) if item.code.name != "uneven-dimension"]
    yield from (f"{item.code.name}: {item.message}" for item in found)
    planned = {
        f"{fqn}.{name}": layout
        for fqn, entry in data["param_plan"].items()
        for name, layout in entry["params"].items()
    }
    left_out = tuple(f"{name}." for name in data.get("not_covered", []))
    for name, (axis, placement) in said.items():
        layout = planned.get(name)
        if layout is None and not f"{name}.".startswith(left_out):
            yield f"{name} is in no entry"
        elif layout not in (None, {axis: placement}) and (placement != "R" or {*layout.values()} != {"R"}):
            yield f"{name} is {layout}, and transformers has {placement} along {axis}"


def main(types: list[str]) -> int:
    """Go through the model types, and return the exit status."""
    wrong = seen = 0
    with fake_ranks(RANKS), quiet(transformers):
        for model_type in types or sorted(transformers.CONFIG_MAPPING):
            model = model_of(model_type)
            if model is None or not model.tp_plan:
                continue
            for ep in (1, RANKS) if model.ep_plan else (1,):
                facts = describe(model, model_type)
                mesh = f"tp={RANKS},sp" + f",ep={ep}" * (ep > 1)
                try:
                    said = placements(model_of(model_type), RANKS, ep)
                except ValueError as error:
                    sys.stderr.write(f"{model_type} {mesh}: not by transformers either: {error}\n")
                    continue
                found = list(faults(facts, said, mesh))
                wrong, seen = wrong + bool(found), seen + 1
                for line in found:
                    sys.stderr.write(f"{model_type} {mesh}: {line}\n")
    sys.stderr.write(f"{seen} plans, {wrong} of them wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
