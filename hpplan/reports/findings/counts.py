"""How many findings there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hpplan.diagnostics import SEVERITIES
from hpplan.reports.terminal.tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.diagnostics import Diagnostic


def counts(findings: Sequence[Diagnostic]) -> str:
    """Return a table of how many findings there are of each code and severity."""
    numbers = Counter((item.code.id, item.code.name, item.level) for item in findings)
    rows = [(str(count), *key) for key, count in sorted(numbers.items())]
    return plain_table(("count", "code", "name", "severity"), rows, right=(0,))


def summary(findings: Sequence[Diagnostic], files: int) -> str:
    """Return one line that counts the findings by severity."""
    where = f"{files} file{'s' * (files != 1)}"
    numbers = {level: sum(item.level == level for item in findings) for level in SEVERITIES}
    plurals = {"error": "errors", "warning": "warnings", "info": "infos"}
    told = [f"{count} {level if count == 1 else plurals[level]}" for level, count in numbers.items() if count]
    return f"{', '.join(told)} in {where}." if told else f"No findings in {where}."
