"""Reading and writing the large plan against PyYAML in C (DESIGN section 8, rows 3 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from harness import Measurement, ratio
from large_plan import large_plan

from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_yaml
from hpplan.plan.model import KEY_ORDER, load_plan

if TYPE_CHECKING:
    from collections.abc import Iterator


def measure() -> Iterator[Measurement]:
    """Yield the ratios for a plan as hpplan writes it and as PyYAML does, and for writing it."""
    plan = large_plan()
    entries = len(plan["param_plan"])
    for writer, text in (
        ("hpplan", dump_yaml(plan, KEY_ORDER)),
        ("PyYAML", yaml.dump(plan, Dumper=yaml.CSafeDumper)),
    ):
        raw = text.encode()

        def peer(raw: bytes = raw) -> object:
            return yaml.load(raw, yaml.CSafeLoader)

        def read(raw: bytes = raw) -> object:
            return parse_document(raw, "plan.yaml")

        def load(raw: bytes = raw) -> object:
            return load_plan(parse_document(raw, "plan.yaml"))

        size = f"{entries:,} entries, {len(raw) / 1e6:.1f} MB written by {writer}"
        yield Measurement(f"read {size} / CSafeLoader", 0.25, ratio(read, peer, 3))
        yield Measurement(f"read and validate {size} / CSafeLoader", 0.25, ratio(load, peer, 3))
    ours = ratio(lambda: dump_yaml(plan, KEY_ORDER), lambda: yaml.dump(plan, Dumper=yaml.CSafeDumper), 3)
    yield Measurement(f"write {entries:,} entries / CSafeDumper", 0.3, ours)
