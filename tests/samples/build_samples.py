"""Builds the plans of real models in `sample_plans/` from the module lists beside this file.

Run `python tests/samples/build_samples.py` after a change of this file or of a
pass; it normalizes the plans too. A test says when a committed sample is not
what this file builds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from sample_models import SAMPLES, Sample

from hpplan.documents.disk.files import replace_file
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.plan.model import KEY_ORDER
from hpplan.plan.rules import RULES_FILE
from hpplan.shapes.shape import key_order

HERE = Path(__file__).parent
SAMPLE_PLANS = HERE.parents[1] / "sample_plans"

# Every weight has a whole copy on each context-parallel rank.
REPLICATED = {"cp": "R", "tp": "R"}
COLUMN_WISE = {"cp": "R", "tp": "S(0)"}
ROW_WISE = {"cp": "R", "tp": "S(1)"}
EXPERT_WISE = {"cp": "R", "ep": "S(0)"}

PARAMETERS = {
    **dict.fromkeys(("q_proj", "k_proj", "v_proj", "q_b_proj", "kv_b_proj"), COLUMN_WISE),
    **dict.fromkeys(("gate_proj", "up_proj", "embed_tokens", "lm_head"), COLUMN_WISE),
    **dict.fromkeys(("o_proj", "down_proj"), ROW_WISE),
    # Every rank needs the whole result of the router and of the low-rank halves of latent attention.
    **dict.fromkeys(("q_a_proj", "kv_a_proj_with_mqa", "gate"), REPLICATED),
    "experts": EXPERT_WISE,
}
"""Placements of a parameter, by the last part of the FQN of the module that owns it; norms are replicated."""

# Activations are [batch, sequence, features]; context parallelism splits the sequence everywhere.
SEQUENCE = {"cp": "S(1)", "tp": "S(1)"}
WHOLE = {"cp": "S(1)", "tp": "R"}
PENDING = {"cp": "S(1)", "tp": "P(sum)"}
VOCABULARY = {"cp": "S(1)", "tp": "S(2)"}


class Module(NamedTuple):
    """One line of a module list."""

    fqn: str
    class_name: str
    parameters: tuple[str, ...]


class Contract(NamedTuple):
    """What a boundary is handed, what its forward wants, leaves behind, and what is handed on."""

    tensor: str
    in_src: dict[str, str]
    in_dst: dict[str, str]
    out_src: dict[str, str]
    out_dst: dict[str, str]


SPLIT_COMPUTE = Contract("hidden_states", SEQUENCE, WHOLE, PENDING, SEQUENCE)
UNCHANGED = Contract("hidden_states", SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE)
EMBEDDING = Contract("input", WHOLE, WHOLE, PENDING, SEQUENCE)
LM_HEAD = Contract("input", SEQUENCE, WHOLE, VOCABULARY, VOCABULARY)


def read_modules(name: str) -> list[Module]:
    """Read `model_structures/<name>.tsv`: FQN, class, own parameters as `name:shape`."""
    lines = (HERE / "model_structures" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    fields = (line.split("\t") for line in lines if not line.startswith("#"))
    return [
        Module(fqn, class_name, tuple(item.partition(":")[0] for item in parameters.split()))
        for fqn, class_name, parameters in fields
    ]


def contract_of(module: Module) -> Contract | None:
    """Return the contract of a boundary, or None for a module that is none."""
    name = module.fqn.rpartition(".")[2]
    if name == "embed_tokens":
        return EMBEDDING
    if name == "lm_head":
        return LM_HEAD
    # The norms inside attention share the class of the decoder's norms, so they carry its contract;
    # identical on both sides, it moves nothing.
    if module.class_name.endswith("RMSNorm") or module.class_name.endswith(("MoE", "SparseMoeBlock")):
        return UNCHANGED
    if name in {"self_attn", "mlp", "shared_experts"}:
        return SPLIT_COMPUTE
    return None


def build_plan(sample: Sample) -> dict[str, Any]:
    """Return the frozen plan of a sample."""
    modules = [module for module in read_modules(sample.name) if not sample.leaves_out(module.fqn)]
    contracts = {module.fqn: contract for module in modules if (contract := contract_of(module))}
    parameters: dict[str, dict[str, dict[str, str]]] = {fqn: {} for fqn in contracts}
    for module in modules:
        for parameter in module.parameters:
            owner = _nearest_boundary(module.fqn, contracts)
            path = f"{module.fqn}.{parameter}"
            parameters[owner][path.removeprefix(f"{owner}.")] = _placements(module)
    return {
        **sample.fields,
        "boundary_classes": {module.fqn: module.class_name for module in modules if module.fqn in contracts},
        "param_plan": {fqn: _entry(parameters[fqn], contract) for fqn, contract in contracts.items()},
    }


def build_codegen_meta(sample: Sample) -> dict[str, Any]:
    """Return the same plan as HyperParallel freezes it: with one injection per expert-parallel module."""
    plan = build_plan(sample)
    model_type = plan.pop("model_type")
    ep_size = plan["parallel_dims"]["ep_size"]
    (strategy,) = {rule["local_compute_fn"] for rule in sample.rules["rules"]}
    return {
        **plan,
        "covered": {"sharding_plan": True},
        "source": {"model_type": model_type},
        "injections": [
            {"match": fqn, "ep_size": ep_size, "local_compute_fn": {"_target_": strategy}}
            for fqn, class_name in plan["boundary_classes"].items()
            if class_name in plan["external_state_classes"]
        ],
    }


def build() -> dict[str, str]:
    """Return the text of every file that this builder writes, by its name in `sample_plans/`."""
    texts = {}
    for sample in SAMPLES:
        texts[f"{sample.name}.yaml"] = dump_yaml(build_plan(sample), KEY_ORDER, _header("plan", sample.about))
        texts[f"{sample.name}.rules.yaml"] = dump_yaml(
            sample.rules, key_order(RULES_FILE), _header("rules", sample.about_rules)
        )
        if sample.as_codegen_meta:
            texts[f"{sample.name}.codegen_meta.json"] = dump_json(build_codegen_meta(sample))
    return texts


def _nearest_boundary(fqn: str, boundaries: dict[str, Contract]) -> str:
    while fqn not in boundaries:
        fqn, _, _ = fqn.rpartition(".")
        if not fqn:
            raise ValueError("a parameter lies outside every boundary")
    return fqn


def _placements(module: Module) -> dict[str, str]:
    if module.class_name.endswith("RMSNorm"):
        return dict(REPLICATED)
    return dict(PARAMETERS[module.fqn.rpartition(".")[2]])


def _entry(parameters: dict[str, dict[str, str]], contract: Contract) -> dict[str, Any]:
    return {
        "params": parameters,
        "in_src": {contract.tensor: dict(contract.in_src)},
        "in_dst": {contract.tensor: dict(contract.in_dst)},
        "out_src": {"output": dict(contract.out_src)},
        "out_dst": {"output": dict(contract.out_dst)},
        "is_boundary": True,
    }


def _header(schema: str, about: str) -> str:
    lines = [f"yaml-language-server: $schema=../schemas/{schema}.schema.json", *about.splitlines()]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


if __name__ == "__main__":
    for file_name, text in build().items():
        replace_file(str(SAMPLE_PLANS / file_name), text)
    for name in (sample.name for sample in SAMPLES):
        files = (f"{name}.yaml", "--rules", f"{name}.rules.yaml", "-o", f"{name}.normalized.yaml")
        subprocess.run([sys.executable, "-m", "hpplan", "normalize", *files], cwd=SAMPLE_PLANS, check=True)
