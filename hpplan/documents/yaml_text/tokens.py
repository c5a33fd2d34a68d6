"""A walk over YAML text that knows where it is, for positions."""

from __future__ import annotations

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from hpplan.documents.scalars import PlainScalars
from hpplan.documents.tokens import CLOSE, MAPPING, MERGE, SCALAR, SEQUENCE, Token, Tokens
from hpplan.documents.yaml_text.parser import Event, open_parser

_OPENINGS = {MappingStartEvent: MAPPING, SequenceStartEvent: SEQUENCE}
_CLOSINGS = (MappingEndEvent, SequenceEndEvent)
_ENDS = (DocumentEndEvent, StreamEndEvent)


def yaml_tokens(text: str) -> Tokens:
    """Yield the tokens of the first document of a text.

    A scalar carries the text that it would have as a key. A text that is not
    YAML ends the walk where that shows.
    """
    walk = _Walk(text)
    try:
        while type(event := walk.get_event()) not in _ENDS:
            token = walk.token(event)
            if token is not None and (yield token):
                walk.pass_over(open_nodes=1 if token[0] in _OPENINGS.values() else 0)
    except YAMLError:
        return


class _Walk:
    """The events of a text, and the scalars that have anchors so far."""

    def __init__(self, text: str) -> None:
        self.get_event = open_parser(text).get_event
        self._anchored: dict[str, str | None] = {}
        self._plain = PlainScalars()

    def token(self, event: Event) -> Token | None:
        kind = type(event)
        index = event.start_mark.index
        if kind is ScalarEvent:
            if event.value == "<<" and not event.style and event.tag is None:
                return MERGE, index, event.value
            return SCALAR, index, self.key(event)
        if kind is AliasEvent:
            return SCALAR, index, self._anchored.get(event.anchor)
        if kind in _OPENINGS:
            return _OPENINGS[kind], index, None
        return (CLOSE, index, None) if kind in _CLOSINGS else None

    def key(self, event: Event) -> str | None:
        """Return the text that a scalar has as a key, and remember it under the scalar's anchor."""
        key: str | None = event.value
        if not event.style and event.tag is None:
            value = self._plain[event.value]
            key = None if value is None else str(value)
        if event.anchor is not None:
            self._anchored[event.anchor] = key
        return key

    def pass_over(self, *, open_nodes: int) -> None:
        """Go on to the end of the innermost `open_nodes`, or behind the next node where that is 0."""
        get_event = self.get_event
        while True:
            event = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                if event.anchor is not None:
                    self.key(event)
            elif kind in _OPENINGS:
                open_nodes += 1
                continue
            elif kind in _CLOSINGS:
                open_nodes -= 1
            elif kind in _ENDS:
                return
            if not open_nodes:
                return
