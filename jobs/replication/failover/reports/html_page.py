"""A report as one page of HTML that needs nothing from anywhere: to be kept, mailed and printed. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from jobs.replication.failover.reports.report import bounds_of, check_lines, facts_of, title_of

STYLE = """
:root{color-scheme:light dark;--bg:light-dark(#fff,#101214);--ink:light-dark(#1c1f22,#e8eaec);
--sub:light-dark(#50565c,#a9b1b9);--line:light-dark(#d9d9d4,#30363c);--ok:light-dark(#14693d,#4cc38a);
--warn:light-dark(#7d5300,#e8b64c);--block:light-dark(#a81d2e,#ff8a94)}
body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--bg);color:var(--ink);
font:14px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:1.5rem}h2{font-size:1.05rem;margin-top:2rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.5rem}dt{color:var(--sub)}dd{margin:0}
div{overflow-x:auto}table{width:100%;border-collapse:collapse}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--sub);font-weight:500}td.n,th.n{text-align:right;white-space:nowrap}
small,p.sub{color:var(--sub)}.ok,.applied,.undone,.rehearsed{color:var(--ok)}
.warn,.unknown,.refused{color:var(--warn)}.block,.failed{color:var(--block)}b{font-weight:600}
code{overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}}
"""

_NUMBERS = frozenset({"Before", "Wanted", "After"})


def style_hash() -> str:
    """Return the source expression by which a content security policy allows the page's style alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"


def write_html(report: Mapping[str, Any], digest: str, signature: Mapping[str, Any]) -> str:
    """Return the page."""
    title = escape(title_of(report))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>\n<h1>{title}</h1>\n"
        f"{_rehearsal(report)}{_facts(facts_of(report))}\n<h2>Pre-checks</h2>\n{_checks(report)}\n"
        f"{''.join(map(_group, report['groups']))}{_seal(digest, signature)}</main></body></html>\n"
    )


def _rehearsal(report: Mapping[str, Any]) -> str:
    is_one = report["kind"] == "rehearsal"
    return "<p>A rehearsal changes nothing: no offset was set.</p>\n" if is_one else ""


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f"<dl>{listed}</dl>"


def _checks(report: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><td><b class="{escape(check["state"])}">{escape(check["state"])}</b></td>'
        f"<td>{escape(about)}</td><td>{escape(check['what'])}{_small(check['evidence'])}"
        f"{_small(check['next'])}</td></tr>"
        for about, check in check_lines(report)
    )
    return _table(("State", "About", "What"), rows)


def _group(group: Mapping[str, Any]) -> str:
    outcome, planned = group["outcome"], group["plan"] or {"items": []}
    items = {(one["to_topic"], one["partition"]): one for one in planned["items"]}
    rows = "".join(
        _row(row, items.get((row["topic"], row["partition"]))) for row in outcome["items"]
    )
    table = _table(("Partition", "Before", "Wanted", "After", "Proof"), rows) if rows else ""
    name, state = escape(outcome["group"]), escape(outcome["state"])
    return (
        f'<h2>Group {name}: <b class="{state}">{state}</b></h2>\n'
        f"<p>{escape(outcome['message'])}</p>\n{table}\n"
    )


def _row(row: Mapping[str, Any], planned: Mapping[str, Any] | None) -> str:
    numbers = "".join(
        f'<td class="n">{_shown(row[name])}</td>' for name in ("before", "wanted", "after")
    )
    proof = ""
    if planned is not None:
        told = f"{planned['topic']} committed {planned['committed']}: {bounds_of(planned)}"
        proof = escape(told) + _small(planned["reason"])
    error = f'<br><b class="failed">{escape(row["error"])}</b>' if row["error"] else ""
    return f"<tr><td>{escape(row['topic'])}-{row['partition']}</td>{numbers}<td>{proof}{error}</td></tr>"


def _seal(digest: str, signature: Mapping[str, Any]) -> str:
    return (
        "<h2>Signature</h2>\n<p>The JSON form of this report is what is signed; this page is a rendering "
        "of it. Verify with <code>crosslog verify-report report.json --key key.pem</code></p>\n"
        + _facts(
            [
                ("SHA-256 of the JSON", digest),
                ("Algorithm", str(signature["algorithm"])),
                ("Key", str(signature["key_id"])),
                ("Signature", str(signature["value"])),
            ]
        )
    )


def _table(heads: Iterable[str], rows: str) -> str:
    top = "".join(
        f'<th scope="col"{" class=n" * (head in _NUMBERS)}>{escape(head)}</th>' for head in heads
    )
    return f"<div><table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>"


def _small(text: str) -> str:
    return f"<br><small>{escape(text)}</small>" if text else ""


def _shown(offset: int | None) -> str:
    return "no commit" if offset is None else f"{offset:,}"
