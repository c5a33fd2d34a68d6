"""Importing late what a name stands for; where the name is known when the code is written, `import` does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def imported(module: str, name: str) -> Any:  # noqa: ANN401 - whatever it is
    """Import a module and return what it calls `name`."""
    return getattr(import_module(module), name)


def exporter(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose exports are at home in other modules: module to names.

    An export is imported when it is first asked for.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def export(name: str) -> Any:  # noqa: ANN401 - any export
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return imported(home_of[name], name)

    return export
