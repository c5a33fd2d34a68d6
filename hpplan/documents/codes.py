"""Findings about the text of a document (HP0xx)."""

from __future__ import annotations

from hpplan.diagnostics import Code, CodeTexts

_TEXTS = CodeTexts(__file__)

NOT_UTF8 = Code("HP001", "not-utf8", "error", _TEXTS)
YAML_SYNTAX = Code("HP002", "yaml-syntax", "error", _TEXTS)
JSON_SYNTAX = Code("HP003", "json-syntax", "error", _TEXTS)
DUPLICATE_KEY = Code("HP004", "duplicate-key", "error", _TEXTS)
NON_STRING_KEY = Code("HP005", "non-string-key", "error", _TEXTS)
SEVERAL_DOCUMENTS = Code("HP006", "several-documents", "error", _TEXTS)
UNKNOWN_TAG = Code("HP007", "unknown-tag", "error", _TEXTS)
WRONG_TAG = Code("HP008", "wrong-tag", "error", _TEXTS)
TOO_DEEP = Code("HP009", "too-deep", "error", _TEXTS)
TOO_MANY_NODES = Code("HP010", "too-many-nodes", "error", _TEXTS)
UNDEFINED_ALIAS = Code("HP011", "undefined-alias", "error", _TEXTS)
RECURSIVE_ALIAS = Code("HP012", "recursive-alias", "error", _TEXTS)
BAD_MERGE = Code("HP013", "bad-merge", "error", _TEXTS)
NOT_A_MAPPING = Code("HP014", "not-a-mapping", "error", _TEXTS)
EMPTY_DOCUMENT = Code("HP015", "empty-document", "error", _TEXTS)
UNPRINTABLE_CHARACTER = Code("HP016", "unprintable-character", "error", _TEXTS)
UNPAIRED_SURROGATE = Code("HP017", "unpaired-surrogate", "error", _TEXTS)
NON_FINITE_NUMBER = Code("HP018", "non-finite-number", "error", _TEXTS)
NUMBER_TOO_LARGE = Code("HP019", "number-too-large", "error", _TEXTS)

CODES: tuple[Code, ...] = (
    NOT_UTF8,
    YAML_SYNTAX,
    JSON_SYNTAX,
    DUPLICATE_KEY,
    NON_STRING_KEY,
    SEVERAL_DOCUMENTS,
    UNKNOWN_TAG,
    WRONG_TAG,
    TOO_DEEP,
    TOO_MANY_NODES,
    UNDEFINED_ALIAS,
    RECURSIVE_ALIAS,
    BAD_MERGE,
    NOT_A_MAPPING,
    EMPTY_DOCUMENT,
    UNPRINTABLE_CHARACTER,
    UNPAIRED_SURROGATE,
    NON_FINITE_NUMBER,
    NUMBER_TOO_LARGE,
)
