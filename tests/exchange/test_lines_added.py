"""How much a training loop grows."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
OURS = r"hpplan|ExchangeGroup|FeatureExchange|items_from_batch|group|items|exchange|received"
"""What a loop without the exchange does not name."""


def test_the_readme_loop_adds_few_lines() -> None:
    """A trainer that must change more than ten lines does so by hand, and wrongly."""
    text = (HERE / "pool_loop.py").read_text(encoding="utf-8")
    loop = text.split("# The README quotes from here.")[1].split("# The README quotes up to here.")[0]
    code = [line.partition("#")[0] for line in loop.splitlines()]
    added = [line for line in code if re.search(rf"\b({OURS})\b", line)]
    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert len(added) == 6
    assert "In a loop that encodes its own images these are six lines more:" in " ".join(readme.split())
