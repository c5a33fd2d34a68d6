"""A family with other numbers than its published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hpplan.errors import UnusableArgument
from hpplan.nearest import none_of
from hpplan.workload.families import family_named
from hpplan.workload.families.base import Family
from hpplan.workload.shape import DTYPES


def family_with(name: str, given: Mapping[str, Any], settings: Iterable[str]) -> Family:
    """Return the family of that name with some of its options `given`, and others set by `NAME=VALUE`.

    Raises UnusableArgument for an option that the family does not have, or a
    value that its arithmetic cannot use.
    """
    family = family_named(name)
    options, values = family.options(), dict(given)
    for setting in settings:
        option, equals, text = setting.partition("=")
        if option not in options:
            raise UnusableArgument("set", none_of(option, options))
        try:
            values[option] = options[option](text)
        except ValueError:
            equals = ""
        if not equals:
            raise UnusableArgument("set", f"'{setting}' is no NAME=VALUE with a number")
    try:
        chosen = family(**values)
    except ValueError as error:
        raise UnusableArgument("set", str(error)) from None
    if chosen.dtype not in DTYPES:
        raise UnusableArgument("set", none_of(chosen.dtype, DTYPES))
    shared = family.image_id == family.video_id >= 0
    if chosen.image_id == chosen.video_id >= 0 and not shared:
        message = f"images and videos of {name} cannot have the same placeholder, {chosen.image_id}"
        raise UnusableArgument("video_id", message)
    return chosen
