"""Findings about the text of a document (HP0xx)."""

from __future__ import annotations

from hpplan.diagnostics import CodeFile

_FILE = CodeFile(__file__)

NOT_UTF8 = _FILE.code("HP001", "not-utf8", "error")
YAML_SYNTAX = _FILE.code("HP002", "yaml-syntax", "error")
JSON_SYNTAX = _FILE.code("HP003", "json-syntax", "error")
DUPLICATE_KEY = _FILE.code("HP004", "duplicate-key", "error")
NON_STRING_KEY = _FILE.code("HP005", "non-string-key", "error")
SEVERAL_DOCUMENTS = _FILE.code("HP006", "several-documents", "error")
UNKNOWN_TAG = _FILE.code("HP007", "unknown-tag", "error")
WRONG_TAG = _FILE.code("HP008", "wrong-tag", "error")
TOO_DEEP = _FILE.code("HP009", "too-deep", "error")
TOO_MANY_NODES = _FILE.code("HP010", "too-many-nodes", "error")
UNDEFINED_ALIAS = _FILE.code("HP011", "undefined-alias", "error")
RECURSIVE_ALIAS = _FILE.code("HP012", "recursive-alias", "error")
BAD_MERGE = _FILE.code("HP013", "bad-merge", "error")
NOT_A_MAPPING = _FILE.code("HP014", "not-a-mapping", "error")
EMPTY_DOCUMENT = _FILE.code("HP015", "empty-document", "error")
UNPRINTABLE_CHARACTER = _FILE.code("HP016", "unprintable-character", "error")
UNPAIRED_SURROGATE = _FILE.code("HP017", "unpaired-surrogate", "error")
NON_FINITE_NUMBER = _FILE.code("HP018", "non-finite-number", "error")
NUMBER_TOO_LARGE = _FILE.code("HP019", "number-too-large", "error")

CODES = _FILE.codes()
