"""The report of a run: what the ranks found and measured, per rank and in total, as plain data. No torch."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from hpplan.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpplan.job.session import Backend
    from hpplan.job.settings import Settings
    from hpplan.routing.routes import RoutingTable

REPORT_VERSION = 1

_SHOWN = 100
"""Mismatches in the report; all are counted."""


def execution_report(
    routes: RoutingTable, settings: Settings, backend: Backend, results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the report of a run from what each rank brought, by rank.

    Times are medians in milliseconds; bandwidths in 10^9 bytes/s; null where
    nothing was measured.
    """
    workload = routes.workload
    exchanging = [result for result in results if "rows_sent" in result]
    mismatches = [one for result in exchanging for one in result["mismatches"]]
    count = sum(result["mismatch_count"] for result in exchanging)
    ranks = [_rank(result, workload.row_bytes, backward=settings.backward) for result in exchanging]
    return {
        "hpplan_exec": REPORT_VERSION,
        "hpplan_version": __version__,
        "verified": count == 0 if settings.verify else None,
        "world_size": routes.mesh.world_size,
        "mesh": str(routes.mesh),
        "mode": routes.mode.name,
        "granularity": routes.granularity,
        "digest": routes.digest,
        "backend": backend.name,
        "device": backend.device_type,
        "dtype": workload.dtype,
        "feature_width": workload.feature_width,
        "payloads": workload.payloads,
        "iterations": settings.iterations,
        "warmup": settings.warmup,
        "forward_ratio": _ratio(exchanging, "forward"),
        "backward_ratio": _ratio(exchanging, "backward"),
        "total": _total(exchanging, ranks, workload.row_bytes),
        "ranks": ranks,
        "mismatch_count": count,
        "mismatches": mismatches[:_SHOWN],
    }


def _rank(result: dict[str, Any], row_bytes: int, *, backward: bool) -> dict[str, Any]:
    sent, received, kept = result["rows_sent"], result["rows_received"], result["rows_kept"]
    all_rows, leaving = max(sent, received) + kept, max(sent, received)
    forward = _milliseconds(result["forward"])
    backward_time = _milliseconds(result["backward"]) if backward else None
    return {
        "rank": result["rank"],
        "host": result["host"],
        "rows_produced": result["rows_produced"],
        "rows_sent": sent,
        "rows_received": received,
        "rows_kept": kept,
        "bytes_sent": sent * row_bytes,
        "bytes_received": received * row_bytes,
        "forward_ms": forward,
        "backward_ms": backward_time,
        "plain_forward_ms": _milliseconds(result["plain_forward"]),
        "plain_backward_ms": _milliseconds(result["plain_backward"]),
        "algbw": _bandwidth(all_rows * row_bytes, forward),
        "busbw": _bandwidth(leaving * row_bytes, forward),
        "backward_algbw": _bandwidth(all_rows * row_bytes, backward_time),
        "backward_busbw": _bandwidth(leaving * row_bytes, backward_time),
        "rows_verified": result["rows_verified"],
        "mismatch_count": result["mismatch_count"],
    }


def _total(
    results: Sequence[dict[str, Any]], ranks: Sequence[dict[str, Any]], row_bytes: int
) -> dict[str, Any]:
    leaving = sum(rank["rows_sent"] for rank in ranks)
    rows = leaving + sum(rank["rows_kept"] for rank in ranks)
    forward, backward = (_milliseconds(_slowest(results, key)) for key in ("forward", "backward"))
    return {
        "rows": rows,
        "rows_leaving": leaving,
        "bytes": rows * row_bytes,
        "bytes_leaving": leaving * row_bytes,
        "forward_ms": forward,
        "backward_ms": backward,
        "plain_forward_ms": _milliseconds(_slowest(results, "plain_forward")),
        "plain_backward_ms": _milliseconds(_slowest(results, "plain_backward")),
        "algbw": _bandwidth(rows * row_bytes, forward),
        "busbw": _bandwidth(leaving * row_bytes, forward),
        "rows_verified": sum(rank["rows_verified"] for rank in ranks),
    }


def _slowest(results: Sequence[dict[str, Any]], key: str) -> list[float]:
    """Return each iteration's time: that of the rank that took longest."""
    return [max(times) for times in zip(*(result[key] for result in results), strict=True)]


def _ratio(results: Sequence[dict[str, Any]], key: str) -> float | None:
    """Return the median over iterations of exchange to plain collective, which took turns."""
    pairs = list(zip(_slowest(results, key), _slowest(results, f"plain_{key}"), strict=True))
    return round(median(ours / plain for ours, plain in pairs), 4) if pairs else None


def _milliseconds(seconds: Sequence[float]) -> float | None:
    return round(median(seconds) * 1e3, 4) if seconds else None


def _bandwidth(size: int, milliseconds: float | None) -> float | None:
    return float(f"{size / milliseconds / 1e6:.4g}") if milliseconds else None
