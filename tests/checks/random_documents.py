"""Plans, rules and strategies in which much may be wrong, apart from their shape.

Names are few, so that documents speak of each other: every check of a plan has
something to find in some of them.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from handmade_models import handmade_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

DEEPSEEK = "hyper_parallel.distributed.expert_parallel.recipes.deepseekv3_ep_compute_fn"
QWEN = "hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn"
TARGETS = [DEEPSEEK, DEEPSEEK, QWEN, "t.a", "t.a", "t.b", "hyper_parallel.models.x.adapter.w", "no.such"]
FQNS = [
    "l.0",
    "l.0.attn",
    "l.0.mlp",
    "l.0.mlp.experts.0",
    "l.0.mlp.shared_experts",
    "l.1.mlp",
    "l.1.mlp.shared_experts",
    "norm",
]
NAMES = ["l.0.attn", "l.0.mlp.weight", "l.1.mlp.weight", "l.2.mlp", "norm.weight", "q.weight", "zzz.weight"]
CLASSES = ["DeepseekV3MoE", "DeepseekV3MoE", "DeepseekV3MLP", "Qwen3MoeSparseMoeBlock", "A"]
PATTERNS = [
    "*",
    "*.attn",
    "*.mlp",
    "*experts*",
    "*mlp",
    "l.*",
    "l.0.mlp",
    "l.?.mlp",
    "l.[01].mlp",
    "norm",
    "zzz",
]
PLACEMENTS = ["R", "R", "S(0)", "S(-1)", "S(1)", "SS(0,2)", "P(sum)", "P(avg)"]
ENTRIES: list[dict[str, Any]] = [
    {"is_boundary": True},
    {"in_src": {"x": {"tp": "R"}}, "in_dst": {"x": {"tp": "R"}}},
    {"out_src": {"y": {"tp": "P(sum)"}}, "out_dst": {"y": {"tp": "R"}}, "is_boundary": False},
    {"in_src": {"x": {"tp": "S(1)"}}, "in_dst": {"x": {"tp": "R"}}},
]
"""What several modules have alike; entries without anything in common would have no contracts to compare."""

JUNK: list[Any] = [
    *(None, True, False, 0, -1, 3, "", "x", "*.mlp", "R", "S(1)", "["),
    *([], [1], ["x"], ["*.mlp"], {}, {"x": 1}, {"x": "y"}, {"x": {"tp": "R"}}),
]
"""What a fault may put anywhere."""

MODEL = handmade_model(
    {
        "l.0": "A",
        "l.0.attn": {"class": "A", "weight": [4, 4], "parts": {"weight": [0, 2, "heads"]}},
        "l.0.mlp": {"class": "DeepseekV3MLP", "weight": [6, 6], "bias": [6]},
        "l.0.mlp.shared_experts": {"class": "DeepseekV3MLP", "weight": [3, 3], "bias": [3]},
        "l.1.mlp": {"class": "DeepseekV3MoE", "weight": [4, 4], "buffers": ["bias"]},
        "norm": {"class": "A", "weight": [4], "bias": [4]},
        "q": {"class": "A", "weight": [4, 4]},
        "tp": {"l.*.mlp": "colwise", "l.*.attn": "rowwise"},
    }
)
"""What the plans are held against; some of their names are not in it, and some of its in none of them."""

MESHES = (None, None, None, "tp=2", "cp=2,tp=2,sp")


def random_documents(random: Random) -> dict[str, dict[str, Any]]:
    """Return a `plan`, and perhaps `rules` and `strategies`."""
    return _Maker(random).documents()


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random

    def documents(self) -> dict[str, dict[str, Any]]:
        documents = {"plan": self._plan()}
        if self._chance(0.5):
            documents["rules"] = self._rules()
        if self._chance(0.4):
            documents["strategies"] = {"strategies": self._list(self._strategy, 3)}
        return documents

    def _plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = {
            "param_plan": {fqn: self._entry() for fqn in self._some(FQNS, 6, 1)},
            "boundary_classes": {fqn: self._one(CLASSES) for fqn in self._some(FQNS, 6)},
        }
        sizes = ["tp_size", "ep_size", "dp_size", "cp_size", "pp_size"]
        optional: dict[str, tuple[float, Callable[[], object]]] = {
            "mesh_dim_names": (0.6, lambda: self._some(["tp", "cp", "dp", "xx"], 3)),
            "parallel_dims": (0.6, lambda: {name: self._size() for name in self._some(sizes, 4)}),
            "external_state_classes": (0.4, lambda: self._some(CLASSES, 2)),
            "injections": (0.5, lambda: self._list(self._rule, 2)),
            "module_overrides": (0.3, lambda: self._list(self._rule, 2)),
            "special_handlers": (0.2, lambda: {self._one(NAMES): self._one(NAMES)}),
            "tied_pairs": (0.3, lambda: self._list(self._pair, 2)),
            "frozen_sharded_params": (0.4, lambda: self._some(NAMES, 4)),
            "not_covered": (0.2, lambda: ["q"]),
            "remote_siblings": (0.2, lambda: ["zzz"]),
            "model_type": (0.3, lambda: self._one("mn")),
            "source": (0.2, lambda: {"model_type": self._one("mn")}),
            "normalization": (0.3, self._normalization),
            "model_name": (0.1, lambda: "x"),
        }
        return plan | self._optional(optional)

    def _entry(self) -> dict[str, Any]:
        if self._chance(0.4):
            entry = deepcopy(self._one(ENTRIES))
        else:
            fields = ("in_src", "in_dst", "out_src", "out_dst")
            entry = {field: self._layouts(["x", "y"]) for field in fields if self._chance(0.4)}
        return entry | self._optional(
            {
                "params": (0.4, lambda: self._layouts(["weight", "bias"])),
                "out_names": (0.1, lambda: self._list(lambda: self._one("xyz"), 2)),
                "deferred_bias_params": (0.15, lambda: ["bias"]),
                "is_boundary": (0.4, lambda: self._chance(0.6)),
                "region_dispatch": (0.1, lambda: self._chance(0.5)),
                "skip_source_lowering": (0.15, lambda: self._chance(0.6)),
            }
        )

    def _layouts(self, names: list[str]) -> dict[str, dict[str, str]]:
        return {name: self._layout() for name in self._some(names, 2)}

    def _layout(self) -> dict[str, str]:
        axes = self._some(["tp", "cp", "ep", "dp", "tpp"], 2) if self._chance(0.3) else ["tp"]
        return {axis: self._one(PLACEMENTS) for axis in axes}

    def _pair(self) -> object:
        names = [self._one(NAMES), self._one(NAMES)]
        return names if self._chance(0.7) else dict(zip("ab", names, strict=True))

    def _normalization(self) -> dict[str, Any]:
        return self._optional(
            {
                "passes": (0.5, lambda: self._list(lambda: self._one(["ep-strip", "odd"]), 2)),
                "stripped": (0.9, lambda: {fqn: self._stripped() for fqn in self._some(FQNS, 3)}),
            }
        )

    def _stripped(self) -> dict[str, Any]:
        required = {
            "pass": self._one(["ep-strip", "external-state-strip", "odd", ""]),
            "pattern": self._one(["*.mlp", ""]),
        }
        return required | self._optional(
            {
                "class": (0.7, lambda: self._one(CLASSES)),
                "rule": (0.3, lambda: self._one(TARGETS)),
                "below": (0.3, lambda: self._one(FQNS)),
            }
        )

    def _rules(self) -> dict[str, Any]:
        field = "rules" if self._chance(0.8) else "plan_overrides"
        return {field: self._list(self._rule, 3)} | self._optional(
            {
                "strategies": (0.5, lambda: self._list(self._strategy, 2)),
                "model_type": (0.3, lambda: self._one("mn")),
            }
        )

    def _rule(self) -> dict[str, Any]:
        rule = self._optional(
            {
                "match": (0.85, self._patterns),
                "fqns": (0.1, lambda: self._some(FQNS, 2)),
                "when": (0.25, lambda: self._one(["ep", "cp"])),
                "local_compute_fn": (0.7, self._target),
                "local_compute_target": (0.15, self._target),
                "inner_wrapper": (0.2, self._target),
                "inner_wrapper_target": (0.05, self._target),
                "replace_module": (0.15, self._target),
                "factory": (0.1, self._target),
            }
        )
        return rule if rule.keys() & {"match", "fqns"} else {"fqn": self._one(FQNS), **rule}

    def _patterns(self) -> object:
        return self._one(PATTERNS) if self._chance(0.6) else self._list(lambda: self._one(PATTERNS), 3)

    def _target(self) -> object:
        target = self._one(TARGETS)
        return {"_target_": target} if self._chance(0.2) else target

    def _strategy(self) -> dict[str, Any]:
        required = {
            "target": self._one(["t.a", "t.b", *TARGETS]),
            "kind": self._one(["moe_ep_routed", "cp_attention", "odd"]),
        }
        return required | self._optional(
            {
                "target_class": (0.7, lambda: self._one(CLASSES)),
                "strip_boundary_subpatterns": (
                    0.6,
                    lambda: self._some(["shared_experts", "experts.*", "*", "zzz"], 2),
                ),
                "model_types": (0.3, lambda: self._some(["m", "n"], 1)),
            }
        )

    def _optional(self, fields: dict[str, tuple[float, Callable[[], object]]]) -> dict[str, Any]:
        return {name: make() for name, (chance, make) in fields.items() if self._chance(chance)}

    def _chance(self, chance: float) -> bool:
        return self._random.random() < chance

    def _size(self) -> int:
        return 2**23 if self._chance(0.02) else self._random.randint(1, 4)

    def _one(self, values: Any) -> Any:  # noqa: ANN401 - of a list of anything
        return self._random.choice(values)

    def _some(self, values: list[str], most: int, least: int = 0) -> list[str]:
        return self._random.sample(values, k=self._random.randint(least, most))

    def _list(self, make: Callable[[], object], most: int) -> list[Any]:
        return [make() for _ in range(self._random.randint(0, most))]
