"""Documents to start from: trimmed samples, broken samples, and what the generators of other tests make."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpplan.documents.reader import parse_document
from hpplan.routing.mesh import parse_mesh
from hpplan.routing.routes import plan_routes
from hpplan.routing.routes_writer import routes_to_data
from hpplan.workload.workload import load_workload

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "checks"))

from random_documents import random_documents  # noqa: E402 - of another folder of tests
from random_workloads import random_workload  # noqa: E402 - the same

if TYPE_CHECKING:
    from random import Random

SAMPLES = ROOT / "sample_plans"

_ENTRIES = 8
_TOKENS = 60

CONFIGURATION = """\
rules = "r"
model_type = "m"
mesh = "tp=2"

[[plans]]
files = ["d", "*.yaml"]
strategies = "s"
ignore = ["HP2"]
"""


@cache
def sound(kind: str) -> list[Any]:
    """Return the data of the samples of a kind."""
    paths = {
        "plan": [*SAMPLES.glob("*.yaml"), *SAMPLES.glob("*.json")],
        "rules": SAMPLES.glob("*.rules.yaml"),
        "workload": (SAMPLES / "workloads").glob("*.yaml"),
    }[kind]
    found = [parse_document(path.read_bytes(), path.name).data for path in sorted(paths)]
    if kind == "plan":
        return [_trimmed(data) for data in found if "param_plan" in data]
    return found


@cache
def broken() -> list[bytes]:
    """Return the bytes of every broken sample."""
    return [path.read_bytes() for path in sorted((SAMPLES / "broken").iterdir()) if path.is_file()]


@cache
def records() -> list[list[dict[str, Any]]]:
    """Return the samples of each batch file, with few tokens."""
    found = []
    for path in sorted((SAMPLES / "batches").iterdir()):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:4]]
        for line in lines:
            if len(line.get("input_ids", ())) > _TOKENS:
                line["input_ids"] = [1, 151652, *[151655] * 4, 151653]
                line.update({name: [[1, 4, 4]] for name in line if name.endswith("_thw")})
        found.append(lines)
    extra: list[dict[str, Any]] = [
        {"text_tokens": [3, 4], "videos": [{"width": 64, "height": 96, "frames": 4, "fps": 2.0}]},
        {"input_ids": [[1, 5, 5, 1, 6, 6]], "image_rows": [2], "video_rows": [[1, 1]]},
        {"text_tokens": 9, "images": [{"width": 640, "height": 480}], "num_patches": [3], "num_frames": [2]},
        {"text_tokens": 9, "image_sizes": [[480, 640]], "image_grid_hws": [[4, 6]]},
    ]
    return [*found, extra]


def plan(random: Random) -> dict[str, Any]:
    """Return a plan that others may change."""
    if random.random() < 0.5:
        return json.loads(json.dumps(random.choice(sound("plan"))))  # type: ignore[no-any-return]
    return random_documents(random)["plan"]


def rules(random: Random) -> dict[str, Any]:
    """Return rules, with or without strategies."""
    if random.random() < 0.5:
        return json.loads(json.dumps(random.choice(sound("rules"))))  # type: ignore[no-any-return]
    return random_documents(random).get("rules", {"rules": []})


def strategies(random: Random) -> dict[str, Any]:
    """Return strategies."""
    return random_documents(random).get("strategies", {"strategies": [{"target": "t.a", "kind": "odd"}]})


def workload(random: Random) -> dict[str, Any]:
    """Return a workload, or one of many micro-batches."""
    kind = random.random()
    if kind < 0.2:
        return json.loads(json.dumps(random.choice(sound("workload"))))  # type: ignore[no-any-return]
    if kind < 0.6:
        return _fitting(random)
    made = random_workload(random)
    return {"micro_batches": [made, random_workload(random)]} if random.random() < 0.1 else made


def routes(random: Random) -> dict[str, Any]:
    """Return a routing table."""
    data = _fitting(random)
    if random.random() < 0.3 and "destinations" not in data:
        items = data.pop("items")
        data["replicas"] = [{"items": items}, {"items": []}]
    mesh = parse_mesh(random.choice(["dp=2,cp=2,tp=2,sp", "dp=2,tp=2,sp", "dp=2,cp=2", "dp=2,tp=2"]))
    granularity: Any = random.choice(["record", "row"])
    return json.loads(json.dumps(routes_to_data(plan_routes(mesh, load_workload(data), granularity))))  # type: ignore[no-any-return]


def _fitting(random: Random) -> dict[str, Any]:
    """Return a workload that fits any small mesh."""
    data: dict[str, Any] = {
        "feature_width": random.choice([1, 64, 2048]),
        "payloads": random.choice([1, 4]),
        "sequence": {"length": 32, "cp_layout": random.choice(["zigzag", "contiguous"])},
        "items": [
            {"item_id": number, "batch_index": 0, "decoder_token_start": 8 * number, "output_rows": 5}
            for number in range(random.randint(0, 4))
        ],
    }
    if random.random() < 0.3:
        data["sequence"]["documents"] = [16, 16]
    if random.random() < 0.3:
        data["items"].append(
            {
                "item_id": 9,
                "batch_index": 1,
                "output_rows": 6,
                "spans": [{"token_start": 1, "rows": 2}, {"token_start": 9, "rows": 4}],
            }
        )
    if random.random() < 0.2:
        data["destinations"] = {str(item["item_id"]): [0, 1] for item in data["items"][:2]}
    return data


def _trimmed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with a few of its entries, classes and rules, those of few layers first."""
    names = sorted(data["param_plan"], key=lambda name: (name.count("."), name))
    kept = {*names[:_ENTRIES:2], *names[-_ENTRIES // 2 :]}
    small = {**data, "param_plan": {name: data["param_plan"][name] for name in names if name in kept}}
    small["boundary_classes"] = {
        name: value for name, value in data["boundary_classes"].items() if name in kept
    }
    for field in ("injections", "module_overrides", "frozen_sharded_params", "tied_pairs", "not_covered"):
        if isinstance(data.get(field), list):
            small[field] = data[field][:3]
    if "normalization" in data:
        stripped = data["normalization"].get("stripped", {})
        small["normalization"] = {**data["normalization"], "stripped": dict([*stripped.items()][:3])}
    return small
