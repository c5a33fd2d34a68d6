"""Codes HP41x to HP43x: what can be wrong with a workload, alone or on a mesh."""

from __future__ import annotations

from hpplan.diagnostics import Code

MISSING_WORKLOAD_FIELD = Code(
    "HP411",
    "missing-workload-field",
    "error",
    """\
## What it finds
A field of the workload that is required and not there.

## Why it hurts
Without it hpplan would have to guess which tokens an item's rows belong to.

## Example
```yaml
sequence: {cp_layout: zigzag}      # no length
items: []
```

## What to do
Add the field. A workload needs `sequence.length` and `items` (or `replicas`); an item needs
`item_id`, `batch_index`, `output_rows`, and `decoder_token_start` or `spans`.
""",
)

MISTYPED_WORKLOAD_FIELD = Code(
    "HP412",
    "mistyped-workload-field",
    "error",
    """\
## What it finds
A field of the workload with a value of another type than it has: a string or a fraction where a
whole number belongs, a mapping where a list belongs.

## Why it hurts
Row counts and token positions are exact; a value that has to be converted is a value that somebody
got wrong.

## Example
```yaml
items:
- {item_id: "0", batch_index: 0, decoder_token_start: 5, output_rows: 10}    # item_id is a number
```

## What to do
Write the value in the type that the message names.
""",
)

UNKNOWN_WORKLOAD_FIELD = Code(
    "HP413",
    "unknown-workload-field",
    "warning",
    """\
## What it finds
A field of the workload that hpplan does not know. It is left alone.

## Why it hurts
When it is a misspelling, the field that was meant keeps its default, and the routes differ from
what was asked for.

## Example
```yaml
sequence: {length: 4096, cp_layuot: zigzag}     # contiguous is used
items: []
```

## What to do
Correct the name; `hpplan schema workload` lists the fields. Ignore the warning when the field is
your own.
""",
)

SIZE_TOO_SMALL = Code(
    "HP414",
    "size-too-small",
    "error",
    """\
## What it finds
A size or an index that is zero or negative where that means nothing: lengths, widths and sizes
start at 1, ids and indices at 0.

## Why it hurts
Such a workload describes no batch.

## Example
```yaml
sequence: {length: 0}
```

## What to do
Write the real size.
""",
)

ROWS_BELOW_ONE = Code(
    "HP415",
    "rows-below-one",
    "error",
    """\
## What it finds
An item, or a span of one, with fewer than one row.

## Why it hurts
An item without rows has no token to belong to. A bucket may be empty; an item may not.

## Example
```yaml
items:
- {item_id: 3, batch_index: 0, decoder_token_start: 40, output_rows: 0}
```

## What to do
Leave the item out of `items` and of its bucket, or correct `output_rows`.
""",
)

UNKNOWN_CP_LAYOUT = Code(
    "HP416",
    "unknown-cp-layout",
    "error",
    """\
## What it finds
A `cp_layout` that hpplan does not know.

## Why it hurts
The layout says which tokens a rank holds. With another one all rows arrive at the wrong ranks.

## Example
```yaml
sequence: {length: 4096, cp_layout: striped}
```

## What to do
Use `contiguous` or `zigzag`.
""",
)

UNKNOWN_DTYPE = Code(
    "HP417",
    "unknown-dtype",
    "error",
    """\
## What it finds
A `dtype` that features cannot have.

## Why it hurts
Bytes and buffers are worked out from it.

## Example
```yaml
dtype: bf16        # bfloat16
```

## What to do
Use one of `bfloat16`, `float16`, `float32`, `float64`.
""",
)

DUPLICATE_ITEM = Code(
    "HP418",
    "duplicate-item",
    "error",
    """\
## What it finds
Two items of one replica with the same `item_id`.

## Why it hurts
Buckets and destinations name items by their id, so the rows of one would be sent in place of the
other's.

## Example
```yaml
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
- {item_id: 0, batch_index: 0, decoder_token_start: 20, output_rows: 8}
```

## What to do
Number the items of a replica without repeating.
""",
)

UNKNOWN_ITEM = Code(
    "HP419",
    "unknown-item",
    "error",
    """\
## What it finds
An id in `buckets` or `destinations` that no item has.

## Why it hurts
The producer would wait for features that no encoder makes.

## Example
```yaml
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
buckets: [[0, 1]]                # there is no item 1
```

## What to do
Name an existing item, or add the one that is missing.
""",
)

ITEM_IN_TWO_BUCKETS = Code(
    "HP420",
    "item-in-two-buckets",
    "error",
    """\
## What it finds
An item that stands in two buckets, or twice in one.

## Why it hurts
Its rows would arrive twice, and a receiver would put both copies on the same tokens.

## Example
```yaml
buckets: [[0, 1], [1]]
```

## What to do
Keep the item in the bucket of the rank that encodes it.
""",
)

ITEM_IN_NO_BUCKET = Code(
    "HP421",
    "item-in-no-bucket",
    "error",
    """\
## What it finds
An item that no bucket holds, while `buckets` are given.

## Why it hurts
Nobody encodes it, and its tokens keep their placeholder embeddings without a word.

## Example
```yaml
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
- {item_id: 1, batch_index: 0, decoder_token_start: 20, output_rows: 8}
buckets: [[0], []]
```

## What to do
Put it in a bucket, or leave `buckets` out and hpplan assigns all items.
""",
)

BUCKET_COUNT_MISMATCH = Code(
    "HP422",
    "bucket-count-mismatch",
    "error",
    """\
## What it finds
A number of buckets that does not fit the group: buckets x `encoder_cp_size` must be the number of
ranks that exchange.

## Why it hurts
Bucket b is produced by rank b x `encoder_cp_size`. With too many buckets a producer does not exist;
with too few the encoder ranks are others than was thought.

## Example
```yaml
encoder_cp_size: 1
buckets: [[0], [1]]              # with --mesh cp=2,tp=2 there are 4 ranks
```

## What to do
Give a bucket for each producer (empty ones are fine), correct `encoder_cp_size`, or leave `buckets`
out.
""",
)

ENCODER_CP_DOES_NOT_DIVIDE = Code(
    "HP423",
    "encoder-cp-does-not-divide",
    "error",
    """\
## What it finds
An `encoder_cp_size` that does not divide the number of ranks that exchange.

## Why it hurts
The last encoder group would lack ranks.

## Example
```yaml
encoder_cp_size: 3                # with --mesh cp=2,tp=2 there are 4 ranks
```

## What to do
Use a size that divides cp x tp.
""",
)

OVERLAPPING_SPANS = Code(
    "HP424",
    "overlapping-spans",
    "error",
    """\
## What it finds
Two spans that claim the same decoder token of one batch row.

## Why it hurts
One token cannot take two feature rows: which of them ends up there would depend on the order of
arrival.

## Example
```yaml
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 5, output_rows: 10}
- {item_id: 1, batch_index: 0, decoder_token_start: 12, output_rows: 8}     # 12, 13 and 14 are taken
```

## What to do
Correct the start or the rows of one of them; the related place is the other.
""",
)

SPAN_OUTSIDE_SEQUENCE = Code(
    "HP425",
    "span-outside-sequence",
    "error",
    """\
## What it finds
A span that leaves the sequence.

## Why it hurts
No rank holds those tokens, so their rows would be lost.

## Example
```yaml
sequence: {length: 32}
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 28, output_rows: 10}
```

## What to do
Correct the span or `sequence.length`. Padding tokens take no rows.
""",
)

SPAN_ROWS_MISMATCH = Code(
    "HP426",
    "span-rows-mismatch",
    "error",
    """\
## What it finds
Spans whose rows do not add up to the item's `output_rows`.

## Why it hurts
Row i belongs to the i-th token of the spans; with another sum every later row is off.

## Example
```yaml
items:
- item_id: 1
  batch_index: 0
  output_rows: 12
  spans: [{token_start: 3, rows: 4}, {token_start: 11, rows: 4}]
```

## What to do
Correct `output_rows`, or add the span that is missing (a video has a span for each frame).
""",
)

SPANS_OUT_OF_ORDER = Code(
    "HP427",
    "spans-out-of-order",
    "error",
    """\
## What it finds
Spans of one item that do not ascend, or whose first is not at `decoder_token_start`.

## Why it hurts
Row i of an item belongs to its i-th decoder token, so an order other than that of the tokens mixes
up the rows.

## Example
```yaml
items:
- {item_id: 1, batch_index: 0, output_rows: 8, spans: [{token_start: 11, rows: 4}, {token_start: 3, rows: 4}]}
```

## What to do
List the spans by ascending `token_start`; leave `decoder_token_start` out, or give the first
span's.
""",
)

DESTINATION_OUT_OF_RANGE = Code(
    "HP428",
    "destination-out-of-range",
    "error",
    """\
## What it finds
A destination that is no rank of the parent, or one that is listed twice.

## Why it hurts
Destinations are parent ranks, from 0 to cp x tp - 1. Rows sent elsewhere reach nobody, and rows
sent twice arrive twice.

## Example
```yaml
destinations: {0: [0, 7]}         # with --mesh cp=2,tp=2 the parent has ranks 0 to 3
```

## What to do
Use parent ranks (cp coordinate x tp size + tp coordinate), not global ones, each once; or leave
`destinations` out and the owners receive.
""",
)

PARTIAL_ALL_GATHER = Code(
    "HP429",
    "partial-all-gather",
    "error",
    """\
## What it finds
Explicit destinations that leave out ranks of a group that exchanges by all-gather.

## Why it hurts
An all-gather reaches every rank of its group, so the list cannot be kept.

## Example
```yaml
destinations: {0: [0, 1]}         # with --mesh tp=4, without sp
```

## What to do
Leave the item out of `destinations`, or list every rank of the TP group.
""",
)

OWNER_LEFT_OUT = Code(
    "HP430",
    "owner-left-out",
    "warning",
    """\
## What it finds
Explicit destinations that leave out a rank which holds tokens of the item.

## Why it hurts
That rank keeps its placeholder embeddings at those tokens, and trains on them.

## Example
```yaml
destinations: {0: [0]}            # rank 1 holds tokens of item 0 as well
```

## What to do
Add the owners that the message names, or leave the item out of `destinations`.
""",
)

LENGTH_DOES_NOT_DIVIDE = Code(
    "HP431",
    "length-does-not-divide",
    "error",
    """\
## What it finds
A sequence, or one of its documents, whose length the ranks cannot share out evenly.

## Why it hurts
Ranks would hold shards of different lengths, which attention kernels and collectives refuse.

## Example
```yaml
sequence: {length: 30, cp_layout: zigzag}      # with cp=2 a multiple of 4 is needed: 32 is the next
```

## What to do
Use the length that the message names, set `pad: true`, or route with `--pad`: padding goes to the
end of the sequence and gets no rows. With zigzag each document is padded at its own end, so later
documents move on; items keep the tokens that they have without padding.
""",
)

DOCUMENTS_DO_NOT_ADD_UP = Code(
    "HP432",
    "documents-do-not-add-up",
    "error",
    """\
## What it finds
Documents whose lengths do not add up to the length of the sequence.

## Why it hurts
Zigzag is done inside each document; with a wrong boundary every later document is dealt out
wrongly.

## Example
```yaml
sequence: {length: 4096, documents: [1024, 3000]}
```

## What to do
Correct the lengths; padding inside the sequence belongs to a document.
""",
)

REPLICA_COUNT_MISMATCH = Code(
    "HP433",
    "replica-count-mismatch",
    "error",
    """\
## What it finds
A list of `replicas` with another length than the mesh has data-parallel replicas.

## Why it hurts
Some replica would have no batch, or a batch no ranks.

## Example
```yaml
replicas: [{items: []}, {items: []}]           # with --mesh dp=4
```

## What to do
Give a workload for each replica, or `items` at the top level, which every replica runs.
""",
)

ITEMS_BESIDE_REPLICAS = Code(
    "HP434",
    "items-beside-replicas",
    "error",
    """\
## What it finds
`items`, `buckets` or `destinations` beside `replicas`, or fields of a workload beside
`micro_batches`.

## Why it hurts
One of the two would be ignored.

## Example
```yaml
items: []
replicas: [{items: []}, {items: []}]
```

## What to do
Give each replica its own, inside `replicas`, or one for all at the top level; give each
micro-batch its own, inside `micro_batches`.
""",
)

MISSING_FEATURE_EXCHANGE = Code(
    "HP435",
    "missing-feature-exchange",
    "error",
    """\
## What it finds
A plan that should be routed and carries no workload under `feature_exchange`.

## Why it hurts
There are no items to route.

## Example
```yaml
param_plan: {}
boundary_classes: {}             # and no feature_exchange
```

## What to do
Add the workload under `feature_exchange`, or give it with `--workload FILE`.
""",
)

IDLE_PRODUCER = Code(
    "HP436",
    "idle-producer",
    "warning",
    """\
## What it finds
A producer that gets no item. Where there are fewer items than producers, no assignment would change that:
`hpplan route` then says so as an info, and `hpplan validate` does not.

## Why it hurts
The other encoder ranks work while this one waits.

## Example
```yaml
buckets: [[0, 1, 2], [3], [], [4]]
```

## What to do
Move items to it, or leave `buckets` out and let hpplan balance them. With fewer items than producers, let
several ranks encode each item where the encoder can (`encoder_cp_size`), or put more samples into a
micro-batch.
""",
)

OVERSIZED_TRANSFER = Code(
    "HP437",
    "oversized-transfer",
    "warning",
    """\
## What it finds
A rank that sends to the others, or receives from them, more than 2^31 - 1 bytes in one collective.

## Why it hurts
All that a rank sends is one tensor, and so is all that it receives. Rows travel as uint8, whatever their
dtype, so that its elements are bytes. torch counts them in 64 bits with gloo and NCCL; libraries and kernels
of other accelerators, and tools that replay the exchange, count in 32 bits in places, and fail or wrap around
above that. And a rank needs buffers of that size, forward and backward.

## Example
```yaml
feature_width: 8192
dtype: bfloat16
items:
- {item_id: 0, batch_index: 0, decoder_token_start: 0, output_rows: 150000}
```

## What to do
Use row granularity, smaller micro-batches or fewer payloads in one exchange.
""",
)

OVERLOADED_RECEIVER = Code(
    "HP438",
    "overloaded-receiver",
    "warning",
    """\
## What it finds
A rank that receives more than twice the mean from other ranks.

## Why it hurts
The exchange takes as long as its busiest rank.

## Example
```yaml
sequence: {length: 65536, cp_layout: contiguous}   # all images at the start: one rank owns them
```

## What to do
Try `--cp-layout zigzag` where the model allows it, `--granularity row`, or `--assign local`, which
keeps rows where they are needed.
""",
)

SIZE_TOO_LARGE = Code(
    "HP439",
    "size-too-large",
    "error",
    """\
## What it finds
A number above 2^53 - 1.

## Why it hurts
No sequence is that long. Some JSON readers round such numbers, so that ranks would read different
ones.

## Example
```yaml
sequence: {length: 36893488147419103232}
```

## What to do
Write the real size.
""",
)

DOCUMENTS_OUTGROW_LENGTH = Code(
    "HP440",
    "documents-outgrow-length",
    "warning",
    """\
## What it finds
Packed documents that are padded one by one, as zigzag needs it, and then take more tokens than the length of
the sequence.

## Why it hurts
The length is what the job has memory for, and what its kernels are built for. Samples that were packed
without regard to the padding of each make longer batch rows, of another length in each micro-batch.

## Example
```yaml
sequence: {length: 32, cp_layout: zigzag, pad: true, documents: [5, 9, 11, 4, 3]}   # with cp=4 these are 56
items: []
```

## What to do
Pack for the mesh that the job runs on: with `--mesh`, `hpplan workload --pack` counts each sample with its
padding.
""",
)

CODES: tuple[Code, ...] = (
    MISSING_WORKLOAD_FIELD,
    MISTYPED_WORKLOAD_FIELD,
    UNKNOWN_WORKLOAD_FIELD,
    SIZE_TOO_SMALL,
    ROWS_BELOW_ONE,
    UNKNOWN_CP_LAYOUT,
    UNKNOWN_DTYPE,
    DUPLICATE_ITEM,
    UNKNOWN_ITEM,
    ITEM_IN_TWO_BUCKETS,
    ITEM_IN_NO_BUCKET,
    BUCKET_COUNT_MISMATCH,
    ENCODER_CP_DOES_NOT_DIVIDE,
    OVERLAPPING_SPANS,
    SPAN_OUTSIDE_SEQUENCE,
    SPAN_ROWS_MISMATCH,
    SPANS_OUT_OF_ORDER,
    DESTINATION_OUT_OF_RANGE,
    PARTIAL_ALL_GATHER,
    OWNER_LEFT_OUT,
    LENGTH_DOES_NOT_DIVIDE,
    DOCUMENTS_DO_NOT_ADD_UP,
    REPLICA_COUNT_MISMATCH,
    ITEMS_BESIDE_REPLICAS,
    MISSING_FEATURE_EXCHANGE,
    IDLE_PRODUCER,
    OVERSIZED_TRANSFER,
    OVERLOADED_RECEIVER,
    SIZE_TOO_LARGE,
    DOCUMENTS_OUTGROW_LENGTH,
)
