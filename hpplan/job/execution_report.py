"""The report of a run: what the ranks found and measured, per rank and in total, as plain data. No torch."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from hpplan.routing.link_time import predict
from hpplan.routing.routes_shape import DIGEST, GRANULARITY_FIELD
from hpplan.shapes.answer import AMOUNT, Answer
from hpplan.shapes.shape import FLAG, TEXT, Field, count, list_of, literal, or_null
from hpplan.version import __version__
from hpplan.workload.shape import DTYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.job.session import Backend
    from hpplan.job.settings import Settings
    from hpplan.routing.cluster import Cluster
    from hpplan.routing.routes import RoutingTable

REPORT_VERSION = 1

_SHOWN = 100
"""Mismatches in the report; all are counted."""

_MEASURED = or_null(AMOUNT)
_TIMES = (
    Field(
        "forward_ms", _MEASURED, "Median milliseconds of the exchange, forward; null where it was not run."
    ),
    Field("backward_ms", _MEASURED, "The same, backward."),
    Field("plain_forward_ms", _MEASURED, "The collective alone on buffers that are ready, forward."),
    Field("plain_backward_ms", _MEASURED, "The collective alone, backward."),
    Field("algbw", _MEASURED, "10^9 bytes/s forward, of all rows."),
    Field("busbw", _MEASURED, "10^9 bytes/s forward, of the rows that are not kept."),
)
TOTAL = Answer(
    None,
    Field("rows", count(0), "That ranks send and keep."),
    Field("rows_leaving", count(0), "That leave their rank."),
    Field("bytes", count(0), "Of `rows`."),
    Field("bytes_leaving", count(0), "Of `rows_leaving`."),
    *_TIMES,
    Field("rows_verified", count(0), "Rows and gradients that were compared."),
)
OF_RANK = Answer(
    None,
    Field("rank", count(0), "Global rank."),
    Field("host", TEXT, "Where it ran."),
    Field("rows_produced", count(0), "Rows of its bucket."),
    Field("rows_sent", count(0), "To others."),
    Field("rows_received", count(0), "From others."),
    Field("rows_kept", count(0), "From itself."),
    Field("bytes_sent", count(0), "Of `rows_sent`."),
    Field("bytes_received", count(0), "Of `rows_received`."),
    *_TIMES,
    Field("backward_algbw", _MEASURED, "10^9 bytes/s backward, of all rows."),
    Field("backward_busbw", _MEASURED, "10^9 bytes/s backward, of the rows that are not kept."),
    Field("rows_verified", count(0), "Rows and gradients that were compared."),
    Field("mismatch_count", count(0), "How many of them are wrong."),
)
MISMATCH = Answer(
    None,
    Field("code", TEXT, "HP511 to HP515; `hpplan explain` tells more."),
    Field("rank", count(0), "Global rank that holds it."),
    Field("item_id", count(-1), "The item; -1 where a text token is wrong."),
    Field("row", count(-1), "The row of the item; -1 where a text token is wrong."),
    Field("message", TEXT, "What is there, and what should be."),
)
_SECONDS = (
    Field("forward_seconds", _MEASURED, "Median seconds of the exchange, forward, of the slowest rank."),
    Field("predicted_forward_seconds", _MEASURED, "Over the links that were given; null without any."),
    Field("backward_seconds", _MEASURED, "Median seconds backward."),
    Field("predicted_backward_seconds", _MEASURED, "The same, predicted."),
)
REPORT = Answer(
    None,
    Field("hpplan_exec", literal([REPORT_VERSION]), "Version of the format."),
    Field("hpplan_version", TEXT, "The hpplan that ran."),
    Field(
        "verified", or_null(FLAG), "Whether all is as the routing table says; null where that was not asked."
    ),
    Field("world_size", count(1), "Ranks of the job."),
    Field("mesh", TEXT, "The axes, as `--mesh` takes them."),
    Field("mode", TEXT, "Which ranks exchange, by which collective."),
    GRANULARITY_FIELD,
    Field("digest", DIGEST, "Of the routing table."),
    Field("backend", TEXT, "Of torch.distributed."),
    Field("device", TEXT, "Type of the devices that held the features."),
    Field("dtype", literal(DTYPES), "Of the features."),
    Field("feature_width", count(1), "Columns of a feature row."),
    Field("payloads", count(1), "Tensors that travelled on the same routes."),
    Field("iterations", count(0), "Runs that were measured."),
    Field("warmup", count(0), "Runs before them."),
    Field("forward_ratio", _MEASURED, "Median time of the exchange over that of the collective, forward."),
    Field("backward_ratio", _MEASURED, "The same, backward."),
    *_SECONDS,
    Field("total", TOTAL.schema, "Of all ranks; a time is that of the slowest."),
    Field("ranks", list_of(OF_RANK), "Of each rank that exchanges, by global rank."),
    Field("mismatch_count", count(0), "Rows and gradients that are wrong."),
    Field("mismatches", list_of(MISMATCH), f"The first {_SHOWN} of them."),
)
"""What `hpplan exec --report` writes."""


def execution_report(
    routes: RoutingTable,
    settings: Settings,
    backend: Backend,
    results: Sequence[dict[str, Any]],
    links: Cluster | None = None,
) -> dict[str, Any]:
    """Return the report of a run from what each rank brought, by rank.

    Times are medians in milliseconds; bandwidths in 10^9 bytes/s; null where
    nothing was measured. Over `links`, times are predicted too.
    """
    forward, backward = (None, None) if links is None else predict(routes, links)
    workload = routes.workload
    exchanging = [result for result in results if "rows_sent" in result]
    mismatches = [one for result in exchanging for one in result["mismatches"]]
    count = sum(result["mismatch_count"] for result in exchanging)
    ranks = [_rank(result, workload.row_bytes, backward=settings.backward) for result in exchanging]
    return REPORT.of(
        settings,
        hpplan_exec=REPORT_VERSION,
        hpplan_version=__version__,
        verified=count == 0 if settings.verify else None,
        world_size=routes.mesh.world_size,
        mesh=str(routes.mesh),
        mode=routes.mode.name,
        granularity=routes.granularity,
        digest=routes.digest,
        backend=backend.name,
        device=backend.device_type,
        dtype=workload.dtype,
        feature_width=workload.feature_width,
        payloads=workload.payloads,
        forward_ratio=_ratio(exchanging, "forward"),
        backward_ratio=_ratio(exchanging, "backward"),
        forward_seconds=_seconds(exchanging, "forward"),
        predicted_forward_seconds=forward,
        backward_seconds=_seconds(exchanging, "backward"),
        predicted_backward_seconds=backward if settings.backward else None,
        total=_total(exchanging, ranks, workload.row_bytes),
        ranks=ranks,
        mismatch_count=count,
        mismatches=mismatches[:_SHOWN],
    )


def _rank(result: dict[str, Any], row_bytes: int, *, backward: bool) -> dict[str, Any]:
    sent, received, kept = result["rows_sent"], result["rows_received"], result["rows_kept"]
    all_rows, leaving = max(sent, received) + kept, max(sent, received)
    forward = _milliseconds(result["forward"])
    backward_time = _milliseconds(result["backward"]) if backward else None
    return OF_RANK.of(
        result,
        bytes_sent=sent * row_bytes,
        bytes_received=received * row_bytes,
        forward_ms=forward,
        backward_ms=backward_time,
        plain_forward_ms=_milliseconds(result["plain_forward"]),
        plain_backward_ms=_milliseconds(result["plain_backward"]),
        algbw=_bandwidth(all_rows * row_bytes, forward),
        busbw=_bandwidth(leaving * row_bytes, forward),
        backward_algbw=_bandwidth(all_rows * row_bytes, backward_time),
        backward_busbw=_bandwidth(leaving * row_bytes, backward_time),
    )


def _total(
    results: Sequence[dict[str, Any]], ranks: Sequence[dict[str, Any]], row_bytes: int
) -> dict[str, Any]:
    leaving = sum(rank["rows_sent"] for rank in ranks)
    rows = sum(rank["rows_received"] + rank["rows_kept"] for rank in ranks)
    forward, backward = (_milliseconds(_slowest(results, key)) for key in ("forward", "backward"))
    return TOTAL.of(
        rows=rows,
        rows_leaving=leaving,
        bytes=rows * row_bytes,
        bytes_leaving=leaving * row_bytes,
        forward_ms=forward,
        backward_ms=backward,
        plain_forward_ms=_milliseconds(_slowest(results, "plain_forward")),
        plain_backward_ms=_milliseconds(_slowest(results, "plain_backward")),
        algbw=_bandwidth(rows * row_bytes, forward),
        busbw=_bandwidth(leaving * row_bytes, forward),
        rows_verified=sum(rank["rows_verified"] for rank in ranks),
    )


def _slowest(results: Sequence[dict[str, Any]], key: str) -> list[float]:
    """Return each iteration's time: that of the rank that took longest."""
    return [max(times) for times in zip(*(result[key] for result in results), strict=True)]


def _ratio(results: Sequence[dict[str, Any]], key: str) -> float | None:
    """Return the quotient of the median times that stand beside it: exchange and plain collective."""
    ours, plain = _slowest(results, key), _slowest(results, f"plain_{key}")
    return round(median(ours) / median(plain), 4) if ours else None


def _seconds(results: Sequence[dict[str, Any]], key: str) -> float | None:
    times = _slowest(results, key)
    return float(f"{median(times):.6g}") if times else None


def _milliseconds(seconds: Sequence[float]) -> float | None:
    return round(median(seconds) * 1e3, 4) if seconds else None


def _bandwidth(size: int, milliseconds: float | None) -> float | None:
    return float(f"{size / milliseconds / 1e6:.4g}") if milliseconds else None
