"""What holds for one plan, as configuration files and command lines say."""

from __future__ import annotations

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """What holds for one plan, with the place where it is said."""

    rules: str | None = None
    strategies: str | None = None
    model_type: str | None = None
    mesh: str | None = None
    model: str | None = None
    workload: str | None = None
    normalized: str | None = None
    strict: bool = False
    bare: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def under(self, **given: Any) -> Settings:  # noqa: ANN401 - of any field
        """Return these settings with what a command line gives, which wins."""
        return self._replace(**{name: value for name, value in given.items() if value})
