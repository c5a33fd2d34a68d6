"""Shapes: what a mapping of a document has, each field with its type, its default and what it is.

A shape is made of pydantic core schemas, so that one table checks a document
and becomes its JSON Schema. What else is made of fields takes them from the
table as well: defaults, the order in which they are written, what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic_core import core_schema

from hpplan.documents.limits import LARGEST_NUMBER

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

    from hpplan.documents.writer import KeyOrder

Unknown = Literal["kept", "told", "refused"]
"""What happens to other fields: nothing; a finding; or a finding, and editors mark them."""

TEXT = core_schema.str_schema(strict=True)
FLAG = core_schema.bool_schema(strict=True)
TEXTS = core_schema.list_schema(TEXT, strict=True)
ANYTHING = core_schema.any_schema()
MAPPING = core_schema.dict_schema(TEXT, ANYTHING, strict=True)
RECORDS = core_schema.list_schema(MAPPING, strict=True)


class Field(NamedTuple):
    """One field of a shape.

    `default` is what it means where it is not there. `get` returns its value
    from what a document is written of; without it, that is the attribute of
    the same name. In a list that is `unordered` neither order nor repetition
    means anything.
    """

    name: str
    type: CoreSchema
    about: str
    default: Any = None
    required: bool = False
    get: Callable[[Any], Any] | None = None
    unordered: bool = False

    @property
    def description(self) -> str:
        """What it is, and what it means where it is not there."""
        return f"{self.about[:-1]}; {self.default} when absent." if self.default else self.about


class Shape:
    """A mapping with known fields; `schema` checks it.

    The writer keeps their order, or, with `natural`, the natural one of their names.
    """

    def __init__(
        self, title: str | None, *fields: Field, unknown: Unknown = "kept", natural: bool = False
    ) -> None:
        """Make the schema of the fields."""
        self.fields = fields
        self.names = tuple(field.name for field in fields)
        updates: dict[str, Any] = {"additionalProperties": unknown != "refused"}
        if title is not None:
            updates["title"] = title
        self.schema: CoreSchema = core_schema.typed_dict_schema(
            {
                field.name: core_schema.typed_dict_field(
                    described(field.type, field.description), required=field.required
                )
                for field in fields
            },
            extra_behavior="allow" if unknown == "kept" else "forbid",
            strict=True,
            metadata={"pydantic_js_updates": updates, "natural": natural},
        )


def described(schema: CoreSchema, description: str) -> CoreSchema:
    """Return a schema with a description for its JSON Schema."""
    known = schema.get("metadata", {})
    updates = {**known.get("pydantic_js_updates", {}), "description": description}
    return {**schema, "metadata": {**known, "pydantic_js_updates": updates}}


def told(schema: CoreSchema, **faults: Any) -> CoreSchema:  # noqa: ANN401 - see below
    """Return a schema with words of its own for some of pydantic's types of errors.

    That is what belongs there, or a function of name, value and place that
    returns the finding.
    """
    return {**schema, "metadata": {**schema.get("metadata", {}), "told": faults}}


def count(least: int) -> CoreSchema:
    """Return the schema of a whole number that is at least `least`, and that every reader takes exactly."""
    return core_schema.int_schema(strict=True, ge=least, le=LARGEST_NUMBER)


def text(*, most: int | None = None, pattern: str | None = None) -> CoreSchema:
    """Return the schema of a text of at most so many characters, all of which the pattern matches."""
    return core_schema.str_schema(strict=True, max_length=most, pattern=pattern)


def literal(allowed: Iterable[str | int]) -> CoreSchema:
    """Return the schema of a value that is one of a few."""
    return core_schema.literal_schema(list(allowed))


def list_of(element: CoreSchema | Shape, least: int | None = None, most: int | None = None) -> CoreSchema:
    """Return the schema of a list, with at least and at most so many elements."""
    return core_schema.list_schema(_schema(element), min_length=least, max_length=most, strict=True)


def mapping_of(value: CoreSchema | Shape, keys: CoreSchema = TEXT) -> CoreSchema:
    """Return the schema of a mapping whose keys are data."""
    return core_schema.dict_schema(keys, _schema(value), strict=True)


def or_null(value: CoreSchema | Shape) -> CoreSchema:
    """Return the schema of a value that may be null."""
    return core_schema.nullable_schema(_schema(value))


def _schema(value: CoreSchema | Shape) -> CoreSchema:
    return value.schema if isinstance(value, Shape) else value


def one_of(*choices: CoreSchema, belongs: str) -> CoreSchema:
    """Return the schema of a value that may have several types; `belongs` names them."""
    return core_schema.union_schema(
        list(choices), custom_error_type="wrong_type", custom_error_message=belongs
    )


def key_order(shape: CoreSchema | Shape) -> KeyOrder:
    """Return where the writer follows the order of fields in a document of this shape."""
    return dict(_orders(_schema(shape), ()))


def _orders(schema: Any, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:  # noqa: ANN401 - a core schema is a union of typed dicts
    match schema["type"]:
        case "typed-dict":
            if not schema["metadata"]["natural"]:
                yield path, tuple(schema["fields"])
            for name, field in schema["fields"].items():
                yield from _orders(field["schema"], (*path, name))
        case "list":
            yield from _orders(schema["items_schema"], (*path, "*"))
        case "dict":
            yield from _orders(schema["values_schema"], (*path, "*"))
        case "nullable":
            yield from _orders(schema["schema"], path)


def values(fields: Iterable[Field], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each field by its name, lists as tuples, defaults where it is not there."""
    return {
        field.name: tuple(value) if isinstance(value := data.get(field.name, field.default), list) else value
        for field in fields
    }


def written(fields: Iterable[Field], value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the fields read
    """Return the fields of a value as a document has them; those left out that say nothing.

    That is what is None, and what is false or empty by default.
    """
    data: dict[str, Any] = {}
    for name, _, _, default, _, get, _ in fields:
        content = getattr(value, name) if get is None else get(value)
        if content or (content is not None and content != default):
            data[name] = list(content) if isinstance(content, tuple) else content
    return data
