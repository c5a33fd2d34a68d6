"""The frozen plan: its fields, their canonical order, and typed access to its data.

A plan stays the JSON-safe data it was read as, so nothing is lost on the way
through. `load_plan` checks that data once; everything after may rely on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hpplan.diagnostics import Place
from hpplan.errors import InvalidInput
from hpplan.plan.names import NAME, NAMES, SHAPE_CODES
from hpplan.plan.placement import PLACEMENT
from hpplan.shapes.findings import Checker
from hpplan.shapes.shape import (
    FLAG,
    MAPPING,
    RECORDS,
    TEXT,
    TEXTS,
    Field,
    Shape,
    count,
    described,
    key_order,
    list_of,
    mapping_of,
    one_of,
    or_null,
    values,
)

if TYPE_CHECKING:
    from hpplan.documents.reader import Document

Entry = dict[str, Any]
"""One value of `param_plan`, with the fields of `ENTRY_FIELDS`."""

_LAYOUT = described(
    mapping_of(PLACEMENT, NAME), "Axis to placement: R, P(op), S(d) or SS(d,f). A missing axis means R."
)
_LAYOUTS = mapping_of(_LAYOUT, NAME)
_TEXT_OR_NULL = or_null(TEXT)

ENTRY = Shape(
    "Entry",
    Field("params", _LAYOUTS, "Own parameters of the module: name to placements."),
    Field("in_src", _LAYOUTS, "Placements in which inputs arrive."),
    Field("in_dst", _LAYOUTS, "Placements that forward wants its inputs in."),
    Field("out_src", _LAYOUTS, "Placements in which forward leaves its outputs."),
    Field("out_dst", _LAYOUTS, "Placements in which outputs are handed on."),
    Field("out_names", NAMES, "Names of the outputs, in order."),
    Field("tp_divide_attrs", NAMES, "Attributes that are divided by the tp size."),
    Field("is_boundary", FLAG, "Whether forward is wrapped to redistribute its inputs and outputs."),
    Field("region_dispatch", FLAG, "Whether forward is a region of local compute."),
    Field("deferred_bias_params", NAMES, "Biases that are added after the reduction."),
    Field("skip_source_lowering", FLAG, "Wrap this instance alone and leave its class as it is."),
)
ENTRY_FIELDS = ENTRY.names
"""The fields of an entry, in canonical order."""

BOUNDARY_FIELDS = ("in_src", "in_dst", "out_src", "out_dst", "out_names")
"""Fields that make an entry a boundary when it does not say `is_boundary`."""

DIMS = Shape(
    None,
    Field("dp_size", count(1), "Data-parallel replicas.", default=1),
    Field("cp_size", count(1), "Ranks that share a sequence by context parallelism.", default=1),
    Field("tp_size", count(1), "Ranks that share tensors.", default=1),
    Field("ep_size", count(1), "Ranks that share experts: a reshape of the same ranks.", default=1),
    Field("pp_size", count(1), "Pipeline stages.", default=1),
    Field("sequence_parallel", FLAG, "Whether TP ranks split the sequence.", default=False),
    natural=True,
)
PARALLEL_DIMS = values(DIMS.fields, {})
"""The fields of `parallel_dims`, with what they mean where they are not there."""

_STRIPPED = Shape(
    None,
    Field("class", NAME, "The class that owned its forward."),
    Field("pass", NAME, "The pass that stripped it.", required=True),
    Field("rule", NAME, "Where the rule stands that the pass went by."),
    Field("pattern", NAME, "What of it the FQN matched.", required=True),
    Field("below", NAME, "The module whose forward took it over."),
    natural=True,
)
_NORMALIZATION = Shape(
    None,
    Field("hpplan_version", TEXT, "The hpplan that normalized the plan."),
    Field("input_sha256", TEXT, "Of the content of the plan that was normalized."),
    Field("passes", NAMES, "The passes that ran, in order."),
    Field("stripped", mapping_of(_STRIPPED, NAME), "FQN to what it was stripped of, and why."),
    natural=True,
)
_COVERED = Shape(None, Field("sharding_plan", FLAG, "Whether there is a sharding plan."), natural=True)

PLAN = Shape(
    "Frozen plan",
    Field("model_type", or_null(NAME), "Model family; strategies may be limited to some."),
    Field("mesh_dim_names", NAMES, "The active axes, in mesh order."),
    Field("parallel_dims", DIMS.schema, "Sizes of the axes."),
    Field(
        "external_state_classes",
        NAMES,
        "Classes whose forward carries its own orchestration.",
        unordered=True,
    ),
    Field(
        "boundary_classes", mapping_of(NAME, NAME), "FQN to the class that owns its forward.", required=True
    ),
    Field("param_plan", mapping_of(ENTRY, NAME), "FQN to entry.", required=True),
    Field("injections", RECORDS, "One record per FQN; inline rules by default."),
    Field("codegen_version", _TEXT_OR_NULL, "Version of the generator that froze the plan."),
    Field("signature", _TEXT_OR_NULL, "What the generator tells one frozen plan from another by."),
    Field("yaml_path", _TEXT_OR_NULL, "The training YAML that the plan was frozen from."),
    Field("yaml_sha256", _TEXT_OR_NULL, "The sha256 of that training YAML."),
    Field("source", MAPPING, "What the plan was frozen from; its model_type counts where the plan has none."),
    Field("outputs", MAPPING, "Output files and their recorded sha256."),
    Field("special_handlers", MAPPING, "Name of a module or parameter to what handles it."),
    Field("entrypoints", mapping_of(TEXT), "Name to the function that a runtime calls."),
    Field("covered", _COVERED.schema, "Which parts of the generator's work the plan has."),
    Field(
        "model_name",
        one_of(TEXTS, TEXT, belongs="a list of strings"),
        "Names of the models that the plan is for.",
    ),
    Field("model_class", one_of(TEXTS, TEXT, belongs="a list of strings"), "Classes of these models."),
    Field("frozen_sharded_params", NAMES, "Parameters that are sharded and not trained.", unordered=True),
    Field(
        "tied_pairs",
        list_of(one_of(TEXT, TEXTS, MAPPING, belongs="a pair of names")),
        "Parameters that are one: pairs of names.",
    ),
    Field(
        "module_overrides",
        RECORDS,
        "Records of replaced modules; inline rules by default, ahead of injections.",
    ),
    Field(
        "skipped_overrides",
        list_of(one_of(TEXT, MAPPING, belongs="a name or a record")),
        "Overrides that the generator left out, as names or records.",
    ),
    Field("not_covered", NAMES, "Modules that the plan says nothing about.", unordered=True),
    Field(
        "remote_siblings", NAMES, "Modules of other ranks, which the plan says nothing about.", unordered=True
    ),
    Field("feature_exchange", MAPPING, "The workload of the plan's feature exchange."),
    Field("normalization", _NORMALIZATION.schema, "What `hpplan normalize` did; it reads this back."),
)
TOP_LEVEL_FIELDS = PLAN.names
"""The top-level fields of a plan, in canonical order."""

LEFT_OUT = ("not_covered", "remote_siblings")
"""Fields with modules that a plan says nothing about; rules and references may name them all the same."""

KEY_ORDER = key_order(PLAN)
"""Where the writer follows the order of fields instead of the natural order of keys."""

check_plan = Checker(PLAN, SHAPE_CODES)
"""Yields everything in which data is not a frozen plan (HP1xx)."""


class Plan(NamedTuple):
    """A frozen plan whose data has the shape of `PLAN`.

    Treat `data` as read-only: plans that differ in a few entries share the rest.
    """

    data: Mapping[str, Any]
    place: Place

    @property
    def param_plan(self) -> dict[str, Entry]:
        """FQN to entry."""
        entries: dict[str, Entry] = self.data["param_plan"]
        return entries

    @property
    def boundary_classes(self) -> dict[str, str]:
        """FQN to the class that owns its forward."""
        classes: dict[str, str] = self.data["boundary_classes"]
        return classes

    @property
    def external_state_classes(self) -> list[str]:
        """Classes whose forward carries its own orchestration."""
        classes: list[str] = self.data.get("external_state_classes", [])
        return classes

    @property
    def stripped(self) -> dict[str, dict[str, str]]:
        """What earlier normalization stripped: FQN to class, pass, rule and pattern."""
        records: dict[str, dict[str, str]] = self.data.get("normalization", {}).get("stripped", {})
        return records

    @property
    def remembered_classes(self) -> dict[str, str]:
        """FQN to class, with the classes that earlier normalization took away."""
        gone = {fqn: entry["class"] for fqn, entry in self.stripped.items() if "class" in entry}
        return {**gone, **self.boundary_classes}

    @property
    def model_type(self) -> str | None:
        """The plan's model type, else that of its source."""
        name = self.data.get("model_type") or self.data.get("source", {}).get("model_type")
        return name if isinstance(name, str) else None

    def size(self, axis: str) -> int:
        """Return the size of an axis (`ep`, `cp`, …) in `parallel_dims`; 1 where it is absent."""
        size: int = self.data.get("parallel_dims", {}).get(f"{axis}_size", 1)
        return size

    def replace(self, **fields: object) -> Plan:
        """Return a plan with some top-level fields replaced."""
        return Plan({**self.data, **fields}, self.place)


def is_boundary(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a boundary: as it says, else by its non-empty in and out fields."""
    declared = entry.get("is_boundary")
    if declared is not None:
        return bool(declared)
    return any(entry.get(field) for field in BOUNDARY_FIELDS)


def load_plan(document: Document) -> Plan:
    """Return the frozen plan in a document; raise InvalidInput with all that is wrong with its schema."""
    problems = list(check_plan(document.data, document.place))
    if problems:
        raise InvalidInput(problems)
    return Plan(document.data, document.place)
