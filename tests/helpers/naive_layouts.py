"""CP layouts one token at a time, for the models of routing and of the exchange."""

from __future__ import annotations


def local_tokens(
    length: int, layout: str, documents: list[int], cp: int, tp: int, *, sp: bool
) -> list[list[int]]:
    """Return the tokens that each parent rank holds, in its local order."""
    per_cp: list[list[int]] = [[] for _ in range(cp)]
    if layout == "contiguous":
        for token in range(length):
            per_cp[token * cp // length].append(token)
    else:
        assert layout == "zigzag", f"write {layout} down in tests/helpers/naive_layouts.py too"
        start = 0
        for document in documents or [length]:
            tokens = list(range(start, start + document))
            start += document
            size = document // (2 * cp)
            chunks = [tokens[number * size : (number + 1) * size] for number in range(2 * cp)]
            for rank in range(cp):
                per_cp[rank] += chunks[rank] + chunks[2 * cp - 1 - rank]
    found: list[list[int]] = []
    for tokens in per_cp:
        for rank in range(tp):
            size = len(tokens) // tp
            found.append(tokens[rank * size : (rank + 1) * size] if sp else tokens)
    return found
