"""The progress bar of long runs."""

from __future__ import annotations

import io

import pytest

from hpplan.reports.terminal.progress import progress_bar


class Terminal(io.StringIO):
    """Standard error as a person sees it."""

    def isatty(self) -> bool:
        """Say that somebody looks."""
        return True


@pytest.mark.parametrize(("in_bytes", "shown"), [(False, "3/7"), (True, "3/7 bytes")])
def test_a_bar_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, in_bytes: bool, shown: str) -> None:
    """The numbers of a run do not reach the bar, or the bar stays when it ends."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar("reading", 7, in_bytes=in_bytes, color=False) as bar:
        bar.advance(2)
        bar.advance()
    text = terminal.getvalue()
    assert "reading" in text
    assert shown in text
    assert text.rstrip().endswith("\x1b[2K")
    with progress_bar("exchanging", color=False) as bar:
        bar.reach(5, 9)
    assert "5/9" in terminal.getvalue()


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar is in a log, or each of many ranks draws one."""
    log, terminal = io.StringIO(), Terminal()
    for stream, shown in ((log, True), (terminal, False)):
        monkeypatch.setattr("sys.stderr", stream)
        with progress_bar("reading", 7, shown=shown, color=True) as bar:
            bar.advance()
            bar.reach(5, 9)
        assert stream.getvalue() == ""
