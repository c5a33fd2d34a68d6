"""The committed normalized samples are right by a reckoning of their own, and current by hpplan's."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml
from build_samples import SAMPLE_PLANS
from sample_models import SAMPLES

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(name: str) -> dict[str, Any]:
    """Read a sample with PyYAML, so that a fault of hpplan's reader cannot hide one of its writer."""
    with (SAMPLE_PLANS / name).open(encoding="utf-8") as stream:
        found: dict[str, Any] = yaml.load(stream, LOADER)  # noqa: S506 - a safe loader either way
    return found


def layers(prefix: str, numbers: range, suffix: str) -> set[str]:
    """Name one module in each of some layers."""
    return {f"{prefix}.{number}.{suffix}" for number in numbers}


EXPECTED = {
    "llama3_8b": (set(), set()),
    "qwen3_moe_30b_a3b": (layers("model.layers", range(48), "mlp"), set()),
    # The dense MLPs have the class of the shared experts, which lose their boundary to the strategy.
    "deepseek_v3": (
        layers("model.layers", range(3, 61), "mlp")
        | layers("model.layers", range(3, 61), "mlp.shared_experts"),
        layers("model.layers", range(3), "mlp"),
    ),
    "qwen3_vl_30b_a3b": (layers("model.language_model.layers", range(48), "mlp"), set()),
}
"""For each sample what is stripped, and what is marked."""


@pytest.mark.parametrize("name", EXPECTED)
def test_exactly_the_expected_entries_differ(name: str) -> None:
    """A failure means that a pass did too much, too little, or something else than section 3 says."""
    stripped, marked = EXPECTED[name]
    before, after = read(f"{name}.yaml"), read(f"{name}.normalized.yaml")
    record = after.pop("normalization", {"stripped": {}})
    expected = dict(before)
    expected["boundary_classes"] = {
        fqn: class_name for fqn, class_name in before["boundary_classes"].items() if fqn not in stripped
    }
    expected["param_plan"] = {
        fqn: {
            **entry,
            **({"is_boundary": False} if fqn in stripped else {}),
            **({"skip_source_lowering": True} if fqn in marked else {}),
        }
        for fqn, entry in before["param_plan"].items()
    }
    assert after == expected
    assert set(record["stripped"]) == stripped
    assert all(item["class"] == before["boundary_classes"][fqn] for fqn, item in record["stripped"].items())


def test_counts_of_deepseek_v3() -> None:
    """A failure means that the best-known result is off: 58 blocks and 58 shared experts go, 3 are marked."""
    after = read("deepseek_v3.normalized.yaml")
    entries = after["param_plan"].values()
    assert len(entries) == 427
    assert len(after["boundary_classes"]) == 427 - 58 - 58
    assert sum(entry["is_boundary"] is False for entry in entries) == 116
    assert sum("skip_source_lowering" in entry for entry in entries) == 3


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the folder of the samples, as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "hpplan", *arguments],
        cwd=SAMPLE_PLANS,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_committed_results_are_current(sample: Any) -> None:  # noqa: ANN401 - a Sample
    """A failure means that a normalized sample is not what normalizing its plan gives now.

    `python tests/samples/build_samples.py` writes them.
    """
    name = sample.name
    rules = ("--rules", f"{name}.rules.yaml")
    done = run("normalize", f"{name}.yaml", *rules, "-o", f"{name}.normalized.yaml", "--check", "--strict")
    assert (done.returncode, done.stderr) == (0, "")


def test_codegen_meta_needs_no_rules_file() -> None:
    """A failure means that per-layer injections do not do what the one rule of the rules file does."""
    done = run("normalize", "deepseek_v3.codegen_meta.json", "--format", "json")
    assert done.returncode == 0, done.stderr
    after, expected = json.loads(done.stdout), read("deepseek_v3.normalized.yaml")
    assert after["param_plan"] == expected["param_plan"]
    assert after["boundary_classes"] == expected["boundary_classes"]


@pytest.mark.parametrize("name", EXPECTED)
def test_normalized_samples_stay_as_they_are(name: str) -> None:
    """A failure means that normalizing a committed result once more changes it."""
    done = run("normalize", f"{name}.normalized.yaml", "--rules", f"{name}.rules.yaml", "--check")
    assert (done.returncode, done.stderr) == (0, "")
