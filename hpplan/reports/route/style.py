"""The look of pages: a layout that also fits a phone."""

from __future__ import annotations

from hpplan.reports.route import bars as route_bars
from hpplan.reports.route import plot as route_plot
from hpplan.reports.route import ribbon as route_ribbon
from hpplan.reports.route import svg as route_svg
from hpplan.reports.route import timeline as route_timeline
from hpplan.reports.route.palette import SCHEMES

STYLE = f"""\
{SCHEMES}* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system,
  "Segoe UI", sans-serif; overflow-wrap: anywhere; }}
main {{ max-width: 70rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }}
h1 {{ font-size: 1.5rem; margin: 0; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); }}
h3 {{ font-size: 1rem; margin: 1.2rem 0 .4rem; }}
p {{ margin: .3rem 0 .8rem; max-width: 48rem; }}
.quiet, figcaption, caption {{ color: var(--quiet); }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(9.2rem, 1fr)); gap: .7rem;
  margin: 1rem 0; padding: 0; list-style: none; }}
.cards li {{ background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .8rem; }}
.cards b {{ display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }}
dt {{ color: var(--quiet); }}
dd {{ margin: 0; min-width: 0; }}
figure {{ margin: 0; }}
figure + figure {{ margin-top: 1rem; }}
.beside {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr));
  gap: 1.2rem; }}
.curves {{ grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); }}
.beside + figure {{ margin-top: 1.2rem; }}
.beside figure {{ margin: 0; }}
.scroll {{ overflow-x: auto; max-width: 100%; background:
  linear-gradient(to right, var(--page), var(--page)) left / 1.5rem 100% local,
  linear-gradient(to left, var(--page), var(--page)) right / 1.5rem 100% local,
  linear-gradient(to right, var(--shade), transparent) left / 1rem 100%,
  linear-gradient(to left, var(--shade), transparent) right / 1rem 100%; background-repeat: no-repeat; }}
.scroll svg {{ display: block; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }}
caption {{ text-align: left; padding: .3rem 0; }}
th, td {{ padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }}
th {{ font-weight: 600; }}
thead th {{ white-space: normal; vertical-align: bottom; }}
td.words, th.words {{ text-align: left; white-space: normal; min-width: 12rem; }}
summary {{ cursor: pointer; margin: .6rem 0; }}
.warnings li {{ margin: .3rem 0; }}
.warnings b {{ color: var(--warn); }}
table + .bars, .scroll + .bars {{ margin-top: 1.2rem; }}
h4 {{ font-size: .95rem; margin: 1rem 0 .2rem; }}
a {{ color: var(--send); }}
.taken {{ outline: 2px solid var(--ink); outline-offset: -2px; }}
footer {{ margin-top: 2.5rem; color: var(--quiet); font-size: .85rem; }}
@media (max-width: 34rem) {{
  dl {{ grid-template-columns: 1fr; gap: 0; }}
  th, td {{ padding: .2rem .4rem; }}
  dd {{ margin: 0 0 .5rem; }}
  .ways thead {{ position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }}
  .ways, .ways tbody {{ display: block; }}
  .ways tr {{ display: block; margin: .6rem 0; padding: .4rem .6rem; border: 1px solid var(--line); }}
  .ways th, .ways td {{ display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0;
    border: 0; }}
  .ways td::before {{ content: attr(data-name); color: var(--quiet); white-space: nowrap; }}
  .ways td.words {{ display: block; }}
  .ways td.words::before {{ content: none; }}
}}
@media print {{ .scroll {{ overflow: visible; }} }}
{route_svg.STYLE}{route_plot.STYLE}{route_bars.STYLE}{route_ribbon.STYLE}{route_timeline.STYLE}"""
