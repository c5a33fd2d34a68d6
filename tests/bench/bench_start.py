"""How long commands take to start (DESIGN section 8, rows 1 and 2)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Measurement, process, ratio
from large_plan import large_plan

from hpplan.documents.writer import dump_yaml
from hpplan.plan.model import KEY_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = 21


def measure() -> Iterator[Measurement]:
    """Yield start-up times as ratios to importing what they cannot do without."""
    python = sys.executable
    hpplan = str(Path(python).with_name("hpplan"))
    yield Measurement(
        'hpplan --version / python -c "import click"',
        1.5,
        ratio(process(hpplan, "--version"), process(python, "-c", "import click"), PAIRS),
    )
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.yaml")
        data = large_plan(layers=4, experts=0)
        plan.write_text(dump_yaml(data, KEY_ORDER), encoding="utf-8")
        entries = len(data["param_plan"])
        yield Measurement(
            f'hpplan normalize, {entries} entries / python -c "import click, pydantic, yaml"',
            1.6,
            ratio(
                process(hpplan, "normalize", str(plan)),
                process(python, "-c", "import click, pydantic, yaml"),
                PAIRS,
            ),
        )
