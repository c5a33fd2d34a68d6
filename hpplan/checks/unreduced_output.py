"""unreduced-output: a partial sum that nobody adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hpplan.diagnostics import Code, Diagnostic
from hpplan.inspection.alike import alike
from hpplan.inspection.subject import RESOLUTION, Subject
from hpplan.plan.fqn import ancestors, matcher
from hpplan.plan.model import Entry

UNREDUCED_OUTPUT = Code(
    "HP215",
    "unreduced-output",
    "error",
    """\
## What it finds
An entry whose boundary is gone, or goes when the plan is normalized, while its `out_src` still says
`P(op)` along an active axis and its `out_dst` does not.

A sub-module that the forward of an expert-parallel strategy calls itself is fine: that forward adds up
what it calls, and the pass ep-strip strips the boundary for that very reason. hpplan knows these from the
normalization record, or, in a plan without one, from the strip patterns of the rules. What remains are
entries that say `is_boundary: false` on their own, the expert-parallel targets themselves, and external-state
classes: their contract is no longer carried out, so it must not promise a reduction.

Modules that differ only in their numbers are reported once, at the first of them.

## Why it hurts
Each rank goes on with its own part of the sum. The loss is finite, and wrong.

## Example
```yaml
model.layers.0.mlp:
  out_src: {output: {tp: P(sum)}}
  out_dst: {output: {tp: S(1)}}
  is_boundary: false
```

## What to do
Keep the boundary. Where the forward that took its place reduces on its own, say so: write the placement that
it leaves its output in as `out_src`.

A plan that was normalized with `--bare` has no record of which modules a forward above them calls: validate
it with the rules that it was normalized with, `hpplan validate PLAN --rules FILE`.
""",
)

CODES: tuple[Code, ...] = (UNREDUCED_OUTPUT,)
READS: tuple[str, ...] = (*RESOLUTION, "mesh_dim_names", "parallel_dims", "rules", "placements")


class _Partial(NamedTuple):
    """What modules have in common that are reported together."""

    tensor: str
    axis: str
    placement: str
    gone: bool


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield each partial output without a boundary and without a forward above that reduces it."""
    axes = subject.active_axes
    if not axes:
        return
    plan = subject.plan
    owned = None
    unreduced: list[tuple[str, _Partial]] = []
    for fqn, entry in subject.normalized.plan.param_plan.items():
        if entry.get("is_boundary") is not False or fqn in subject.unsure:
            continue
        partial = list(_partial(entry, axes))
        if not partial:
            continue
        if owned is None:
            owned = _Owned(subject)
        if owned.has(fqn):
            continue
        gone = plan.param_plan[fqn].get("is_boundary") is False
        for tensor, axis in partial:
            unreduced.append((fqn, _Partial(tensor, axis, entry["out_src"][tensor][axis], gone)))
    for (tensor, axis, placement, gone), fqns in alike(unreduced):
        yield Diagnostic(
            UNREDUCED_OUTPUT,
            f"`{tensor}` of {fqns.names} is {placement} along `{axis}`, "
            f"and the boundary that would reduce it {'is' if gone else 'will be'} stripped",
            plan.place.at("param_plan", fqns.first, "out_src", tensor, axis),
            hint=_BARE_HINT if gone and "normalization" not in plan.data else _HINT,
        )


_HINT = "keep the boundary, or write the placement that forward leaves its output in"
_BARE_HINT = (
    f"if the plan was normalized with --bare, validate it with its rules (--rules FILE); else {_HINT}"
)


def _partial(entry: Entry, axes: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield tensor and axis of each pending reduction that the boundary was to carry out."""
    after = entry.get("out_dst", {})
    for tensor, layout in entry.get("out_src", {}).items():
        for axis, placement in layout.items():
            if placement[0] == "P" and axis in axes and after.get(tensor, {}).get(axis, "R") != placement:
                yield tensor, axis


class _Owned:
    """The modules that the forward of an expert-parallel strategy calls itself."""

    def __init__(self, subject: Subject) -> None:
        self._named = {
            change.fqn for change in subject.normalized.changes if change.cause.below is not None
        } | {fqn for fqn, record in subject.plan.stripped.items() if "below" in record}
        classes = subject.facts.classes
        # A plan that was normalized without a record has no class at an EP target.
        self._patterns: dict[str, list[Callable[[str], object]]] = {}
        for ep_rule in subject.facts.ep_rules:
            wanted = ep_rule.strategy.target_class
            patterns = [matcher(pattern) for pattern in ep_rule.strategy.strip_boundary_subpatterns]
            for target in subject.matched(ep_rule.rule.patterns):
                if classes.get(target, wanted) == wanted:
                    self._patterns.setdefault(target, []).extend(patterns)

    def has(self, fqn: str) -> bool:
        """Whether the module at an FQN is called by such a forward."""
        if fqn in self._named:
            return True
        for above in ancestors(fqn):
            suffix = fqn[len(above) + 1 :]
            if any(matches(suffix) for matches in self._patterns.get(above, ())):
                return True
        return False
