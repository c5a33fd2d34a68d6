"""Codes HP5xx: what can be wrong with a routing table."""

from __future__ import annotations

from hpplan.diagnostics import Code

MALFORMED_ROUTES = Code(
    "HP501",
    "malformed-routes",
    "error",
    """\
## What it finds
A document that says `hpplan_routes` and does not have the fields of a routing table, or has a
version that this hpplan does not read.

## Why it hurts
Ranks that run half a table wait for each other.

## Example
```json
{"hpplan_routes": 1, "mesh": {"axes": {"tp": 2}, "sp": true}}
```

## What to do
Make the table with `hpplan route … --format json -o routes.json`, and do not edit it.
""",
)

DIGEST_MISMATCH = Code(
    "HP502",
    "digest-mismatch",
    "error",
    """\
## What it finds
A routing table whose content is not what its digest was made from.

## Why it hurts
Ranks agree on a digest before they send anything. A table that was changed by hand would pass for
the one it was.

## Example
```json
{"hpplan_routes": 1, "digest": "sha256:00…", …}
```

## What to do
Change the workload, and make the table again with `hpplan route`.
""",
)

ROUTES_DIFFER = Code(
    "HP503",
    "routes-differ",
    "error",
    """\
## What it finds
A routing table whose parents, destinations, transfers, matrix or traffic are not those that its
mesh, workload, buckets and granularity give.

## Why it hurts
A receiver that expects other rows than are sent gets wrong data, or waits for ever.

## Example
```json
{"transfers": [[0, 0, 0, 0, 9]], …}
```

## What to do
Make the table again with `hpplan route`; give explicit `buckets` and `destinations` in the workload
to route by hand.
""",
)

UNKNOWN_ROUTES_FIELD = Code(
    "HP505",
    "unknown-routes-field",
    "warning",
    """\
## What it finds
A field of a routing table that hpplan does not know, and so does not check.

## Why it hurts
Whoever wrote it expects something of it, and nothing happens. It may be a misspelt field.

## Example
```json
{"hpplan_routes": 1, "comment": "of 3 May", …}
```

## What to do
Correct its name, or leave it out: hpplan reads the table without it.
""",
)

CODES: tuple[Code, ...] = (
    MALFORMED_ROUTES,
    DIGEST_MISMATCH,
    ROUTES_DIFFER,
    UNKNOWN_ROUTES_FIELD,
)
