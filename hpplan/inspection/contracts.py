"""The contract of an entry: everything in it but its parameters, in one spelling."""

from __future__ import annotations

from typing import Any

from hpplan.inspection.subject import CONTRACT_FIELDS
from hpplan.plan.model import ENTRY_FIELDS, Entry, is_boundary

Contract = dict[str, Any]

_EMPTY: tuple[object, ...] = ({}, [], False, None)


def contract_of(entry: Entry) -> Contract:
    """Return what an entry declares apart from `params`, so that equal contracts compare equal.

    A missing axis is `R`, an empty field is a missing one, and `is_boundary`
    is what it amounts to.
    """
    contract: Contract = {}
    for field, value in entry.items():
        if field in CONTRACT_FIELDS:
            value = {tensor: spelled(layout) for tensor, layout in value.items()}  # noqa: PLW2901 - the same value, in one spelling
        if field not in {"params", "is_boundary"} and value not in _EMPTY:
            contract[field] = value
    if is_boundary(entry):
        contract["is_boundary"] = True
    return contract


def spelled(layout: dict[str, str]) -> dict[str, str]:
    """Return placements without the axes that are `R`, which is what a missing axis means."""
    return {axis: placement for axis, placement in layout.items() if placement != "R"}


def differing_fields(contract: Contract, other: Contract) -> list[str]:
    """Return the fields in which two contracts differ, in canonical order."""
    fields = [field for field in contract.keys() | other.keys() if contract.get(field) != other.get(field)]
    return sorted(fields, key=lambda field: (_ORDER.get(field, len(_ORDER)), field))


_ORDER = {field: index for index, field in enumerate(ENTRY_FIELDS)}
