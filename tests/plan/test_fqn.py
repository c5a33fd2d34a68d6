"""The index answers as a walk over all names would."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from hpplan.plan.fqn import FqnIndex

names = st.lists(st.text(alphabet="ab.0[]\U0010ffff", max_size=6), max_size=12)
patterns = st.text(alphabet="ab.0*?[]!-\U0010ffff", max_size=6)


@given(names, patterns)
def test_matching(fqns: list[str], pattern: str) -> None:
    """Narrowing by a pattern's literal beginning or end loses or invents a match."""
    assert FqnIndex(fqns).matching(pattern) == sorted({fqn for fqn in fqns if fnmatchcase(fqn, pattern)})


@given(names, st.text(alphabet="ab.0", max_size=4))
def test_below(fqns: list[str], fqn: str) -> None:
    """A module below is missed, or a sibling with a longer name is taken for one."""
    assert list(FqnIndex(fqns).below(fqn)) == sorted({name for name in fqns if name.startswith(fqn + ".")})
