"""The report of `hpplan exec` for people: one line a rank, totals, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.reports.quantities import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.reports.screen import Screen

_HEADERS = (
    "rank",
    "host",
    "rows sent",
    "received",
    "bytes sent",
    "received",
    "forward ms",
    "backward ms",
    "algbw GB/s",
    "busbw GB/s",
    "verified",
)
_RIGHT = (0, 2, 3, 4, 5, 6, 7, 8, 9)


def render(report: Mapping[str, Any], screen: Screen) -> str:
    """Return the report as text. `report` is the data that `--report` writes."""
    rows = [_rank(report, rank) for rank in report["ranks"]]
    total = report["total"]
    rows.append(
        (
            "all",
            "",
            f"{total['rows']:,}",
            f"{total['rows']:,}",
            size(total["bytes"]),
            size(total["bytes"]),
            *(_number(total[key]) for key in ("forward_ms", "backward_ms", "algbw", "busbw")),
            _verdict(report["verified"], report["mismatch_count"]),
        )
    )
    title = f"{report['mode']} on {report['mesh']}, {report['backend']} on {report['device']}"
    return screen.table(title, _HEADERS, rows, _RIGHT) + "\n" + screen.facts(_facts(report))


def _rank(report: Mapping[str, Any], rank: Mapping[str, Any]) -> tuple[str, ...]:
    verified = None if report["verified"] is None else rank["mismatch_count"] == 0
    return (
        str(rank["rank"]),
        rank["host"],
        f"{rank['rows_sent']:,}",
        f"{rank['rows_received']:,}",
        size(rank["bytes_sent"]),
        size(rank["bytes_received"]),
        *(_number(rank[key]) for key in ("forward_ms", "backward_ms", "algbw", "busbw")),
        _verdict(verified, rank["mismatch_count"]),
    )


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    total = report["total"]
    payloads = f", {report['payloads']} payloads" if report["payloads"] > 1 else ""
    facts = [
        (
            "features",
            f"{report['dtype']}, width {report['feature_width']}{payloads}, by {report['granularity']}",
        ),
        ("leaving their rank", f"{total['rows_leaving']:,} rows, {size(total['bytes_leaving'])}"),
    ]
    for key, name in (("forward", "forward / plain"), ("backward", "backward / plain")):
        ratio = report[f"{key}_ratio"]
        if ratio is not None:
            ours, plain = _number(total[f"{key}_ms"]), _number(total[f"plain_{key}_ms"])
            facts.append((name, f"{ratio:.2f} ({ours} ms, the collective alone {plain} ms)"))
    if report["verified"] is None:
        facts.append(("verified", "not asked for"))
    elif report["verified"]:
        facts.append(
            ("verified", f"yes: {total['rows_verified']:,} rows and gradients, all as the table says")
        )
    else:
        facts.append(
            ("verified", f"NO: {report['mismatch_count']:,} of {total['rows_verified']:,} are wrong")
        )
    return facts


def _verdict(verified: bool | None, wrong: int) -> str:
    if verified is None:
        return "-"
    return "yes" if verified else f"NO: {wrong:,} wrong"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"
