"""The colours of pages and drawings, in two schemes."""

_LIGHT = """\
--page: #ffffff; --shade: #8894a0; --ink: #1b2430; --line: #b8c2cc; --on-heat: #ffffff;
--heat-1: #d3e4f3; --heat-2: #a3cbe5; --heat-3: #7ab5dc; --heat-4: #1f6fb2; --heat-5: #08427f;
--quiet: #56616d; --lane: #eef1f4; --card: #f6f8fa; --warn: #8a5a00;
--encode: #2f6f4f; --send: #1f6fb2; --send-2: #8fbfe3; --receive: #8a4b9c; --receive-2: #cfa5da;
--piece-a: #f3c98b; --piece-b: #9fd3c0; --piece-c: #d8efe6;"""
_DARK = """\
--page: #12171d; --shade: #6b7a8a; --ink: #e6ebf0; --line: #465361; --on-heat: #0b1016;
--heat-1: #1d4263; --heat-2: #245684; --heat-3: #2c6ca6; --heat-4: #79b6e2; --heat-5: #cfe7f9;
--quiet: #a3aebb; --lane: #1d252e; --card: #181f27; --warn: #f0c36a;
--encode: #63b58b; --send: #5aa7e0; --send-2: #2c5d85; --receive: #c48bd4; --receive-2: #6d4379;
--piece-a: #7a5522; --piece-b: #1f5d4c; --piece-c: #123a30;"""

SCHEMES = f"""\
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
"""
"""What names the colours; it is read where it stands, in a page or in a drawing."""
