"""What each rank of a test runs; returns plain numbers for the test to compare."""

from __future__ import annotations

from typing import Any, NamedTuple

import naive_model

WIDTHS = (3, 2)
"""Of the payloads that tests send."""


class Run(NamedTuple):
    """What one rank saw of one setting."""

    input_splits: tuple[int, ...]
    handed_over: list[list[int]]
    contents: list[list[float]]
    merged: list[list[float]]
    second: list[list[float]]
    gradients: dict[tuple[int, int], float]
    text_gradient: float
    calls: int


def make_exchange(setting: naive_model.Setting, granularity: str = "record", **options: Any) -> Any:  # noqa: ANN401 - torch stays out of the tests' own process
    """Return this rank's exchange of a setting."""
    from hpplan.diagnostics import Place
    from hpplan.exchange import FeatureExchange
    from hpplan.routing.mesh import parse_mesh
    from hpplan.routing.routes import plan_routes
    from hpplan.workload.workload import load_workload

    workload = load_workload(setting.workload, Place("workload"))
    routes = plan_routes(parse_mesh(setting.mesh), workload, "row" if granularity == "row" else "record")
    return FeatureExchange.from_routes(routes, **{"timeout": 60, **options})


def make_features(exchange: Any, dtype: str, width: int, payload: int = 0) -> Any:  # noqa: ANN401 - as above
    """Return the features of this rank's bucket."""
    import torch

    rows = [
        [naive_model.feature(item, row, column, payload) for column in range(width)]
        for item, count in exchange.bucket
        for row in range(count)
    ]
    return torch.tensor(rows, dtype=torch.float64).view(len(rows), width).to(getattr(torch, dtype))


def run_settings(
    rank: int, settings: list[tuple[naive_model.Setting, str, str]], replica_grad: str = "mean"
) -> list[Run]:
    """Run (setting, granularity, dtype) one after the other: two payloads, forward, merge and backward."""
    return [run_setting(rank, *one, replica_grad) for one in settings]


def run_gathering(rank: int, setting: naive_model.Setting) -> Run:
    """Run a setting in a mode that nobody here wrote: an all-gather, whoever owns what."""
    from hpplan.routing import modes

    modes.MODES = (modes.Mode("made_up", "all_gather", lambda _: True, "for a test"),)
    return run_setting(rank, setting, "row", "float32", "mean")


def run_setting(
    rank: int, setting: naive_model.Setting, granularity: str, dtype: str, replica_grad: str
) -> Run:
    """Run one setting on this rank."""
    import torch

    exchange = make_exchange(setting, granularity, replica_grad=replica_grad)
    features = [make_features(exchange, dtype, width, payload) for payload, width in enumerate(WIDTHS)]
    for one in features:
        one.requires_grad_()
    received = exchange(features)
    shape = (setting.batch_rows, exchange.route.local_length)
    embeds = [
        torch.full((*shape, width), naive_model.TEXT, dtype=getattr(torch, dtype), requires_grad=True)
        for width in WIDTHS
    ]
    outputs = [received.merge_into(one, payload) for payload, one in enumerate(embeds)]
    given = torch.tensor(naive_model.weights_of(setting, rank), dtype=getattr(torch, dtype)).view(*shape, 1)
    torch.autograd.backward(outputs, [given.expand_as(one).contiguous() for one in outputs])
    names = [(item, row) for item, count in exchange.bucket for row in range(count)]
    for feature in features:
        # Every column of both payloads has the same gradient.
        assert bool((feature.grad == features[0].grad[:, :1]).all())
    return Run(
        exchange.route.input_splits,
        [list(record[:3]) for record in received.records()],
        [record.rows[:, 0].tolist() for record in received.records()],
        outputs[0][..., 0].tolist(),
        outputs[1][..., 1].tolist(),
        dict(zip(names, features[0].grad[:, 0].tolist(), strict=True)),
        float(embeds[0].grad[..., 0].to(torch.float64).sum()),
        exchange.group.transport.calls,
    )
