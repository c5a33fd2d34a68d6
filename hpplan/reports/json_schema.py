"""JSON Schemas of the documents, generated from the models that the readers check with.

A JSON Schema sees one value at a time. What it cannot say is in each schema's
`$comment`, and `hpplan validate` checks it, save for the answers of `hpplan route`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core.core_schema import CoreSchema


def _plan() -> CoreSchema:
    from hpplan.plan.model import PLAN
    from hpplan.plan.rules import RULES, RULES_OF_PLAN
    from hpplan.shapes.shape import Shape

    # Loading leaves the plan's own rules to whoever applies them: with --rules, nobody does.
    fields = (field._replace(type=RULES) if field.name in RULES_OF_PLAN else field for field in PLAN.fields)
    return Shape("Frozen plan", *fields).schema


def _rules() -> CoreSchema:
    from hpplan.plan.rules import RULES_FILE

    return RULES_FILE.schema


def _strategies() -> CoreSchema:
    from hpplan.plan.strategies import STRATEGIES

    return STRATEGIES.schema


def _config() -> CoreSchema:
    from hpplan.plan.configuration import CONFIGURATION

    return CONFIGURATION.schema


def _workload() -> CoreSchema:
    from hpplan.workload.shape import WORKLOAD

    return WORKLOAD.schema


def _micro_batches() -> CoreSchema:
    from hpplan.workload.micro_batches import MICRO_BATCHES

    return MICRO_BATCHES.schema


def _routes() -> CoreSchema:
    from hpplan.routing.routes_shape import ROUTES

    return ROUTES.schema


def _rank() -> CoreSchema:
    from hpplan.reports.route.rank import RANK

    return RANK


def _comparison() -> CoreSchema:
    from hpplan.routing.comparison import COMPARISON

    return COMPARISON.schema


def _statistics() -> CoreSchema:
    from hpplan.routing.statistics import STATISTICS

    return STATISTICS.schema


class DocumentKind(NamedTuple):
    """A kind of document: its name, what it is, what its JSON Schema cannot say, and its model."""

    name: str
    title: str
    description: str
    unsaid: str
    model: Callable[[], CoreSchema]


DOCUMENT_KINDS = (
    DocumentKind(
        "plan",
        "Frozen plan",
        "A frozen sharding plan; HyperParallel stores it as codegen_meta.json.",
        "Not said here: keys occur once; boundary_classes and param_plan name the same boundaries; the axes "
        "of placements are those of mesh_dim_names; boundaries of one class have one contract; "
        "feature_exchange is a workload.",
        _plan,
    ),
    DocumentKind(
        "rules",
        "Inline rules",
        "A rules file, or a HyperParallel training YAML with plan_overrides.",
        "Not said here: one of rules and plan_overrides is there; a rule says what it matches and has a "
        "target; low_precision goes with a replacement; targets resolve to strategies; patterns match "
        "something.",
        _rules,
    ),
    DocumentKind(
        "strategies",
        "Strategies",
        "Strategies that join the built-in ones and win over them.",
        "Not said here: each target is declared once.",
        _strategies,
    ),
    DocumentKind(
        "config",
        "Configuration",
        "Which plans belong to which rules, and how they are looked at: hpplan.toml, or the table "
        "tool.hpplan of pyproject.toml.",
        "Not said here: files are there, and among them a plan for each entry of files; a mesh is one; codes "
        "are known; no two plans are normalized into one file.",
        _config,
    ),
    DocumentKind(
        "workload",
        "Workload",
        "The items of a batch and the sequence that their rows belong to.",
        "Not said here: item ids occur once; an item has decoder_token_start or spans, and the rows of spans "
        "add up to output_rows; items stay within the length and do not overlap; documents add up to the "
        "length; buckets hold every item once; the length divides over the mesh.",
        _workload,
    ),
    DocumentKind(
        "micro-batches",
        "Micro-batches",
        "A workload for each of many micro-batches.",
        "Not said here: what the schema of a workload does not say either.",
        _micro_batches,
    ),
    DocumentKind(
        "routes",
        "Routing table",
        "The transfers of every parent of a mesh, and what each rank needs to run them.",
        "Not said here: the digest is that of the content; parents and transfers are those that mesh, "
        "workload and granularity give; what the schema of a workload does not say either.",
        _routes,
    ),
    DocumentKind(
        "rank",
        "One rank's routes",
        "What one rank, or each, sends, receives and hands over: `hpplan route --rank`.",
        "Not said here: amounts are those of the routing table with the same digest.",
        _rank,
    ),
    DocumentKind(
        "comparison",
        "Comparison",
        "The ways to move the same features side by side: `hpplan route --compare`.",
        "Not said here: amounts are those that mesh and workload give.",
        _comparison,
    ),
    DocumentKind(
        "statistics",
        "Statistics",
        "Each assignment policy over many micro-batches: `hpplan route` on them.",
        "Not said here: amounts are those that mesh and micro-batches give.",
        _statistics,
    ),
)
"""The documents that have a JSON Schema, in the order in which people meet them."""


def json_schema(kind: DocumentKind) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a kind of document."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Leaves fields untitled: their names say as much."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's parameter
            del schema
            return False

    generated = Generator().generate(kind.model())
    _leave_out_defaults(generated)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": kind.unsaid,
        **generated,
        "title": kind.title,
        "description": kind.description,
    }


def _leave_out_defaults(node: Any) -> None:  # noqa: ANN401 - any part of a schema
    """Remove `additionalProperties: true`, which says nothing, and which not every pydantic writes."""
    if isinstance(node, dict):
        if node.get("additionalProperties") is True:
            del node["additionalProperties"]
        for member in node.values():
            _leave_out_defaults(member)
    elif isinstance(node, list):
        for member in node:
            _leave_out_defaults(member)


def render(kind: DocumentKind) -> str:
    """Return the text of a JSON Schema, with sorted keys."""
    return json.dumps(json_schema(kind), indent=2, sort_keys=True) + "\n"
