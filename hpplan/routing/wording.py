"""Numbers in sentences."""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """Spell a number with its noun.

    >>> plural(1, "replica"), plural(2048, "rank")
    ('1 replica', '2,048 ranks')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
