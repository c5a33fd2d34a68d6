"""Codes HP41x to HP44x: what can be wrong with a workload, alone or on a mesh."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

MISSING_WORKLOAD_FIELD = _FILE.code("HP411", "missing-workload-field", "error")
MISTYPED_WORKLOAD_FIELD = _FILE.code("HP412", "mistyped-workload-field", "error")
UNKNOWN_WORKLOAD_FIELD = _FILE.code("HP413", "unknown-workload-field", "warning")
SIZE_TOO_SMALL = _FILE.code("HP414", "size-too-small", "error")
ROWS_BELOW_ONE = _FILE.code("HP415", "rows-below-one", "error")
UNKNOWN_CP_LAYOUT = _FILE.code("HP416", "unknown-cp-layout", "error")
UNKNOWN_DTYPE = _FILE.code("HP417", "unknown-dtype", "error")
DUPLICATE_ITEM = _FILE.code("HP418", "duplicate-item", "error")
UNKNOWN_ITEM = _FILE.code("HP419", "unknown-item", "error")
ITEM_IN_TWO_BUCKETS = _FILE.code("HP420", "item-in-two-buckets", "error")
ITEM_IN_NO_BUCKET = _FILE.code("HP421", "item-in-no-bucket", "error")
BUCKET_COUNT_MISMATCH = _FILE.code("HP422", "bucket-count-mismatch", "error")
ENCODER_CP_DOES_NOT_DIVIDE = _FILE.code("HP423", "encoder-cp-does-not-divide", "error")
OVERLAPPING_SPANS = _FILE.code("HP424", "overlapping-spans", "error")
SPAN_OUTSIDE_SEQUENCE = _FILE.code("HP425", "span-outside-sequence", "error")
SPAN_ROWS_MISMATCH = _FILE.code("HP426", "span-rows-mismatch", "error")
SPANS_OUT_OF_ORDER = _FILE.code("HP427", "spans-out-of-order", "error")
DESTINATION_OUT_OF_RANGE = _FILE.code("HP428", "destination-out-of-range", "error")
PARTIAL_ALL_GATHER = _FILE.code("HP429", "partial-all-gather", "error")
OWNER_LEFT_OUT = _FILE.code("HP430", "owner-left-out", "warning")
LENGTH_DOES_NOT_DIVIDE = _FILE.code("HP431", "length-does-not-divide", "error")
DOCUMENTS_DO_NOT_ADD_UP = _FILE.code("HP432", "documents-do-not-add-up", "error")
REPLICA_COUNT_MISMATCH = _FILE.code("HP433", "replica-count-mismatch", "error")
ITEMS_BESIDE_REPLICAS = _FILE.code("HP434", "items-beside-replicas", "error")
MISSING_FEATURE_EXCHANGE = _FILE.code("HP435", "missing-feature-exchange", "error")
IDLE_PRODUCER = _FILE.code("HP436", "idle-producer", "warning")
OVERSIZED_TRANSFER = _FILE.code("HP437", "oversized-transfer", "warning")
OVERLOADED_RECEIVER = _FILE.code("HP438", "overloaded-receiver", "warning")
SIZE_TOO_LARGE = _FILE.code("HP439", "size-too-large", "error")
DOCUMENTS_OUTGROW_LENGTH = _FILE.code("HP440", "documents-outgrow-length", "warning")
POOL_DOES_NOT_DIVIDE = _FILE.code("HP442", "pool-does-not-divide", "error")
MISSING_INPUT_ROWS = _FILE.code("HP443", "missing-input-rows", "warning")

CODES = _FILE.codes()
