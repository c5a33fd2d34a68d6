"""How long validating takes against loading, where nothing is wrong and where every norm is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import Measurement, ratio
from large_plan import large_plan, large_rules

from hpplan.documents.reader import parse_document
from hpplan.documents.source import Sources
from hpplan.documents.writer import dump_yaml
from hpplan.plan.model import load_plan
from hpplan.reports.findings.concise import render
from hpplan.validation.run import CheckRun

if TYPE_CHECKING:
    from collections.abc import Iterator


def measure() -> Iterator[Measurement]:
    """Yield the ratio of validating, with its report, to loading."""
    plan = {**large_plan(), "injections": large_rules()}
    entries = len(plan["param_plan"])
    clean = dump_yaml(plan).encode()
    broken = clean.replace(b"tp: R", b"tpp: R")
    for what, text in (("nothing wrong", clean), ("an axis wrong in every norm", broken)):

        def load(text: bytes = text) -> None:
            load_plan(parse_document(text, "plan.yaml"))

        def validate(text: bytes = text) -> None:
            sources = Sources()
            run = CheckRun()
            run.check(parse_document(text, "plan.yaml", sources))
            run.finish()
            render([*run.blocking, *run.findings], sources)

        yield Measurement(
            f"validate {entries:,} entries, {what}, against loading", 3.0, ratio(validate, load, 3)
        )
