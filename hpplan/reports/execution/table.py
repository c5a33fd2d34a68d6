"""The report of `hpplan exec` for people: one line a rank, totals, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpplan.reports.terminal.quantities import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpplan.reports.terminal.screen import Screen

_HEADERS = ("rank", "sent", "received", "kept", "bytes out", "fwd ms", "bwd ms", "algbw", "busbw", "ok")
_RIGHT = range(9)
_MEASURED = ("forward_ms", "backward_ms", "algbw", "busbw")


def render(report: Mapping[str, Any], screen: Screen) -> str:
    """Return the report as text. `report` is the data that `--report` writes."""
    several = len({rank["host"] for rank in report["ranks"]}) > 1
    headers = (*_HEADERS, "host") if several else _HEADERS
    rows = [_rank(report, rank, several=several) for rank in report["ranks"]]
    rows.append(_all(report, several=several))
    title = f"{report['mode']} on {report['mesh']}, {report['backend']} on {report['device']}"
    return screen.table(title, headers, rows, _RIGHT) + "\n" + screen.facts(_facts(report))


def _rank(report: Mapping[str, Any], rank: Mapping[str, Any], *, several: bool) -> tuple[str, ...]:
    verified = None if report["verified"] is None else rank["mismatch_count"] == 0
    return (
        str(rank["rank"]),
        f"{rank['rows_sent']:,}",
        f"{rank['rows_received']:,}",
        f"{rank['rows_kept']:,}",
        size(rank["bytes_sent"]),
        *(_number(rank[key]) for key in _MEASURED),
        _verdict(verified, rank["mismatch_count"]),
        *((rank["host"],) if several else ()),
    )


def _all(report: Mapping[str, Any], *, several: bool) -> tuple[str, ...]:
    total = report["total"]
    return (
        "all",
        *(f"{total['rows_leaving']:,}",) * 2,
        f"{total['rows'] - total['rows_leaving']:,}",
        size(total["bytes_leaving"]),
        *(_number(total[key]) for key in _MEASURED),
        _verdict(report["verified"], report["mismatch_count"]),
        *(("",) if several else ()),
    )


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    total = report["total"]
    payloads = f", {report['payloads']} payloads" if report["payloads"] > 1 else ""
    facts = [
        (
            "features",
            f"{report['dtype']}, width {report['feature_width']}{payloads}, by {report['granularity']}",
        ),
        *_idle(report),
        ("bandwidth", "GB/s forward: algbw of all rows, busbw of those that are not kept"),
    ]
    for key, name in (("forward", "forward / plain"), ("backward", "backward / plain")):
        ratio = report[f"{key}_ratio"]
        if ratio is not None:
            ours, plain = _number(total[f"{key}_ms"]), _number(total[f"plain_{key}_ms"])
            facts.append((name, f"{ratio:.2f} ({ours} ms, the collective alone {plain} ms)"))
    facts += [
        (f"predicted {key}", said)
        for key in ("forward", "backward")
        if (said := _predicted(report[f"predicted_{key}_seconds"], report[f"{key}_seconds"]))
    ]
    if report["verified"] is None:
        facts.append(("verified", "not asked for"))
    elif report["verified"]:
        facts.append(
            (
                "verified",
                f"yes: {total['rows_verified']:,} rows and gradients over all payloads, as the table says",
            )
        )
    else:
        facts.append(
            ("verified", f"NO: {report['mismatch_count']:,} of {total['rows_verified']:,} are wrong")
        )
    return facts


def _predicted(predicted: float | None, measured: float | None) -> str:
    """Say what links gave cause to expect, beside what was measured; nothing without links."""
    if predicted is None:
        return ""
    told = f"{_number(predicted * 1e3)} ms"
    if not measured:
        return f"{told}, not measured"
    return f"{told}, {predicted / measured:.2f} of the measured {_number(measured * 1e3)} ms"


def _idle(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a line for the ranks that the table leaves out, where there are any."""
    idle = report["world_size"] - len(report["ranks"])
    return [("idle", f"{idle:,} ranks of later pipeline stages, which exchange nothing")] if idle else []


def _verdict(verified: bool | None, wrong: int) -> str:
    if verified is None:
        return "-"
    return "yes" if verified else f"NO: {wrong:,} wrong"


def _number(value: float | None) -> str:
    """Spell a measured value in three digits."""
    if value is None:
        return "-"
    for least, digits in ((100, 0), (10, 1), (0.01, 2)):
        if value >= least:
            return f"{value:,.{digits}f}"
    return "<0.01" if value else "0"
