"""Answers: documents that hpplan writes and that nothing reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from hpplan.shapes.shape import Field, Shape

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

AMOUNT = core_schema.float_schema(ge=0)


class Answer(Shape):
    """A mapping that has every field and no other; only those named in `optional` may be left out."""

    def __init__(self, title: str | None, *fields: Field, optional: tuple[str, ...] = ()) -> None:
        """Make the schema of the fields."""
        required = (field._replace(required=field.name not in optional) for field in fields)
        super().__init__(title, *required, unknown="refused")

    def of(self, value: object = None, **given: object) -> dict[str, Any]:
        """Return the answer about an object or a mapping: what is given, and its own fields for the rest."""
        assert given.keys() <= set(self.names), given.keys() - set(self.names)
        data: dict[str, Any] = {}
        for field in self.fields:
            if field.name in given:
                content = given[field.name]
            elif field.get is not None:
                content = field.get(value)
            else:
                content = value[field.name] if isinstance(value, dict) else getattr(value, field.name)
            if content is not None or field.required:
                data[field.name] = _plain(content)
        return data


def _plain(value: object) -> object:
    """Return tuples as lists, at any depth."""
    return [_plain(element) for element in value] if isinstance(value, tuple) else value


def either(*shapes: Shape) -> CoreSchema:
    """Return the schema of one of several answers."""
    return core_schema.union_schema([shape.schema for shape in shapes])
