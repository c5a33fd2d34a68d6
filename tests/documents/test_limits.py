"""Small documents that would take all memory or all time, were there no limits."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from hpplan.documents.reader import parse_document
from hpplan.errors import InvalidInput

MEASURE = """
import sys, time
from hpplan.documents.reader import parse_document
from hpplan.errors import InvalidInput
raw = sys.stdin.buffer.read()
start = time.process_time()
try:
    parse_document(raw, "plan")
    code = "none"
except InvalidInput as invalid:
    code = invalid.diagnostics[0].code.id
seconds = time.process_time() - start
# getrusage() would count the memory of the process that started this one.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, seconds, peak)
"""


def bomb(first: str, line: str) -> bytes:
    """Return nine levels of ten aliases each: a billion nodes in 400 bytes."""
    names = "abcdefghi"
    lines = [f"a: &a {first}"]
    lines += [line.format(name, ",".join([f"*{below}"] * 10)) for below, name in pairwise(names)]
    return "\n".join(lines).encode()


BOMBS = {
    "lists": (bomb("[x,x,x,x,x,x,x,x,x]", "{0}: &{0} [{1}]"), "HP010"),
    "mappings": (
        b"a: &a {k: x}\n"
        + b"\n".join(
            f"{name}: &{name} {{{', '.join(f'k{n}: *{below}' for n in range(12))}}}".encode()
            for below, name in zip("abcdefgh", "bcdefghi", strict=False)
        ),
        "HP010",
    ),
    "merges": (
        b"a: &a {"
        + b", ".join(b"k%d: 1" % n for n in range(5000))
        + b"}\n"
        + b"b: {<<: ["
        + b"*a, " * 20000
        + b"]}\n",
        "HP010",
    ),
    "many aliases": (b"a: &a [" + b"1," * 3000 + b"]\nb: [" + b"*a, " * 4000 + b"]\n", "HP010"),
    "open brackets": (b"[" * 5000, "HP009"),
    "closed brackets in JSON": (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "HP009"),
    "brackets in YAML": (b"a: " + b"[" * 5000 + b"]" * 5000, "HP009"),
    "open braces": (b"{a: " * 5000, "HP009"),
    "dashes": (b"a:\n  " + b"- " * 5000, "HP009"),
    "a hundred thousand brackets": (b'{"a":' + b"[" * 100_000, "HP009"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_within_a_second_and_200_megabytes(name: str) -> None:
    """A small file could stop the machine that checks it."""
    raw, code = BOMBS[name]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=raw, capture_output=True, check=True, timeout=60
    )
    found, seconds, kilobytes = done.stdout.split()
    assert found.decode() == code
    assert float(seconds) < 1
    assert int(kilobytes) < 200 * 1024


def test_ten_million_nodes_are_allowed() -> None:
    """A document just below the limit would be refused, or one above it accepted."""
    # 1,000 items, shared 9,990 times: 9,991,000 nodes with the lists themselves.
    raw = b"a: &a [" + b"1," * 1000 + b"]\nb: [" + b"*a," * 9980 + b"]\n"
    data = parse_document(raw, "plan").data
    assert len(data["b"]) == 9980
    with pytest.raises(InvalidInput) as caught:
        parse_document(raw.replace(b"b: [", b"b: [" + b"*a," * 10), "plan")
    assert caught.value.diagnostics[0].code.id == "HP010"
