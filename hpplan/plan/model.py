"""The frozen plan: its fields, their canonical order, and typed access to its data.

A plan stays the JSON-safe data it was read as, so nothing is lost on the way
through. `load_plan` checks that data once; everything after may rely on it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import SchemaValidator, core_schema

from hpplan.errors import InvalidInput
from hpplan.plan.placement import PLACEMENT_PATTERN
from hpplan.plan.shape import (
    FLAG,
    MAPPING,
    NAME,
    NAMES,
    RECORDS,
    TEXT,
    TEXTS,
    check_shape,
    count,
    described,
    one_of,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hpplan.diagnostics import Diagnostic, Place
    from hpplan.documents.reader import Document
    from hpplan.documents.writer import KeyOrder

Entry = dict[str, Any]
"""One value of `param_plan`, with the fields of `ENTRY_FIELDS`."""

_LAYOUT = described(
    core_schema.dict_schema(
        NAME, core_schema.str_schema(strict=True, pattern=PLACEMENT_PATTERN), strict=True
    ),
    "Axis to placement: R, P(op), S(d) or SS(d,f). A missing axis means R.",
)
_LAYOUTS = core_schema.dict_schema(NAME, _LAYOUT, strict=True)
_TEXT_OR_NULL = core_schema.nullable_schema(TEXT)

_ENTRY = {
    "params": described(_LAYOUTS, "Own parameters of the module: name to placements."),
    "in_src": described(_LAYOUTS, "Placements in which inputs arrive."),
    "in_dst": described(_LAYOUTS, "Placements that forward wants its inputs in."),
    "out_src": described(_LAYOUTS, "Placements in which forward leaves its outputs."),
    "out_dst": described(_LAYOUTS, "Placements in which outputs are handed on."),
    "out_names": described(NAMES, "Names of the outputs, in order."),
    "tp_divide_attrs": described(NAMES, "Attributes that are divided by the tp size."),
    "is_boundary": described(FLAG, "Whether forward is wrapped to redistribute its inputs and outputs."),
    "region_dispatch": described(FLAG, "Whether forward is a region of local compute."),
    "deferred_bias_params": described(NAMES, "Biases that are added after the reduction."),
    "skip_source_lowering": described(FLAG, "Wrap this instance alone and leave its class as it is."),
}
ENTRY_FIELDS = tuple(_ENTRY)
"""The fields of an entry, in canonical order."""

BOUNDARY_FIELDS = ("in_src", "in_dst", "out_src", "out_dst", "out_names")
"""Fields that make an entry a boundary when it does not say `is_boundary`."""

_SIZES = ("dp_size", "cp_size", "tp_size", "ep_size", "pp_size")

PARALLEL_DIMS = {**dict.fromkeys(_SIZES, 1), "sequence_parallel": False}
"""The fields of `parallel_dims`, with what they mean where they are not there."""

_STRIPPED = record(
    dict.fromkeys(("class", "pass", "rule", "pattern", "below"), NAME),
    required=("pass", "pattern"),
)
_NORMALIZATION = record(
    {
        "hpplan_version": TEXT,
        "input_sha256": TEXT,
        "passes": NAMES,
        "stripped": core_schema.dict_schema(NAME, _STRIPPED, strict=True),
    }
)

_TOP_LEVEL = {
    "model_type": described(
        core_schema.nullable_schema(NAME), "Model family; strategies may be limited to some."
    ),
    "mesh_dim_names": described(NAMES, "The active axes, in mesh order."),
    "parallel_dims": described(
        record({**dict.fromkeys(_SIZES, count(1)), "sequence_parallel": FLAG}), "Sizes of the axes."
    ),
    "external_state_classes": described(NAMES, "Classes whose forward carries its own orchestration."),
    "boundary_classes": described(
        core_schema.dict_schema(NAME, NAME, strict=True), "FQN to the class that owns its forward."
    ),
    "param_plan": described(
        core_schema.dict_schema(NAME, record(_ENTRY, title="Entry"), strict=True), "FQN to entry."
    ),
    "injections": described(RECORDS, "One record per FQN; inline rules by default."),
    "codegen_version": _TEXT_OR_NULL,
    "signature": _TEXT_OR_NULL,
    "yaml_path": _TEXT_OR_NULL,
    "yaml_sha256": _TEXT_OR_NULL,
    "source": MAPPING,
    "outputs": described(MAPPING, "Output files and their recorded sha256."),
    "special_handlers": MAPPING,
    "entrypoints": core_schema.dict_schema(TEXT, TEXT, strict=True),
    "covered": record({"sharding_plan": FLAG}),
    "model_name": one_of(TEXTS, TEXT, belongs="a list of strings"),
    "model_class": one_of(TEXTS, TEXT, belongs="a list of strings"),
    "frozen_sharded_params": NAMES,
    "tied_pairs": core_schema.list_schema(
        one_of(TEXT, TEXTS, MAPPING, belongs="a pair of names"), strict=True
    ),
    "module_overrides": RECORDS,
    "skipped_overrides": core_schema.list_schema(
        one_of(TEXT, MAPPING, belongs="a name or a record"), strict=True
    ),
    "not_covered": NAMES,
    "remote_siblings": NAMES,
    "feature_exchange": described(MAPPING, "The workload of the plan's feature exchange."),
    "normalization": described(_NORMALIZATION, "What `hpplan normalize` did; it reads this back."),
}
TOP_LEVEL_FIELDS = tuple(_TOP_LEVEL)
"""The top-level fields of a plan, in canonical order."""

LEFT_OUT = ("not_covered", "remote_siblings")
"""Fields with modules that a plan says nothing about; rules and references may name them all the same."""

KEY_ORDER: KeyOrder = {(): TOP_LEVEL_FIELDS, ("param_plan", "*"): ENTRY_FIELDS}
"""Where the writer follows the order of fields instead of the natural order of keys."""

PLAN_SCHEMA = record(_TOP_LEVEL, required=("boundary_classes", "param_plan"), title="Frozen plan")


class Plan(NamedTuple):
    """A frozen plan whose data has the shape of `PLAN_SCHEMA`.

    Treat `data` as read-only: plans that differ in a few entries share the rest.
    """

    data: Mapping[str, Any]
    place: Place

    @property
    def param_plan(self) -> dict[str, Entry]:
        """FQN to entry."""
        found: dict[str, Entry] = self.data["param_plan"]
        return found

    @property
    def boundary_classes(self) -> dict[str, str]:
        """FQN to the class that owns its forward."""
        found: dict[str, str] = self.data["boundary_classes"]
        return found

    @property
    def external_state_classes(self) -> list[str]:
        """Classes whose forward carries its own orchestration."""
        found: list[str] = self.data.get("external_state_classes", [])
        return found

    @property
    def stripped(self) -> dict[str, dict[str, str]]:
        """What earlier normalization stripped: FQN to class, pass, rule and pattern."""
        found: dict[str, dict[str, str]] = self.data.get("normalization", {}).get("stripped", {})
        return found

    @property
    def remembered_classes(self) -> dict[str, str]:
        """FQN to class, with the classes that earlier normalization took away."""
        gone = {fqn: entry["class"] for fqn, entry in self.stripped.items() if "class" in entry}
        return {**gone, **self.boundary_classes}

    @property
    def model_type(self) -> str | None:
        """The plan's model type, else that of its source."""
        found = self.data.get("model_type") or self.data.get("source", {}).get("model_type")
        return found if isinstance(found, str) else None

    def size(self, axis: str) -> int:
        """Return the size of an axis (`ep`, `cp`, …) in `parallel_dims`; 1 where it is absent."""
        found: int = self.data.get("parallel_dims", {}).get(f"{axis}_size", 1)
        return found

    def replace(self, **fields: object) -> Plan:
        """Return a plan with some top-level fields replaced."""
        return Plan({**self.data, **fields}, self.place)


def is_boundary(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a boundary: as it says, else by its non-empty in and out fields."""
    said = entry.get("is_boundary")
    if said is not None:
        return bool(said)
    return any(entry.get(field) for field in BOUNDARY_FIELDS)


def check_plan(data: object, place: Place) -> Iterator[Diagnostic]:
    """Yield everything in which `data` is not a frozen plan (HP1xx)."""
    return check_shape(_validator(), data, place)


def load_plan(document: Document) -> Plan:
    """Return the frozen plan in a document; raise InvalidInput with all that is wrong with its schema."""
    problems = list(check_plan(document.data, document.place))
    if problems:
        raise InvalidInput(problems)
    return Plan(document.data, document.place)


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(PLAN_SCHEMA)
