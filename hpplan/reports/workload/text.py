"""Workloads as YAML or JSON, piece by piece: the canonical text, without all of it in memory."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from hpplan.documents.writer import dump_json, dump_yaml
from hpplan.shapes.shape import written
from hpplan.workload.micro_batches import FIELD, MICRO_BATCHES_KEY_ORDER
from hpplan.workload.shape import ITEM, KEY_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hpplan.documents.source import Format
    from hpplan.documents.writer import KeyOrder
    from hpplan.workload.micro_batch import MicroBatch

_ITEMS = 1000
_WORKLOADS = 32
"""Entries of a list that are spelled at a time."""


def workload_pieces(micro_batch: MicroBatch, format_name: Format) -> Iterator[str]:
    """Yield the document of one workload; the pieces add up to what the writer makes of it at once."""
    if micro_batch.settings.replicas is not None:
        data = micro_batch.to_data()
        yield dump_json(data) if format_name == "json" else dump_yaml(data, KEY_ORDER)
        return
    head = micro_batch.head()
    tail: dict[str, Any] = {} if micro_batch.buckets is None else {"buckets": micro_batch.buckets[0]}
    items = (written(ITEM.fields, item) for item in micro_batch.batches[0])
    if format_name == "yaml":
        yield dump_yaml(head, KEY_ORDER)
        yield from _yaml_list("items", items, KEY_ORDER)
        yield dump_yaml(tail, KEY_ORDER) if tail else ""
        return
    # JSON has its keys in the order of their characters, and the items somewhere among them.
    before = {key: value for key, value in {**head, **tail}.items() if key < "items"}
    after = {key: value for key, value in head.items() if key > "items"}
    yield dump_json(before).removesuffix("\n}\n") + ",\n"
    yield from _json_list("items", items)
    yield dump_json(after).replace("{", ",", 1)


def micro_batches_pieces(micro_batches: Iterable[MicroBatch], format_name: Format) -> Iterator[str]:
    """Yield the document of many workloads, one after the other."""
    workloads = (micro_batch.to_data() for micro_batch in micro_batches)
    if format_name == "yaml":
        yield from _yaml_list(FIELD, workloads, MICRO_BATCHES_KEY_ORDER, piece=_WORKLOADS)
        return
    yield "{\n"
    yield from _json_list(FIELD, workloads, piece=_WORKLOADS)
    yield "\n}\n"


def _yaml_list(field: str, entries: Iterator[Any], key_order: KeyOrder, piece: int = _ITEMS) -> Iterator[str]:
    first = True
    while chunk := list(islice(entries, piece)):
        text = dump_yaml({field: chunk}, key_order)
        head = f"{field}:\n"
        assert first or text.startswith(head), "a list of mappings at the top stands in lines of its own"
        yield text if first else text.removeprefix(head)
        first = False
    if first:
        yield dump_yaml({field: []}, key_order)


def _json_list(field: str, entries: Iterator[Any], piece: int = _ITEMS) -> Iterator[str]:
    """Yield `  "field": [...]`, as it stands in a mapping at the top."""
    first = True
    while chunk := list(islice(entries, piece)):
        body = dump_json({field: chunk}).removeprefix("{\n").removesuffix("\n  ]\n}\n")
        yield body if first else ",\n" + body.split("\n", 1)[1]
        first = False
    yield f'  "{field}": []' if first else "\n  ]"
