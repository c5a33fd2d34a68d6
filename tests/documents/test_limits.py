"""Small documents that would take all memory or all time, were there no limits."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from hpplan.documents.reader import parse_document
from hpplan.documents.source import Source
from hpplan.documents.writer import dump_json
from hpplan.documents.yaml_text.data import _built
from hpplan.errors import InvalidInput

MEASURE = """
import sys, time
from hpplan.documents.reader import parse_document
from hpplan.documents.source import Source
from hpplan.documents.writer import dump_json
from hpplan.documents.yaml_text.data import _built
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
    "a long text": (b"a: &a " + b"x" * 20_000 + b"\nb: [" + b"*a," * 20_000 + b"]\n", "HP010"),
    "a long key": (b"&a " + b"x" * 900 + b": 1\nb: [" + b"{*a : 1}," * 20_000 + b"]\n", "HP010"),
    "long texts": (bomb(f"[{'y' * 99}]", "{0}: &{0} [{1}]").rsplit(b"\n", 3)[0], "HP010"),
    "indentation": (b"a: &a [" + b"1," * 30 + b"]\nb: " + b"[" * 190 + b"*a," * 900 + b"]" * 190, "HP010"),
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
    # 1,000 items, shared 9,990 times: 9,991,000 nodes with the lists themselves, in a text of that length.
    raw = b"a: &a [" + b"1," * 1000 + b"]\nb: [" + b"*a," * 9980 + b"]\n#" + b"-" * 10_000_000
    data = parse_document(raw, "plan").data
    assert len(data["b"]) == 9980
    with pytest.raises(InvalidInput) as caught:
        parse_document(raw.replace(b"b: [", b"b: [" + b"*a," * 10), "plan")
    assert caught.value.diagnostics[0].code.id == "HP010"


@pytest.mark.parametrize("length", [100_000, 1_000_000], ids=["short", "long"])
def test_aliases_add_so_much(length: int) -> None:
    """A document just below the limit would be refused, or one above it accepted."""
    most = max(8 * 2**20, 20 * length) // 10_000
    for times in (most - 10, most + 10):
        raw = b"a: &a " + b"x" * 10_000 + b"\nb: [" + b"*a," * times + b"]\n#"
        raw = raw.ljust(length, b"-")
        if times < most:
            assert len(parse_document(raw, "plan").data["b"]) == times
            continue
        with pytest.raises(InvalidInput) as caught:
            parse_document(raw, "plan")
        (finding,) = caught.value.diagnostics
        assert finding.code.id == "HP010"
        assert finding.message.startswith("aliases expand to more than")
        assert finding.message.endswith("characters")


def test_what_aliases_add_is_what_they_take_when_written() -> None:
    """The limit would be about something else than the size of what hpplan writes."""
    entry = "{in_src: {x: {tp: S(1), cp: S(1)}}, in_dst: {x: {tp: R, cp: S(1)}}, is_boundary: true}"
    head = f"x-entry: &entry {entry}\nboundary_classes: {{}}\nparam_plan:\n"
    raw = head + "".join(f"  model.layers.{number}.mlp: *entry\n" for number in range(1000))
    source = Source("plan", raw, "yaml")
    builder, data = _built(source)
    assert builder.copied / len(dump_json(data)) == pytest.approx(1, rel=0.1)
