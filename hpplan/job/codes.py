"""Codes HP51x: what verification by fingerprints can find on the ranks of a job."""

from __future__ import annotations

from hpplan.diagnostics import Code

WRONG_ROW = Code(
    "HP511",
    "wrong-row",
    "error",
    """\
## What it finds
A received row that does not hold what its producer sent for it: another row, an older one, or
nothing that was sent at all. The message names the rank, the item and the row, and what is there.

## Why it hurts
The model trains on another image's features, or on garbage, without any error.

## Example
```text
rank 2 received item 7 row 12 wrong: it holds item 3 row 12
```

## What to do
Run `hpplan exec` again with `--backend gloo`. If that passes, the fault lies with the backend, its
network or its driver on the rank named; if not, report a bug in hpplan.
""",
)

WRONG_ORDER = Code(
    "HP512",
    "wrong-order",
    "error",
    """\
## What it finds
Records that a rank was not handed in order of batch row, first token and item id.

## Why it hurts
A decoder that walks through its image tokens takes one image's rows for another's.

## Example
```text
rank 0 was handed item 5 row 0 where item 2 row 0 is due
```

## What to do
Report a bug in hpplan, with the routing table.
""",
)

WRONG_POSITION = Code(
    "HP513",
    "wrong-position",
    "error",
    """\
## What it finds
A token of a rank's local sequence that did not get its row when the received rows were merged into
the embeddings, or a text token that was overwritten.

## Why it hurts
The decoder sees an image shifted against its text.

## Example
```text
rank 1 has token 14 of batch row 0 wrong: item 0 row 3 is due, and it holds item 0 row 4
```

## What to do
Report a bug in hpplan, with the routing table.
""",
)

WRONG_GRADIENT = Code(
    "HP514",
    "wrong-gradient",
    "error",
    """\
## What it finds
A row whose producer did not get back the gradient that the row's receivers sent: lost, doubled, or
that of another row.

## Why it hurts
The encoder learns from the wrong images; the loss goes down more slowly and nothing says why.

## Example
```text
rank 0 got the gradient of item 7 row 12 wrong
```

## What to do
As for HP511: run again with `--backend gloo` to tell the backend's fault from ours.
""",
)

CODES: tuple[Code, ...] = (WRONG_ROW, WRONG_ORDER, WRONG_POSITION, WRONG_GRADIENT)
