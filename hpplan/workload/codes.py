"""Codes HP41x to HP43x: what can be wrong with a workload, alone or on a mesh."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

MISSING_WORKLOAD_FIELD = Code("HP411", "missing-workload-field", "error", _TEXTS)
MISTYPED_WORKLOAD_FIELD = Code("HP412", "mistyped-workload-field", "error", _TEXTS)
UNKNOWN_WORKLOAD_FIELD = Code("HP413", "unknown-workload-field", "warning", _TEXTS)
SIZE_TOO_SMALL = Code("HP414", "size-too-small", "error", _TEXTS)
ROWS_BELOW_ONE = Code("HP415", "rows-below-one", "error", _TEXTS)
UNKNOWN_CP_LAYOUT = Code("HP416", "unknown-cp-layout", "error", _TEXTS)
UNKNOWN_DTYPE = Code("HP417", "unknown-dtype", "error", _TEXTS)
DUPLICATE_ITEM = Code("HP418", "duplicate-item", "error", _TEXTS)
UNKNOWN_ITEM = Code("HP419", "unknown-item", "error", _TEXTS)
ITEM_IN_TWO_BUCKETS = Code("HP420", "item-in-two-buckets", "error", _TEXTS)
ITEM_IN_NO_BUCKET = Code("HP421", "item-in-no-bucket", "error", _TEXTS)
BUCKET_COUNT_MISMATCH = Code("HP422", "bucket-count-mismatch", "error", _TEXTS)
ENCODER_CP_DOES_NOT_DIVIDE = Code("HP423", "encoder-cp-does-not-divide", "error", _TEXTS)
OVERLAPPING_SPANS = Code("HP424", "overlapping-spans", "error", _TEXTS)
SPAN_OUTSIDE_SEQUENCE = Code("HP425", "span-outside-sequence", "error", _TEXTS)
SPAN_ROWS_MISMATCH = Code("HP426", "span-rows-mismatch", "error", _TEXTS)
SPANS_OUT_OF_ORDER = Code("HP427", "spans-out-of-order", "error", _TEXTS)
DESTINATION_OUT_OF_RANGE = Code("HP428", "destination-out-of-range", "error", _TEXTS)
PARTIAL_ALL_GATHER = Code("HP429", "partial-all-gather", "error", _TEXTS)
OWNER_LEFT_OUT = Code("HP430", "owner-left-out", "warning", _TEXTS)
LENGTH_DOES_NOT_DIVIDE = Code("HP431", "length-does-not-divide", "error", _TEXTS)
DOCUMENTS_DO_NOT_ADD_UP = Code("HP432", "documents-do-not-add-up", "error", _TEXTS)
REPLICA_COUNT_MISMATCH = Code("HP433", "replica-count-mismatch", "error", _TEXTS)
ITEMS_BESIDE_REPLICAS = Code("HP434", "items-beside-replicas", "error", _TEXTS)
MISSING_FEATURE_EXCHANGE = Code("HP435", "missing-feature-exchange", "error", _TEXTS)
IDLE_PRODUCER = Code("HP436", "idle-producer", "warning", _TEXTS)
OVERSIZED_TRANSFER = Code("HP437", "oversized-transfer", "warning", _TEXTS)
OVERLOADED_RECEIVER = Code("HP438", "overloaded-receiver", "warning", _TEXTS)
SIZE_TOO_LARGE = Code("HP439", "size-too-large", "error", _TEXTS)
DOCUMENTS_OUTGROW_LENGTH = Code("HP440", "documents-outgrow-length", "warning", _TEXTS)
POOL_DOES_NOT_DIVIDE = Code("HP442", "pool-does-not-divide", "error", _TEXTS)
MISSING_INPUT_ROWS = Code("HP443", "missing-input-rows", "warning", _TEXTS)

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
    POOL_DOES_NOT_DIVIDE,
    MISSING_INPUT_ROWS,
)
