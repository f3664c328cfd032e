import io
import json
import re

import pytest
from pypdf import PdfReader

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.failover.reports.forms import document_of, html_of, pdf_of
from jobs.replication.failover.reports.report import RunKind, title_of
from jobs.replication.failover.reports.signing import canonical, digest_of, kept_key
from jobs.reports.rendering.html import STYLE, content_policy, style_hash
from jobs.severity import Severity
from tests.jobs.replication.failover.reports.test_report import report


@pytest.fixture
def key(tmp_path):
    return kept_key(tmp_path / "report-key.pem")


def with_partitions(found, count: int, topic: str = "") -> dict:
    """A report whose one group has many partitions; a long topic instead of its own when given."""
    (group,) = found["groups"]
    outcome, planned = group["outcome"]["items"][0], group["plan"]["items"][0]
    name = topic or outcome["topic"]
    group["outcome"]["items"] = [{**outcome, "topic": name, "partition": n} for n in range(count)]
    group["plan"]["items"] = [{**planned, "to_topic": name, "partition": n} for n in range(count)]
    return found


def pages_of(pdf: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]


def words_of(pdf: bytes) -> str:
    """The text of a print; lines are broken anywhere, so blanks and ends of lines are one blank."""
    return " ".join(" ".join(pages_of(pdf)).split())


def test_the_page_needs_nothing_from_elsewhere_and_escapes_what_it_shows(key):
    page = html_of(key.sign(report(asked_by="<script>alert(1)</script>")))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.findall(r"(?:src|href)=", page)
    assert key.key_id in page
    assert STYLE in page
    assert style_hash() in content_policy()


def test_a_rehearsal_says_that_nothing_was_changed(key):
    signed = key.sign(report(RunKind.REHEARSAL))
    assert "Dry run: all checks were done" in html_of(signed)
    assert "Dry run: all checks were done" in words_of(pdf_of(signed))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Report of a failover: east to west", id="title"),
        pytest.param("east.orders-0 no commit 41 41", id="before, wanted and after"),
        pytest.param("Group billing: ", id="group and its message"),
        pytest.param("at least 41, at most", id="proof"),
        pytest.param("All records of east were replicated", id="check"),
        pytest.param("The JSON form of this report is what is signed", id="what is signed"),
    ],
)
def test_page_and_print_tell_what_was_planned_done_and_proven(key, text):
    signed = key.sign(report())
    assert text in words_of(pdf_of(signed))
    cells = re.sub(r"<[^>]+>", " ", html_of(signed))
    assert text.replace(" ", "") in "".join(cells.split())


def test_page_and_print_show_digest_and_signature(key):
    signed = key.sign(report())
    for text in ("".join(words_of(pdf_of(signed)).split()), html_of(signed)):
        assert digest_of(signed["report"]) in text
        assert signed["signature"]["value"] in text


def test_what_is_signed_stays_as_it_is_when_it_is_rendered(key):
    signed = key.sign(report())
    before = canonical(signed)
    html_of(signed)
    pdf_of(signed)
    assert canonical(signed) == before


def test_the_same_report_gives_the_same_bytes(key):
    signed = key.sign(report())
    again = json.loads(json.dumps(signed))
    assert (html_of(signed), pdf_of(signed)) == (html_of(again), pdf_of(again))


def test_the_print_has_the_title_and_the_moment_of_the_run(key):
    signed = key.sign(report())
    facts = PdfReader(io.BytesIO(pdf_of(signed))).metadata
    assert facts.title == title_of(signed["report"])
    assert facts.creation_date.isoformat() == "2026-11-21T03:12:03+00:00"


@pytest.mark.parametrize(
    "count", [pytest.param(300, id="as a table"), pytest.param(2500, id="as lines")]
)
def test_many_partitions_make_many_pages_and_none_is_left_out(key, count):
    pages = pages_of(pdf_of(key.sign(with_partitions(report(), count))))
    assert len(pages) > 5
    assert all(f"Page {n} of {len(pages)}" in page for n, page in enumerate(pages, 1))
    told = {
        int(n) for page in pages for n in re.findall(r"^east\.orders-(\d+)\b", page, re.MULTILINE)
    }
    assert told == set(range(count))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a (b) \\ c", "a (b) \\ c", id="what has a meaning in a string of PDF"),
        pytest.param("#panic() *x* $a$ @b", "#panic() *x* $a$ @b", id="what has a meaning in Typst"),
        pytest.param("Zürich \N{EN DASH} 5 €", "Zürich \N{EN DASH} 5 €", id="accents"),
        pytest.param("группа", "группа", id="Cyrillic"),
        pytest.param("a\nb\x00c", "a\\u000ab\\u0000c", id="control characters"),
        pytest.param("a\N{RIGHT-TO-LEFT OVERRIDE}b", "a\\u202eb", id="turned text"),
        pytest.param("evil\u0350group", "evil\\u0350group", id="mark that the font lacks"),
        pytest.param("a\ufffeb", "a\\ufffeb", id="no character"),
    ],
)  # fmt: skip
def test_names_are_text_and_every_character_of_them_is_seen(key, text, shown):
    assert f"Requested by {shown}" in words_of(pdf_of(key.sign(report(asked_by=text))))


def test_a_very_long_name_is_broken(key):
    name = str(TopicPartition("x" * 400, 0)).removesuffix("-0")
    pdf = pdf_of(key.sign(with_partitions(report(), 1, name)))
    lines = [line for page in pages_of(pdf) for line in page.splitlines()]
    assert max(len(line) for line in lines if "xxx" in line) < 130
    assert "x" * 400 in "".join("".join(lines).split())


@pytest.mark.parametrize("text", ["x" * 100_000, ",".join(map(str, range(2000))), "a " * 5000, ""])
def test_a_text_of_any_length_in_any_place_is_printed(key, text, caplog):
    found = with_partitions(report(asked_by=text, plan_name=text, problem=text), 3, text)
    found["groups"][0]["outcome"]["message"] = text
    assert len(pages_of(pdf_of(key.sign(found)))) > 0
    assert not caplog.records


@pytest.mark.parametrize(
    ("state", "level"),
    [("succeeded", Severity.HEALTHY), ("failed", Severity.CRITICAL), ("stopped", Severity.UNKNOWN)],
)
def test_the_verdict_is_the_state_of_the_run(key, state, level):
    (verdict,) = document_of(key.sign(report(state=state, problem="Because."))).verdicts
    assert (verdict.level, verdict.word, verdict.sentence) == (level, state, "Because.")
