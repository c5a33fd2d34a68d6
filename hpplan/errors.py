"""The ways in which hpplan says no, one exception for each exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from hpplan.diagnostics import Diagnostic

BUG_STATUS: Final = 70
"""Exit status after a bug of ours."""

INTERRUPTED_STATUS: Final = 130
"""Exit status after Ctrl-C."""


class HpplanError(Exception):
    """Base of everything hpplan raises on purpose."""

    exit_status: int = 1


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
        for finding in self.diagnostics:
            where = show_path(finding.place.path)
            lines.append(
                f"{finding.place.document}: {finding.code.id} {finding.level}: {finding.message}"
                + (f" (at {where})" if where else "")
                + (f"; {finding.hint}" if finding.hint else "")
            )
        return "\n".join(lines)


class InvalidOption(InvalidInput):
    """An option's value does not parse or validate (exit status 2)."""

    exit_status: int = 2


class UnusableRequest(HpplanError):
    """The question could not be asked (exit status 2).

    A missing or unreadable file, a missing package, a wrong environment.
    """

    exit_status: int = 2


class UnusableArgument(UnusableRequest):
    """An argument that there is no such thing for; a command line calls it by its option."""

    def __init__(self, argument: str, message: str) -> None:
        """Keep the name of the argument and what is wrong with it."""
        self.argument, self.message = argument, message
        super().__init__(f"{argument}: {message}")


def broken_package(name: str, error: Exception) -> str:
    """Say in one line that a package is installed and does not work."""
    told = f"{type(error).__name__}: {error}".partition("\n")[0]
    return f"the {name} that is installed does not work: {told}"


class ExecutionBroken(HpplanError):
    """Execution broke off: a peer was lost, or time ran out (exit status 3)."""

    exit_status: int = 3


class SeveralFailures(HpplanError):
    """What failed apart from each other (the highest of the exit statuses)."""

    def __init__(self, errors: Iterable[HpplanError]) -> None:
        """Keep what failed."""
        self.errors: tuple[HpplanError, ...] = tuple(errors)
        self.exit_status = max(error.exit_status for error in self.errors)
        super().__init__(self.errors)


class Failures:
    """Takes the failures of blocks that do not need each other, so that none hides what others have to say.

    It is entered for each of the blocks.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._errors: list[HpplanError] = []

    def __enter__(self) -> None:
        """Begin a block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep its failure."""
        if isinstance(error, HpplanError):
            self._errors.append(error)
        return isinstance(error, HpplanError)

    def together(self) -> HpplanError | None:
        """Return one error for all, with the findings of all at once; None where nothing failed."""
        invalid = [error for error in self._errors if isinstance(error, InvalidInput)]
        # Several plans may share one rules file, and then each of them misses it.
        unlike = {str(error): error for error in self._errors if not isinstance(error, InvalidInput)}
        others = list(unlike.values())
        if invalid:
            worst = max(invalid, key=lambda error: error.exit_status)
            findings = dict.fromkeys(finding for error in invalid for finding in error.diagnostics)
            others.insert(0, type(worst)(findings))
        return SeveralFailures(others) if len(others) > 1 else next(iter(others), None)

    def settle(self) -> None:
        """Raise what failed, if anything did."""
        failure = self.together()
        if failure is not None:
            raise failure
