"""Golden files of one report in all formats; `GOLDEN=write` writes them after a change that is meant."""

import csv
import io
import json
import os
import re
import zipfile
from pathlib import Path

import pytest
from pypdf import PdfReader

from jobs.reports.document import Document
from jobs.reports.periods import Period
from jobs.reports.rendering.formats import Format, Paper, render
from tests.jobs.reports.rendering.sample import HOSTILE, LONG, NOW, TURNED, document

GOLDEN = Path(__file__).parent
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\x00-\x08\x0b\x0e-\x1f]")


def html_told() -> str:
    """The page without its pictures, whose bytes depend on the build of a font library."""
    return re.sub(r"data:image/png;base64,[^\"]+", "PNG", render(document(), Format.HTML).decode())


def csv_told() -> str:
    files = zipfile.ZipFile(io.BytesIO(render(document(), Format.CSV)))
    return "".join(f"--- {name}\n{files.read(name).decode()}" for name in files.namelist())


def pages_of(pdf: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]


def pdf_told() -> str:
    return "".join(f"--- page\n{page}\n" for page in pages_of(render(document(), Format.PDF)))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("golden.html", html_told),
        ("golden.csv.txt", csv_told),
        ("golden.pdf.txt", pdf_told),
        ("golden.json", lambda: render(document(), Format.JSON).decode()),
    ],
)
def test_the_report_is_as_its_golden_file(name, told):
    path = GOLDEN / name
    found = told().replace("\r\n", "\n")
    if os.environ.get("GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", list(Format))
def test_the_same_document_gives_the_same_bytes(form):
    assert render(document(), form) == render(document(), form)


@pytest.mark.parametrize("form", list(Format))
def test_a_document_without_sections_is_rendered(form):
    bare = document(sections=(), verdicts=(), before=None, subjects=(), base_url="", made_for="")
    assert render(bare, form)


@pytest.mark.parametrize(
    ("paper", "size"), [(Paper.A4, (595.28, 841.89)), (Paper.LETTER, (612, 792))]
)
def test_a_print_is_on_the_paper_that_was_asked_for(paper, size):
    for page in PdfReader(io.BytesIO(render(document(), Format.PDF, paper))).pages:
        assert (page.mediabox.width, page.mediabox.height) == pytest.approx(size, abs=0.01)


def test_a_print_is_accessible_and_says_what_it_is():
    reader = PdfReader(io.BytesIO(render(document(), Format.PDF)))
    root = reader.trailer["/Root"]
    assert (root["/Lang"], root["/MarkInfo"]["/Marked"]) == ("en", True)
    assert b"<pdfuaid:part>1<" in root["/Metadata"].get_data()
    assert reader.metadata.title == "Replication: east to west"
    assert reader.metadata.creation_date == NOW
    assert [one.title for one in reader.outline if not isinstance(one, list)][:2] == [
        "Lag",
        "Groups",
    ]
    tags = tags_of(root["/StructTreeRoot"])
    assert {"/TH", "/TD", "/Figure", "/H1", "/H2", "/Link"} <= {kind for kind, _ in tags}
    assert [alt for kind, alt in tags if kind == "/Figure"] == ["What it shows."] * 3


def tags_of(element) -> list[tuple[str, str]]:
    """Kinds of a print's tags with their alternative texts."""
    found, left = [], [element]
    while left:
        one = left.pop()
        one = one.get_object() if hasattr(one, "get_object") else one
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            if "/S" in one:
                found.append((one["/S"], one.get("/Alt", "")))
            left += [one["/K"]] if "/K" in one else []
    return found


SHOWN = {
    "right-to-left override": "orders\\u202egpj.exe",
    "right-to-left mark": "a\\u200fb",
    "zero width": "a\\u200db",
    "end of line": "a\\u000ab",
}
# The font of prints has no such glyph.
PRINTED = SHOWN | {"no glyph": "\\u4e2d"}


@pytest.mark.parametrize("what", list(HOSTILE))
def test_a_name_is_plain_text_in_the_print(what):
    text = "".join("".join(pages_of(render(document(), Format.PDF))).split())
    shown = PRINTED.get(what, HOSTILE[what])
    # A reader of PDF tells right-to-left letters in either order.
    assert {shown.replace(" ", ""), shown[::-1]} & {
        one for one in (shown.replace(" ", ""), shown[::-1]) if one in text
    }


@pytest.mark.parametrize("what", list(HOSTILE))
def test_a_name_is_plain_text_in_a_csv_file(what):
    files = zipfile.ZipFile(io.BytesIO(render(document(), Format.CSV)))
    rows = dict(csv.reader(io.StringIO(files.read("names-names.csv").decode())))
    shown = SHOWN.get(what, HOSTILE[what])
    assert rows[what] == (f"'{shown}" if what == "formula" else shown)


def test_markup_in_a_name_is_text_in_the_page():
    page = render(document(), Format.HTML).decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;" in page
    assert LONG in page


@pytest.mark.parametrize(
    "told", [html_told, csv_told, pdf_told, lambda: render(document(), Format.JSON).decode()]
)
def test_no_format_holds_a_character_that_is_not_seen(told):
    assert not INVISIBLE.search(told())


def test_json_gives_names_back_as_they_are():
    told = json.loads(render(document(), Format.JSON))
    assert TURNED in json.dumps(told, ensure_ascii=False)
    assert Document.from_mapping(told) == document()


def test_a_page_needs_nothing_from_elsewhere():
    page = html_told()
    assert set(re.findall(r'src="([^"]+)"', page)) == {"PNG"}
    assert all(
        one.startswith("https://crosslog.example/") for one in re.findall(r'href="([^"]+)"', page)
    )
    assert not re.search(r"@import|url\(|style=", page)


@pytest.mark.parametrize("form", [Format.HTML, Format.PDF])
def test_without_a_base_address_nothing_is_a_link(form):
    assert not re.search(rb"<a |/URI", render(document(base_url=""), form))


def test_headings_of_a_csv_file_name_their_units():
    files = zipfile.ZipFile(io.BytesIO(render(document(), Format.CSV)))
    head = files.read("groups-groups.csv").decode().splitlines()[0]
    assert head.split(",")[2:5] == ["Lag (time) (ms)", "Volume (bytes)", "Throughput (per s)"]


def test_a_period_may_be_a_moment():
    assert render(document(period=Period(NOW, NOW), before=None), Format.PDF)


def test_a_report_may_be_made_between_two_seconds():
    pdf = render(document(made_at="2026-11-23T06:00:00.987Z"), Format.PDF)
    assert PdfReader(io.BytesIO(pdf)).metadata.creation_date == NOW
