"""Reading, writing and editing the large plan, against PyYAML in C and against hpplan's own writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from bench_passes import run
from harness import Measurement, ratio
from large_plan import large_plan, large_rules

from hpplan.diagnostics import Place
from hpplan.documents.editing.editor import edited
from hpplan.documents.reader import parse_document
from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.passes.record import with_record
from hpplan.plan.model import KEY_ORDER, Plan, load_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from hpplan.documents.reader import Document


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
    for what, before, writer in (
        ("YAML", dump_yaml(plan, KEY_ORDER), lambda data: dump_yaml(data, KEY_ORDER)),
        ("JSON", dump_json(plan), dump_json),
    ):
        document = parse_document(before.encode(), "plan")
        after = with_record(Plan(document.data, Place("plan")), run(document.data, large_rules())).data

        def edit(document: Document = document, after: Mapping[str, Any] = after) -> object:
            return edited(document.source, document.data, after, KEY_ORDER)

        def read_and_edit(edit: Callable[[], object] = edit, raw: bytes = before.encode()) -> object:
            load_plan(parse_document(raw, "plan"))
            return edit()

        def write(
            after: Mapping[str, Any] = after,
            writer: Callable[[Any], str] = writer,
            raw: bytes = before.encode(),
        ) -> object:
            load_plan(parse_document(raw, "plan"))
            return writer(after)

        # Editing reads what it made back; writing the whole anew does not.
        yield Measurement(
            f"read {what}, strip {entries:,} entries in place and read back / write anew",
            3.0,
            ratio(read_and_edit, write, 3),
        )
