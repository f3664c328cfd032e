import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.failover.applying import apply_group
from jobs.replication.failover.reports.html_page import STYLE, style_hash, write_html
from jobs.replication.failover.reports.report import (
    RunFacts,
    RunKind,
    Style,
    build_report,
    report_lines,
    title_of,
)
from jobs.replication.failover.reports.signing import (
    BadReport,
    SigningKey,
    digest_of,
    kept_key,
    verify,
)
from jobs.replication.failover.reports.text_pdf import HEIGHT, MARGIN, write_pdf
from tests.jobs.replication.failover.making import GROUP, PaperDoor, failover_evidence, plan_of

AT = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)


@pytest.fixture
def key(tmp_path):
    return kept_key(tmp_path / "home" / "report-key.pem")


def report(kind=RunKind.APPLY, **facts):
    plan = plan_of(failover_evidence())
    outcome = apply_group(PaperDoor(), plan.group(GROUP), None, lambda _: None)
    values = {"state": "succeeded", "plan_name": "night", "asked_by": "ana"} | facts
    run = RunFacts("4711", kind, started_at=AT, finished_at=AT + timedelta(seconds=3), **values)
    return build_report(run, plan, [outcome])


def test_a_report_has_plan_outcome_and_who_asked():
    found = report()
    assert (found["format"], found["asked_by"], found["started_at"]) == (
        "crosslog.failover-report", "ana", "2026-11-21T03:12:00.000Z",
    )  # fmt: skip
    (group,) = found["groups"]
    assert group["plan"]["items"][0]["lo"] == 41
    assert group["outcome"]["items"][0]["after"] == 41


def test_a_signature_is_verified_with_the_public_key_after_a_way_through_json(key):
    document = json.loads(json.dumps(key.sign(report())))
    assert verify(document, key.public_pem) == key.key_id
    assert verify(document) == key.key_id


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d["report"].update(asked_by="eve"), id="the report"),
        pytest.param(lambda d: d["signature"].update(value="AAAA"), id="the signature"),
        pytest.param(lambda d: d["signature"].pop("value"), id="no signature"),
        pytest.param(lambda d: d["signature"].update(algorithm="none"), id="the algorithm"),
        pytest.param(lambda d: d.pop("report"), id="no report"),
    ],
)
def test_whatever_was_changed_is_found(key, change):
    document = key.sign(report())
    change(document)
    with pytest.raises(BadReport):
        verify(document, key.public_pem)


def test_a_report_of_somebody_else_is_not_ours(key, tmp_path):
    other = kept_key(tmp_path / "other.pem")
    with pytest.raises(BadReport, match="another key"):
        verify(other.sign(report()), key.public_pem)


@pytest.mark.parametrize("document", [None, [], "x", {"report": 1, "signature": {}}, {}])
def test_what_is_no_report_is_said_to_be_none(document):
    with pytest.raises(BadReport):
        verify(document)


def test_the_key_is_made_once_and_only_for_its_owner(tmp_path):
    path = tmp_path / "report-key.pem"
    assert kept_key(path).key_id == kept_key(path).key_id
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("pem", ["", "-----BEGIN NOTHING-----"])
def test_what_is_no_key_is_refused(pem):
    with pytest.raises(ValueError, match="private key"):
        SigningKey.from_pem(pem)


def test_fractions_are_not_signed(key):
    with pytest.raises(ValueError, match="cannot be signed"):
        key.sign({"lag": 0.5})


def test_the_page_needs_nothing_from_elsewhere_and_escapes_what_it_shows(key):
    found = report(asked_by="<script>alert(1)</script>")
    page = write_html(found, digest_of(found), key.sign(found)["signature"])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.findall(r"(?:src|href)=", page)
    assert key.key_id in page
    assert STYLE in page
    assert style_hash().startswith("'sha256-")


def test_a_rehearsal_says_that_nothing_was_changed(key):
    found = report(RunKind.REHEARSAL)
    assert "A rehearsal changes nothing" in write_html(found, "", key.sign(found)["signature"])


# --- PDF: read as a reader of PDF does, from its end ---------------------------------------------


def objects_of(pdf: bytes) -> dict[int, bytes]:
    """Return the objects by number, found through the table of places."""
    table = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf)[1])
    head, count = re.match(rb"xref\n0 (\d+)\n", pdf[table:]), 0
    lines = pdf[table + head.end() :].split(b" \n")
    count = int(head[1])
    found = {}
    for number, line in enumerate(lines[1:count], 1):
        place = int(line[:10])
        begin = b"%d 0 obj\n" % number
        assert pdf[place : place + len(begin)] == begin
        found[number] = pdf[place + len(begin) : pdf.index(b"\nendobj", place)]
    assert re.search(rb"/Size (\d+)", pdf)[1] == b"%d" % count
    return found


def streams_of(pdf: bytes) -> list[bytes]:
    found = []
    for body in objects_of(pdf).values():
        head = re.match(rb"<< /Length (\d+) >>\nstream\n", body)
        if head:
            stream = body[head.end() : head.end() + int(head[1])]
            assert body[head.end() + int(head[1]) :] == b"\nendstream"
            found.append(stream)
    return found


def test_a_pdf_has_its_objects_where_its_table_says(key):
    found = report()
    lines = report_lines(found, digest_of(found), key.sign(found)["signature"])
    pdf = write_pdf(lines, title_of(found))
    objects = objects_of(pdf)
    assert pdf.startswith(b"%PDF-1.4\n")
    assert b"/Type /Catalog" in objects[1]
    text = b"\n".join(streams_of(pdf))
    assert b"(Report of a failover: east to west) Tj" in text
    assert b"east.orders-0: before no commit, wanted 41, after 41" in text


def test_many_lines_make_many_pages_and_none_leaves_the_paper():
    pdf = write_pdf([(Style.ROW, f"line {n}") for n in range(500)], "long")
    pages = streams_of(pdf)
    assert len(pages) == int(re.search(rb"/Type /Pages /Count (\d+)", pdf)[1]) > 5
    assert all(b"page %d of %d" % (n, len(pages)) in page for n, page in enumerate(pages, 1))
    heights = [float(y) for page in pages for y in re.findall(rb"Tf \S+ (\S+) Td", page)]
    assert min(heights) > 20
    assert max(heights) <= HEIGHT - MARGIN
    assert sum(page.count(b"(line ") for page in pages) == 500


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a (b) \\ c", rb"(a \(b\) \\ c) Tj", id="what has a meaning in a string"),
        pytest.param("Zürich \N{EN DASH} 5 €", b"(Z\xfcrich \x96 5 \x80) Tj", id="WinAnsi"),
        pytest.param("группа", b"(??????) Tj", id="what WinAnsi does not have"),
        pytest.param("a\nb\x00c", b"(a b c) Tj", id="control characters"),
    ],
)
def test_texts_are_escaped(text, shown):
    assert any(shown in stream for stream in streams_of(write_pdf([(Style.ROW, text)], "t")))


def test_a_very_long_name_is_broken():
    pdf = write_pdf([(Style.ROW, str(TopicPartition("x" * 400, 0)))], "t")
    assert max(map(len, re.findall(rb"\((x+)", streams_of(pdf)[0]))) < 130
