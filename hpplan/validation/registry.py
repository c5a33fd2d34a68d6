"""The checks in the order they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from hpplan.checks import (
    ambiguous_dimension,
    boundary_without_class,
    boundary_without_entry,
    class_contracts_differ,
    class_differs_from_model,
    competing_strategies,
    condition_never_holds,
    dangling_reference,
    deferred_bias_on_identity,
    dimension_out_of_range,
    dp_placement,
    empty_param_plan,
    experts_without_rule,
    far_reaching_pattern,
    feature_exchange,
    frozen_param_not_sharded,
    ignored_plan_overrides,
    mesh_contradicts_plan,
    mesh_dims_disagree,
    normalization_disagrees,
    not_normalized,
    one_sided_contract,
    out_names_disagree,
    output_changed,
    replicated_in_region,
    rule_without_effect,
    shadowed_pattern,
    target_class_not_external,
    target_given_twice,
    uncovered_parameter,
    uneven_dimension,
    unknown_field,
    unknown_module,
    unknown_parameter,
    unknown_placement_axis,
    unknown_strategy_kind,
    unmatched_strip_pattern,
    unreduced_output,
    unusable_parallel_dims,
)
from hpplan.diagnostics import Code, Diagnostic, Place
from hpplan.inspection.subject import Subject


class Check(Protocol):
    """One file of this package: the codes it finds, and a pure function that finds them."""

    @property
    def CODES(self) -> tuple[Code, ...]:  # noqa: N802 - a constant of the file
        """What the check may yield."""

    @property
    def READS(self) -> tuple[str, ...]:  # noqa: N802 - the same
        """What must be in order for the check to run.

        Top-level fields of the plan that it reads as a whole, and `rules` and
        `strategies` of the run. A finding about a module waits for its own
        entry and class in any case: for their placements where `placements`
        is among these.
        """

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        """Yield the findings, by path."""


SHAPE_CHECKS: tuple[Check, ...] = (
    unknown_field,
    empty_param_plan,
)
"""Checks that also run on a plan whose data has not the shape of a plan."""

CHECKS: tuple[Check, ...] = (
    *SHAPE_CHECKS,
    ambiguous_dimension,
    boundary_without_entry,
    boundary_without_class,
    dangling_reference,
    unknown_placement_axis,
    dp_placement,
    mesh_dims_disagree,
    mesh_contradicts_plan,
    unusable_parallel_dims,
    frozen_param_not_sharded,
    normalization_disagrees,
    not_normalized,
    class_contracts_differ,
    out_names_disagree,
    one_sided_contract,
    deferred_bias_on_identity,
    unreduced_output,
    output_changed,
    rule_without_effect,
    experts_without_rule,
    competing_strategies,
    shadowed_pattern,
    condition_never_holds,
    target_class_not_external,
    unmatched_strip_pattern,
    far_reaching_pattern,
    target_given_twice,
    feature_exchange,
    unknown_module,
    unknown_parameter,
    uncovered_parameter,
    class_differs_from_model,
    uneven_dimension,
    dimension_out_of_range,
    replicated_in_region,
)


class RulesCheck(Protocol):
    """A file of this package that checks files with rules or strategies, plan or no plan."""

    @property
    def CODES(self) -> tuple[Code, ...]:  # noqa: N802 - a constant of the file
        """What the check may yield."""

    def check_rules(self, data: dict[str, Any], place: Place) -> Iterator[Diagnostic]:
        """Yield the findings, by path; the data has any shape."""


RULES_CHECKS: tuple[RulesCheck, ...] = (
    unknown_field,
    ignored_plan_overrides,
    target_given_twice,
    unknown_strategy_kind,
)
"""Checks of the text of rules and strategies, in the order they run."""
