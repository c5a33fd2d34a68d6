"""A walk over YAML text that knows where it is, for positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from hpplan.documents.scalars import PlainScalars
from hpplan.documents.steps import CLOSE, MAPPING, MERGE, SCALAR, SEQUENCE
from hpplan.documents.yaml_parser import open_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hpplan.documents.steps import Step

_COLLECTIONS = {
    MappingStartEvent: MAPPING,
    SequenceStartEvent: SEQUENCE,
    MappingEndEvent: CLOSE,
    SequenceEndEvent: CLOSE,
}


def yaml_steps(text: str) -> Iterator[Step]:
    """Yield the steps of the first document of a text.

    A scalar carries the text that it would have as a key. A text that is not
    YAML ends the walk where that shows.
    """
    plain = PlainScalars()
    anchored: dict[str, str | None] = {}
    depth = 0
    try:
        next_event = open_parser(text).get_event
        while True:
            event = next_event()
            kind = type(event)
            index = event.start_mark.index
            if kind is ScalarEvent:
                if event.value == "<<" and not event.style and event.tag is None:
                    yield MERGE, index, None
                else:
                    key = _as_key(event, plain)
                    if event.anchor is not None:
                        anchored[event.anchor] = key
                    yield SCALAR, index, key
            elif kind is AliasEvent:
                yield SCALAR, index, anchored.get(event.anchor)
            elif kind in _COLLECTIONS:
                step = _COLLECTIONS[kind]
                depth += -1 if step == CLOSE else 1
                yield step, index, None
                if depth == 0:
                    return
            elif kind.__name__ == "StreamEndEvent":
                return
    except YAMLError:
        return


def _as_key(event: ScalarEvent, plain: PlainScalars) -> str | None:
    spelled: str = event.value
    if event.style or event.tag is not None:
        return spelled
    value = plain[spelled]
    return None if value is None else str(value)
