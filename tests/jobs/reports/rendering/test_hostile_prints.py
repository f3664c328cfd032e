"""A report arrives, whatever is written in it: real prints of every kind of report."""

import io
import json
import re
import unicodedata
import warnings
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from jobs.reports.document import Column, Section, Series, Table, Text, Verdict
from jobs.reports.periods import Period
from jobs.reports.rendering.charts import svg_of
from jobs.reports.rendering.formats import Format, Paper, render_all
from jobs.reports.rendering.pdf import compiled, pdf_of, sources_of
from jobs.reports.rendering.printable import LONGEST_WORD, glyphs
from jobs.severity import Severity
from tests.examples import examples
from tests.jobs.reports.rendering.hostile import ALL_KINDS, SAMPLE, report_of, with_text
from tests.jobs.reports.rendering.sample import BARS, LINES, NOW, document

LENGTHS = (1, 4, 14, 15, 60, 61, 249, 300, 314, 500, 514, 1000, 2000, 2014, 9000, 32_767, 100_000)
THROTTLED = ",".join(f"{at}:{at % 7}" for at in range(1200))
MARKED = "a" + "\N{COMBINING ACUTE ACCENT}"
TEXTS = {
    "mark that the font lacks": "evil\u0350group",
    "no character": "a\ufffeb\uffffc",
    "private use": "\ue000\uf8ff\U000f0000",
    "turned direction": "orders\u202egpj.exe\u2066\u2069",
    "halves of pairs": "\ud800\udfff",
    "controls": "a\x00b\x1b[31m\n\t\x7f",
    "throttled replicas": THROTTLED,
    "marks alone": "\N{COMBINING ACUTE ACCENT}" * 500,
    "many marks": MARKED * 3000,
    "right to left": "\u05e9\u05dc \u0628\u064a" * 300,
    "words": "ab " * 3000,
    "separators": "a." * 3000,
    "blanks": " " * 500,
    "no-break spaces": "\u00a0" * 500,
    "nothing": "",
    "markup": "#panic() *x* $a$ `c` @d <e> \\ // /* [ ]]> </style> &#0;",
    "break marks of our own": "\u200b" * 500,
    "escapes": "\\u0350" * 500,
}


def printed(report, *, is_whole=False) -> bytes:
    """The print, and never its plainest form."""
    return compiled(sources_of(report, is_whole=is_whole), report)


def text_of(pdf: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)


def packed(text: str) -> str:
    return "".join(text.split())


def without_charts(report):
    parts = tuple(
        replace(one, blocks=tuple(block for block in one.blocks if block not in report.charts()))
        for one in report.sections
    )
    return replace(report, sections=parts)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_in_every_place_is_printed(text):
    assert printed(with_text(without_charts(report_of(SAMPLE)), text))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_word_of_any_length_in_every_place_is_printed(length):
    report = without_charts(report_of(SAMPLE))
    assert printed(with_text(report, "x" * length))
    assert printed(with_text(report, "x" * length), is_whole=True)


@examples(60)
@given(st.text(st.characters(exclude_categories=()), max_size=800))
def test_any_text_in_every_place_is_printed(text):
    assert printed(with_text(without_charts(report_of(SAMPLE)), text))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_of_report_is_printed_whatever_is_written_in_it(kind):
    report = without_charts(report_of(kind))
    for text in (*TEXTS.values(), *("x" * one for one in LENGTHS[::4])):
        assert printed(with_text(report, text)), text[:40]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("text", ["", "evil\u0350\ufffe\ud800group", THROTTLED])
def test_every_kind_of_report_has_all_formats_with_its_charts(kind, text):
    report = with_text(report_of(kind), text)
    contents, faults = render_all(report, Paper.A4)
    assert (set(contents), faults) == (set(Format), [])
    assert printed(report) == contents[Format.PDF]


@pytest.mark.slow
def test_every_assigned_code_point_is_printed():
    assigned = [
        one for one in map(chr, range(0x110000)) if unicodedata.category(one) not in {"Cn", "Co"}
    ]
    for start in range(0, len(assigned), 20_000):
        batch = assigned[start : start + 20_000]
        lines = ["".join(f"a{one}b " for one in batch[at : at + 50]) for at in range(0, 20_000, 50)]
        printed(document(sections=(Section("s", "S", None, None, tuple(map(Text, lines))),)))


def test_every_character_of_the_font_is_printed_in_each_weight_and_beside_each_other():
    letters = sorted(glyphs())
    marks = [one for one in letters if unicodedata.category(one) in {"Mn", "Me"}]
    bases = ("a", "7", "\u05e9", "\u0628", "\u0e81", "-", " ", "\u25cc")
    lines = ["".join(f"{base}{one}" for one in marks) for base in bases]
    lines += ["".join(letters[at : at + 250]) for at in range(0, len(letters), 250)]
    lines += [" ".join(letters[at : at + 140]) for at in range(0, len(letters), 140)]
    blocks = [*map(Text, lines), *(Verdict(Severity.HEALTHY, one, one) for one in lines)]
    names = Table(
        "names", "Names", (Column("a", "A"), Column("b", "B")), tuple((one, one) for one in lines)
    )
    assert printed(document(sections=(Section("s", "S", None, None, (*blocks, names)),)))


@pytest.mark.slow
def test_every_character_of_the_font_is_drawn_in_charts():
    letters = sorted(glyphs())
    names = ["".join(letters[at : at + 30]) for at in range(0, len(letters), 30)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for at in range(0, len(names), 30):
            some = tuple(names[at : at + 30])
            assert svg_of(replace(BARS, series=(Series("a", some, (1,) * len(some)),)))


def test_what_is_cut_in_print_is_whole_in_csv_and_json():
    table = Table("t", "T", (Column("config", "Config"),), ((THROTTLED,),))
    report = document(sections=(Section("s", "S", None, None, (table,)),))
    contents, _ = render_all(report, Paper.A4)
    printed = packed(text_of(contents[Format.PDF]))
    assert f"{THROTTLED[:LONGEST_WORD]}…(+{len(THROTTLED) - LONGEST_WORD:,})" in printed
    assert packed("Long texts are cut in this print") in printed
    assert THROTTLED in json.loads(contents[Format.JSON])["sections"][0]["blocks"][0]["rows"][0]
    files = zipfile.ZipFile(io.BytesIO(contents[Format.CSV]))
    assert THROTTLED in files.read("s-t.csv").decode()


def test_a_print_without_long_texts_says_nothing_of_cutting():
    assert "are cut" not in text_of(pdf_of(document()))


@pytest.mark.parametrize(
    ("length", "is_link"),
    [(100, True), (1900, True), (2001, False), (8200, False), (40_000, False)],
)
def test_a_link_that_is_too_long_becomes_text(length, is_link):
    table = Table("t", "T", (Column("name", "Name"),), (("orders",),), ("/" + "x" * length,))
    report = document(verdicts=(), sections=(Section("s", "S", None, None, (table,)),))
    pdf = pdf_of(report)
    assert ("orders" in text_of(pdf), b"/URI" in pdf) == (True, is_link)


def test_a_print_that_fails_is_made_in_its_plainest_form_and_says_so(caplog):
    plain = text_of(pdf_of(document(), template="no-such.typ"))
    assert "a fault of the program" in plain
    assert "The other formats have all of it." in plain
    assert "Replication: east to west" in plain
    assert "billing" in plain
    assert "print failed" in caplog.text


@pytest.mark.parametrize("text", [*TEXTS.values(), "x" * 100_000], ids=[*TEXTS, "long"])
def test_the_plainest_form_takes_every_text(text):
    assert pdf_of(with_text(report_of(SAMPLE), text), is_plain=True)


@pytest.mark.parametrize("paper", list(Paper))
def test_the_plainest_form_is_as_accessible(paper):
    reader = PdfReader(io.BytesIO(pdf_of(document(), paper, is_plain=True)))
    assert b"<pdfuaid:part>1<" in reader.trailer["/Root"]["/Metadata"].get_data()
    assert reader.metadata.title == "Replication: east to west"


def ragged():
    """A report with a row that has too few cells: neither page nor print can be made of it."""
    table = Table("t", "T", (Column("a", "A"), Column("b", "B")), (("only one",),))
    return document(sections=(Section("s", "S", None, None, (table,)),))


def test_one_format_never_fails_another():
    contents, faults = render_all(ragged(), Paper.A4)
    assert set(contents) == {Format.CSV, Format.JSON}
    assert [one.split(":")[0] for one in faults] == [
        "HTML could not be made",
        "PDF could not be made",
    ]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "ten", "9" * 400, 10**400, -1], ids=str
)
def test_a_value_that_is_not_of_its_type_fails_no_format(value):
    columns = tuple(Column(one, one, one) for one in ("count", "moment", "bytes", "duration_ms"))
    table = Table("t", "T", columns, ((value,) * 4,))
    contents, faults = render_all(
        document(sections=(Section("s", "S", None, None, (table,)),)), Paper.A4
    )
    assert (set(contents), faults) == (set(Format), [])


@pytest.mark.parametrize(
    "series",
    [Series("a", ("no moment",), (1,)), Series("a", ("2026-11-20T10:00:00Z",), ("no number",))],
    ids=["moment", "value"],
)
def test_a_chart_that_cannot_be_drawn_leaves_the_report(series, caplog):
    chart = replace(LINES, series=(series,))
    report = document(sections=(Section("s", "S", None, None, (chart, Text("Below."))),))
    contents, faults = render_all(report, Paper.A4)
    assert (set(contents), faults) == (set(Format), [])
    assert "Below." in text_of(contents[Format.PDF])
    assert "chart failed" in caplog.text


def test_links_are_addresses_whatever_is_in_them():
    report = document(
        verdicts=(Verdict(Severity.HEALTHY, "Ok", "See.", "/a\ud800 中\u202e\"<'&x=%20#y"),)
    )
    contents, faults = render_all(report, Paper.A4)
    assert not faults
    found = re.findall(r'href="([^"]+)"', contents[Format.HTML].decode())
    assert "https://crosslog.example/a?%20%E4%B8%AD%E2%80%AE&quot;&lt;&#x27;&amp;x=%20#y" in found


def test_a_table_whose_name_differs_only_in_signs_is_not_lost():
    tables = tuple(Table(one, one, (Column("a", one),)) for one in ("a b", "a/b", "a" * 100_000))
    contents, _ = render_all(
        document(sections=(Section("s", "S", None, None, tables),), made_at="2026-11-23T06:00:00Z"),
        Paper.A4,
    )
    assert len(zipfile.ZipFile(io.BytesIO(contents[Format.CSV])).namelist()) == 4


def test_a_period_of_one_moment_has_all_formats():
    _, faults = render_all(document(period=Period(NOW, NOW), before=None), Paper.LETTER)
    assert faults == []
