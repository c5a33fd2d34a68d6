"""One case: documents that belong together, and command lines that take them."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import fuzz_seeds
from fuzz_mutations import mutated, nasty, text
from fuzz_spelling import damaged, spelled
from fuzz_values import MESHES

from hpplan.reports.findings.formats import FORMATS
from hpplan.workload.families import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = [
    *("0", "1", "2", "3", "7", "-1", "1.5", "1e300", "1.7e308", "1e400", "nan", "inf", "1e-320", "1e-5"),
    *("1000000", str(2**53 - 1)),
    *("9" * 25, "9" * 5000, "x", ""),
]
_SETTINGS = [
    *("patch_size", "merge_size", "max_tiles", "min_tiles", "tile_rows", "view_pixels", "pinpoints"),
    *("max_patches", "max_side", "max_pixels", "min_pixels", "temporal_patch", "rows", "thumbnail"),
]
_OPTIONS: dict[str, list[list[str]]] = {
    "validate": [
        *([f"--output-format={name}"] for name in FORMATS),
        *(["--statistics"], ["--select=HP2,HP1"], ["--ignore=HP3"], ["--model-type=m"], ["--fail-on=info"]),
    ],
    "normalize": [
        *(["--format=json"], ["--format=yaml"], ["--bare"], ["--strict"], ["--passes=ep-strip"]),
        *(["--check"], ["--diff"], ["--changes"], ["--print-after=all"], ["--model-type=deepseek_v3"]),
        *(["--changes", "--format=json"], ["-o", "d", "--check"], ["-o", "d2", "--diff"]),
    ],
    "explain": [["--model-type=m"], ["a"], ["l.0.mlp"], ["\x1b[31m"], ["--mesh=tp=2"]],
    "diff": [["--format=json"], ["--exit-code"]],
    "route": [
        *([f"--format={name}"] for name in ("table", "json", "yaml", "csv", "html", "svg")),
        *(["--rank=0"], ["--rank=all", "--format=json"], ["--compare"], ["--granularity=row"], ["--pad"]),
        *(["--assign=local"], ["--assign=round-robin", "--cost=rows^2"], ["--cp-layout=zigzag"]),
        *(["--micro-batch=0"], ["--load-factor=2", "--assign=local"]),
        *(["--export=nccl-matrix"], ["--export=param", "--rank=0"], ["--ranks-per-node=2"]),
        *(["--bandwidth=50"], ["--compare", "--bandwidth=9", "--ranks-per-node=4", "--node-bandwidth=90"]),
    ],
    "workload": [
        *(["--micro-batch=1"], ["--pack=64"], ["--seq-length=4096"], ["--format=json"], ["--image-id=5"]),
        *(["--video-id=6"], ["--encoder-ranks=2"], ["--cp-layout=zigzag"]),
        ["--mesh=dp=2,cp=2", "--replicas", "--micro-batch=1"],
    ],
    "exec": [["--granularity=row"], ["--dtype=float32"], ["--iters=3"], ["--timeout=5"], ["--no-backward"]],
    "compile": [["--bare"], ["--pad"], ["--granularity=row"], ["--strict"]],
}
"""Options of each command that any document may meet; a few more have numbers."""

_NUMBERED: dict[str, list[list[str]]] = {
    "route": [
        *(
            ["--rank"],
            ["--bandwidth"],
            ["--ranks-per-node"],
            ["--micro-batch"],
            ["--load-factor", "--assign=local"],
        ),
        *(["--latency", "--bandwidth=1"], ["--ranks-per-node", "--compare", "--bandwidth=1"]),
        ["--node-bandwidth", "--compare", "--bandwidth=1", "--ranks-per-node=2"],
    ],
    "workload": [
        *(["--pack"], ["--seq-length"], ["--micro-batch"], ["--encoder-ranks"], ["--image-id"]),
        ["--encoder-cp-size", "--encoder-ranks=4"],
    ],
}
"""Options that take a number, with others that they need."""


class Case(NamedTuple):
    """Files by name, and the arguments of `hpplan` for each run of it."""

    files: dict[str, bytes]
    runs: list[list[str]]


def case(seed: int, number: int) -> Case:
    """Return case `number` of a seed; the same whatever was made before it."""
    random = Random(f"{seed} {number}")  # noqa: S311 - no secret
    return random.choices(list(_MAKERS), list(_MAKERS.values()))[0](random)


def _document(random: Random, data: Any) -> bytes:  # noqa: ANN401 - any document
    gently = random.random() < 0.6
    for _ in range(random.choice([0, 1, 1, 2, 2, 3] if gently else [1, 1, 2, 4])):
        data = mutated(random, data, gently=gently)
    return spelled(random, data)


def _run(random: Random, command: str, *arguments: str) -> list[str]:
    run = [command, *arguments]
    for chosen in random.sample(_OPTIONS[command], k=random.choice([0, 1, 1, 2])):
        known = {part.partition("=")[0] for part in run}
        run += [] if known & {part.partition("=")[0] for part in chosen} else chosen
    if command in _NUMBERED and random.random() < 0.15:
        option, *others = random.choice(_NUMBERED[command])
        run = [command, *arguments, f"{option}={random.choice(_NUMBERS)}", *others]
    return run


def _pair(random: Random, kind: str, other: str = "p", other_kind: str = "plan") -> dict[str, bytes]:
    """Return a document of a kind, and one that goes with it."""
    makers: Any = fuzz_seeds
    return {
        "d": _document(random, getattr(makers, kind)(random)),
        other: _document(random, getattr(makers, other_kind)(random)),
    }


def _mesh(random: Random) -> list[str]:
    return ["--mesh", random.choice(MESHES[:9] if random.random() < 0.8 else MESHES)]


def _plan(random: Random) -> Case:
    files = _pair(random, "plan", "d2")
    beside: list[str] = []
    if random.random() < 0.3:
        files["r"] = _document(random, fuzz_seeds.rules(random))
        beside = ["--rules", "r"]
    if random.random() < 0.2:
        files["s"] = _document(random, fuzz_seeds.strategies(random))
        beside += ["--strategies", "s"]
    choices = [
        _run(random, "validate", "d", *beside, *(_mesh(random) if random.random() < 0.3 else [])),
        random.choice([_run(random, "normalize", "d", *beside), ["normalize", "d", "-w", *beside]]),
        _run(random, "explain", "d", *beside),
        _run(random, "diff", "d", "d2"),
        _run(random, "diff", "d", "d"),
        _run(random, "route", "d", *(_mesh(random) if random.random() < 0.5 else [])),
        _run(random, "compile", "d", "-o", "out", *beside),
    ]
    return Case(files, [choices[0], random.choice(choices[1:3]), random.choice(choices[1:])])


def _workload(random: Random) -> Case:
    files = _pair(random, "workload")
    choices = [
        _run(random, "route", "d", *_mesh(random)),
        _run(random, "compile", "p", "-o", "out", "--workload", "d", *_mesh(random)),
        _run(random, "route", "p", "--workload", "d"),
        _run(random, "exec", "d", *_mesh(random)),
    ]
    return Case(files, [_run(random, "validate", "d", *_mesh(random)), choices[0], random.choice(choices)])


def _routes(random: Random) -> Case:
    files = _pair(random, "routes", "d2", "routes")
    runs = [_run(random, command, "d") for command in ("route", "exec")]
    runs += [_run(random, command, "d", "d2") for command in ("diff", "validate")]
    return Case(files, [_run(random, "validate", "d"), random.choice(runs)])


def _rules(random: Random) -> Case:
    return Case(
        _pair(random, "rules"),
        [_run(random, "validate", "d"), _run(random, "normalize", "p", "--rules", "d")],
    )


def _strategies(random: Random) -> Case:
    return Case(
        _pair(random, "strategies"),
        [_run(random, "validate", "d"), _run(random, "normalize", "p", "--strategies", "d")],
    )


def _batch(random: Random) -> Case:
    records: Any = json.loads(json.dumps(random.choice(fuzz_seeds.records())))
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        records = mutated(random, records)
    lines = [json.dumps(record, ensure_ascii=random.random() < 0.5) for record in records]
    content = "\n".join(lines) if random.random() < 0.7 else f"[{', '.join(lines)}]"
    if random.random() < 0.2:
        content = damaged(random, content)
    family = random.choice(FAMILIES).name
    run = _run(random, "workload", "d", "--model", family)
    if random.random() < 0.2:
        run.append(f"--set={random.choice(_SETTINGS)}={random.choice(_NUMBERS)}")
    return Case({"d": content.encode("utf-8", "replace")}, [run])


def _any(random: Random) -> Case:
    kind = random.random()
    if kind < 0.4:
        raw = random.choice(fuzz_seeds.broken())
        if random.random() < 0.7:
            raw = damaged(random, raw.decode("utf-8", "replace")).encode("utf-8", "replace")
    elif kind < 0.8:
        raw = _document(random, {random.choice(["param_plan", "items", text(random)]): nasty(random)})
    else:
        raw = random.randbytes(random.randint(0, 60))
    commands = ["validate", "normalize", "explain", "route", "validate"]
    return Case({"d": raw}, [[random.choice(commands), random.choice(["d", "d", "d", "-"])]])


def _toml(random: Random) -> Case:
    content = fuzz_seeds.CONFIGURATION
    for _ in range(random.choice([0, 1, 1, 2])):
        content = damaged(random, content)
    files = {
        "c": content.encode("utf-8", "replace"),
        "d": _document(random, fuzz_seeds.plan(random)),
        "r": _document(random, fuzz_seeds.rules(random)),
        "s": _document(random, fuzz_seeds.strategies(random)),
    }
    run = random.choice([["validate"], ["validate", "d"], ["normalize", "--check"], ["explain", "d"]])
    return Case(files, [["--config", "c", *run]])


_MAKERS: dict[Callable[[Random], Case], int] = {
    _plan: 5,
    _workload: 3,
    _routes: 2,
    _batch: 2,
    _rules: 1,
    _strategies: 1,
    _any: 1,
    _toml: 2,
}
"""How often each is chosen."""
