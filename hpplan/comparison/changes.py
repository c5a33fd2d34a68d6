"""What two documents of one kind mean differently, folded over layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hpplan.documents.natural import natural_key
from hpplan.plan.folding import fold, folded_key

ABSENT = object()
"""Stands for a value that one of the two documents does not have."""


class Placements(dict[str, str]):
    """Placements, shown in flow style: `{cp: S(1), tp: R}`."""

    def __str__(self) -> str:
        """Spell them as plans do."""
        if not self:
            return "R"
        return "{" + ", ".join(f"{axis}: {placement}" for axis, placement in sorted(self.items())) + "}"


class FieldChange(NamedTuple):
    """One field with its value in the first and in the second document; `ABSENT` where it has none."""

    field: str
    before: Any
    after: Any


class ChangedNames(NamedTuple):
    """Names that all changed in the same way, folded."""

    names: tuple[str, ...]
    size: int
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True)
class Differences:
    """Names that only one of two documents has, names that changed, and the documents' own fields."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[ChangedNames, ...]
    fields: tuple[FieldChange, ...]

    @property
    def equal(self) -> bool:
        """Whether the two documents mean the same."""
        return not (self.removed or self.added or self.changed or self.fields)


def compare_names(
    before: Iterable[str],
    after: Iterable[str],
    changes: Mapping[str, tuple[FieldChange, ...]],
    fields: Iterable[FieldChange],
) -> Differences:
    """Fold what is different between two sets of names; `changes` are those of names that both have."""
    old, new = set(before), set(after)
    groups: dict[str, tuple[tuple[FieldChange, ...], list[str]]] = {}
    for name, differing in changes.items():
        if differing:
            # Values may be lists and mappings, so equal changes are recognized by how they are spelled.
            groups.setdefault(
                repr([(field, repr(b), repr(a)) for field, b, a in differing]), (differing, [])
            )[1].append(name)
    changed = [
        ChangedNames(tuple(fold(names)), len(names), differing) for differing, names in groups.values()
    ]
    return Differences(
        removed=tuple(fold(old - new)),
        added=tuple(fold(new - old)),
        changed=tuple(sorted(changed, key=lambda group: folded_key(group.names[0]))),
        fields=tuple(fields),
    )


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Return the keys whose values differ, in the order of `before`, then of what `after` adds."""
    return tuple(
        FieldChange(key, before.get(key, ABSENT), after.get(key, ABSENT))
        for key in {**before, **after}
        if before.get(key, ABSENT) != after.get(key, ABSENT)
    )


def leaves(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested mappings by their dotted path, in natural order."""
    values: dict[str, Any] = {}
    for key in sorted(data, key=natural_key):
        value = data[key]
        if isinstance(value, dict) and value:
            values.update(leaves(value, f"{prefix}{key}."))
        else:
            values[f"{prefix}{key}"] = value
    return values
