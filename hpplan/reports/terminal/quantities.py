"""Numbers as people read them: bytes, times, shares and short counts."""

from __future__ import annotations

_KILO = 1000


def short_count(number: int) -> str:
    """Spell a count in at most four characters.

    >>> [short_count(number) for number in (999, 1222, 34_567, 999_999, 7_400_000)]
    ['999', '1.2k', '35k', '1M', '7.4M']
    """
    scaled, unit = float(number), ""
    for larger in ("k", "M", "G", "T"):
        if scaled < 999.5:  # noqa: PLR2004 - what rounds to three digits
            break
        scaled, unit = scaled / _KILO, larger
    if not unit or scaled >= 9.95:  # noqa: PLR2004 - what rounds to two digits
        return f"{scaled:.0f}{unit}"
    return f"{scaled:.1f}".removesuffix(".0") + unit


def load(amount: float, cost: str) -> str:
    """Spell what encoding costs; a mean has a decimal.

    >>> load(1, "rows"), load(1200, "rows"), load(9, "rows^2"), load(2.5, "rows")
    ('1 row', '1,200 rows', '9 rows^2', '2.5 rows')
    """
    text = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.1f}"
    return f"{text} {'row' if cost == 'rows' and amount == 1 else cost}"


def size(number: float) -> str:
    """Spell a number of bytes in decimal units, as link figures are given.

    >>> size(999), size(4_900_000)
    ('999 B', '4.9 MB')
    """
    scaled, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if scaled < _KILO:
            break
        scaled, unit = scaled / _KILO, larger
    return f"{scaled:.0f} {unit}" if unit == "B" else f"{scaled:.1f} {unit}"


def duration(seconds: float) -> str:
    """Spell a time.

    >>> duration(8.2e-6), duration(0.00131), duration(2)
    ('8.2 us', '1.3 ms', '2.0 s')
    """
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * scale:.1f} {unit}"
    return f"{seconds:.1f} s"


def share(part: float, whole: float) -> str:
    """Spell a part of a whole in percent; nothing of nothing is none.

    >>> share(1, 3), share(0, 0)
    ('33.3%', '0.0%')
    """
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"
