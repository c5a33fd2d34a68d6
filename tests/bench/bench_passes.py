"""How long the passes take (DESIGN section 8, row 5)."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from harness import Measurement, seconds
from large_plan import large_plan, large_rules

from hpplan.diagnostics import Place
from hpplan.documents.reader import Document
from hpplan.documents.source import Source
from hpplan.passes.pipeline import Normalized, normalize
from hpplan.plan.model import Plan
from hpplan.plan.rules import load_rules
from hpplan.plan.strategies import BUILT_IN, StrategyTable

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(plan: dict[str, Any], rules: list[dict[str, Any]]) -> Normalized:
    """Normalize plain data."""
    loaded = load_rules(Document(Source("rules", "", "yaml"), {"rules": rules}))
    return normalize(Plan(plan, Place("plan")), loaded, StrategyTable(BUILT_IN))


def measure() -> Iterator[Measurement]:
    """Yield the time of the passes, and how it grows with the plan."""
    rules = large_rules()
    small, large = large_plan(), large_plan(experts=17_000)
    for_small = median(seconds(lambda: run(small, rules)) for _ in range(7))
    for_large = seconds(lambda: run(large, rules))
    entries, more = len(small["param_plan"]), len(large["param_plan"])
    yield Measurement(f"three passes, {entries:,} entries, {len(rules)} rules", 0.1, for_small, "s")
    growth = (for_large / more) / (for_small / entries)
    yield Measurement(f"time an entry, {more:,} entries / {entries:,} entries", 3.0, growth)
