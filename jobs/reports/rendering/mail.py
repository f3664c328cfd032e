"""A document as an e-mail: HTML whose charts are parts of the mail, and a summary as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.reports.document import Chart, Document, Figures, Verdict
from jobs.reports.rendering import wording
from jobs.reports.rendering.html import page_of
from jobs.visible import visible_line

# Rows of a table and figures of a summary in a mail.
MOST_ROWS = 50
MOST_FIGURES = 40


def mail_html_of(document: Document) -> tuple[str, dict[str, bytes]]:
    """Return the page for a mail, and the PNGs of its charts by their content id."""
    from jobs.reports.rendering.charts import png_of

    parts: dict[str, bytes] = {}

    def attached(chart: Chart) -> str:
        cid = f"chart-{len(parts) + 1}@crosslog"
        parts[cid] = png_of(chart, document.period)
        return f"cid:{cid}"

    most_rows = min(MOST_ROWS, wording.rows_printed(document))
    return page_of(document, attached, most_rows), parts


def mail_text_of(document: Document, link: str = "") -> str:
    """Return the summary: title, verdicts, what it is about, figures, and the address of the report."""
    title = visible_line(document.title)
    lines = [title, "=" * min(len(title), 72), ""]
    lines += [_verdict(one, document) for one in document.verdicts]
    lines += [""] if document.verdicts else []
    lines += [f"{name}: {text}" for name, text in wording.facts_of(document)]
    lines += _figures(document)
    where = link or document.base_url
    if where:
        lines += ["", f"Report: {where}"]
    return "\n".join(lines) + "\n"


def _verdict(one: Verdict, document: Document) -> str:
    url = wording.url_of(document, one.href)
    text = f"- {visible_line(one.word)}: {visible_line(one.sentence)}"
    return f"{text}\n  {url}" if url else text


def _figures(document: Document) -> Iterator[str]:
    left = MOST_FIGURES
    for section in document.sections:
        blocks = [one for one in section.blocks if isinstance(one, Figures)]
        if not blocks or left <= 0:
            continue
        yield ""
        yield visible_line(section.title)
        covered = wording.covered_of(section, document)
        if covered:
            yield f"  {covered}"
        yield from (f"  Missing data: {wording.gap_of(one)}" for one in section.gaps)
        for block in blocks:
            for one in block.figures[: max(0, left)]:
                text = f"  {visible_line(one.label)}: {wording.value_of(one.value, one.type)}"
                before = wording.value_of(one.before, one.type)
                yield f"{text} (period before: {before})" if block.has_before else text
            left -= len(block.figures)
