"""How a scalar is spelled so that YAML 1.1 and YAML 1.2 readers agree on what it is."""

from __future__ import annotations

import re
from typing import Final

from hpplan.diagnostics import Diagnostic, Place
from hpplan.documents.codes import UNPAIRED_SURROGATE
from hpplan.errors import InvalidInput

# Words of letters and a few signs that no reader takes for anything else; one space between two words.
_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./()*+-]*(?: [A-Za-z0-9_./()*+-]+)*")
_READ_AS_OTHERS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_SINGLE_QUOTABLE: Final = (
    "[\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]*"
)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_TWO_DIGITS: Final = 0x100
_FOUR_DIGITS: Final = 0x10000


def spell_text(text: str) -> str:
    r"""Return a YAML scalar on one line that reads as `text`.

    >>> print(spell_text("model.norm"), spell_text("*.mlp"), spell_text("no"), spell_text("a\nb"))
    model.norm '*.mlp' 'no' "a\nb"

    Raises InvalidInput for half a surrogate pair, which no file can hold.
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_AS_OTHERS:
        return text
    if _is_single_quotable(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def spell_float(number: float) -> str:
    """Return a number that both readers take for the same float, such as `1.0e+20`, `.inf` or `.nan`."""
    if number != number:  # noqa: PLR0124 - only NaN differs from itself
        return ".nan"
    if number in {float("inf"), float("-inf")}:
        return ".inf" if number > 0 else "-.inf"
    spelled = repr(number)
    if "e" in spelled and "." not in spelled:
        spelled = spelled.replace("e", ".0e")
    return spelled


class Spellings(dict[str, str]):
    """Spellings of texts, each worked out once."""

    def __missing__(self, text: str) -> str:
        """Spell a text that was not asked for before."""
        spelled = self[text] = spell_text(text)
        return spelled


def _is_single_quotable(text: str) -> bool:
    if text.isascii():
        return text.isprintable()
    return re.fullmatch(_SINGLE_QUOTABLE, text) is not None


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if _is_single_quotable(character):
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - where Unicode puts surrogates
        raise unwritable()
    if code < _TWO_DIGITS:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < _FOUR_DIGITS else f"\\U{code:08X}"


def unwritable() -> InvalidInput:
    """Return the failure for a text that no UTF-8 file can hold."""
    message = "half a surrogate pair in a text that is to be written"
    return InvalidInput([Diagnostic(UNPAIRED_SURROGATE, message, Place("<output>"))])
