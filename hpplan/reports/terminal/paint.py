"""Colour for people: escape sequences around a text, where somebody wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpplan.diagnostics import Severity

BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"

SEVERITY_COLORS: dict[Severity, str] = {"error": RED, "warning": YELLOW, "info": CYAN}


def paint(text: str, *styles: str, color: bool) -> str:
    """Return a text in some styles, or as it is without colour; nothing to paint stays nothing."""
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if color and text else text
