"""JSON Schemas of the documents, generated from the models that the readers check with.

A JSON Schema sees one value at a time. What it cannot say is in each schema's
`$comment`, and `hpplan validate` checks it, save for the answers of `hpplan route`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpplan.validation.kinds import DocumentKind


def json_schema(kind: DocumentKind) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a kind of document."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Leaves fields untitled: their names say as much."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's parameter
            del schema
            return False

    generated = Generator().generate(kind.schema)
    _leave_out_defaults(generated)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"Not said here: {kind.unsaid}.",
        **generated,
        "title": kind.title,
        "description": kind.about,
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
