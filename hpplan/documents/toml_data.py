"""TOML documents as plain data, and where their nodes are in the text."""

from __future__ import annotations

import re
import sys

from hpplan.diagnostics import Diagnostic, Place, Position
from hpplan.documents.configuration_codes import TOML_SYNTAX
from hpplan.documents.disk.streams import decoded
from hpplan.documents.limits import MAX_DEPTH
from hpplan.documents.scalars import Data
from hpplan.documents.source import BOM, Source, Sources
from hpplan.errors import InvalidInput

# The standard library takes memory for each level of each level: some 24 KB of them took 670 MB.
_DEEP = re.compile(rf"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){{{MAX_DEPTH}}}""")
_WHERE = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")


def parse_toml(raw: bytes, name: str, sources: Sources) -> dict[str, Data]:
    """Return the data of the TOML document called `name`; raise InvalidInput where it is none."""
    source = Source(name, decoded(raw, name).removeprefix(BOM), "toml")
    sources.add(source)
    deep = _DEEP.search(source.text)
    if deep is not None:
        at = source.position(deep.start())
        raise InvalidInput([_syntax(name, f"keys are nested deeper than {MAX_DEPTH} levels", at)])
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data: dict[str, Data] = tomllib.loads(source.text)
    except RecursionError:
        raise InvalidInput([_syntax(name, "lists are nested too deep", (1, 1))]) from None
    except ValueError as error:  # TOML's own, and the interpreter's about numbers of thousands of digits
        message = str(error)
        match = _WHERE.search(message)
        end = source.position(len(source.text.rstrip()))
        at = (int(match[1]), int(match[2])) if match is not None and match[1] else end
        reason = _WHERE.sub("", message).split(";")[0]
        raise InvalidInput([_syntax(name, reason[:1].lower() + reason[1:], at)]) from None
    return data


def _syntax(name: str, message: str, position: Position) -> Diagnostic:
    return Diagnostic(TOML_SYNTAX, message, Place(name, position=position))
