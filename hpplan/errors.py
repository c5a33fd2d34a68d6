"""The ways in which hpplan says no, one exception for each exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpplan.diagnostics import Diagnostic

BUG_STATUS: Final = 70
"""Exit status after a bug of ours."""

INTERRUPTED_STATUS: Final = 130
"""Exit status after Ctrl-C."""


class HpplanError(Exception):
    """Base of everything hpplan raises on purpose."""

    exit_status: ClassVar[int] = 1


class InvalidInput(HpplanError):
    """A document's content does not parse or validate (exit status 1)."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep what was found; positions are worked out when it is shown."""
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        """Spell the findings without positions, for callers of the library."""
        from hpplan.diagnostics import show_path

        lines: list[str] = []
        for item in self.diagnostics:
            where = show_path(item.place.path)
            lines.append(
                f"{item.place.document}: {item.code.id} {item.level}: {item.message}"
                + (f" (at {where})" if where else "")
                + (f"; {item.hint}" if item.hint else "")
            )
        return "\n".join(lines)


class InvalidOption(InvalidInput):
    """An option's value does not parse or validate (exit status 2)."""

    exit_status: ClassVar[int] = 2


class UnusableRequest(HpplanError):
    """The question could not be asked (exit status 2).

    A missing or unreadable file, a missing package, a wrong environment.
    """

    exit_status: ClassVar[int] = 2


class ExecutionBroken(HpplanError):
    """Execution broke off: a peer was lost, or time ran out (exit status 3)."""

    exit_status: ClassVar[int] = 3
