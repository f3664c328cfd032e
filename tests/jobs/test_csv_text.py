import ast
import csv
import unicodedata

import pytest

from jobs.csv_text import csv_lines, neutral
from tests.test_architecture import ROOT, imports, sources

# What Kafka's own tool reads: it takes every cell as it is.
FOR_KAFKA = {"jobs/replication/failover/commands.py"}
STARTS = "=+-@|"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("=HYPERLINK(1)", "'=HYPERLINK(1)", id="equals"),
        pytest.param("+1", "'+1", id="plus"),
        pytest.param("-orders", "'-orders", id="minus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("|cmd", "'|cmd", id="pipe"),
        pytest.param("\N{MINUS SIGN}1", "'\N{MINUS SIGN}1", id="minus sign"),
        pytest.param("\t=1", "'\t'=1", id="tab"),
        pytest.param("a;=1", "a;'=1", id="behind another separator"),
        pytest.param("a\n +1", "a\n' +1", id="behind an end of line"),
        pytest.param("a; b", "a; b", id="separator before a word"),
        pytest.param("\rorders", "'\rorders", id="end of line"),
        pytest.param("  =1", "'  =1", id="blanks before it"),
        pytest.param(
            "\N{NO-BREAK SPACE}=1", "'\N{NO-BREAK SPACE}=1", id="no-break space before it"
        ),
        pytest.param("\ufeff@1", "'\ufeff@1", id="byte order mark before it"),
        pytest.param("\u200b\u2060+1", "'\u200b\u2060+1", id="zero width before it"),
        pytest.param("\u202e-1", "'\u202e-1", id="turned direction before it"),
        pytest.param("\u3164=1", "'\u3164=1", id="filler before it"),
        pytest.param("\u0301=1", "'\u0301=1", id="mark before it"),
        pytest.param("orders=1", "orders=1", id="inside the text"),
        pytest.param("中-1", "中-1", id="behind a letter"),
        pytest.param("'=1", "'=1", id="an apostrophe is there"),
        pytest.param(" \u200b", " \u200b", id="nothing is seen"),
        pytest.param("", "", id="empty"),
        pytest.param("a\ud800", "a\\ud800", id="half of a pair"),
        pytest.param(-1, "-1", id="negative number"),
        pytest.param(None, "", id="unknown"),
        pytest.param(True, "true", id="boolean"),
    ],
)
def test_a_cell_is_never_a_formula(value, text):
    assert neutral(value) == text


def test_every_form_of_a_start_that_unicode_has_is_neutralised():
    forms = [
        letter
        for letter in map(chr, range(0x110000))
        if unicodedata.normalize("NFKC", letter)[:1] in tuple(STARTS)
    ]
    assert {"＋", "－", "＠", "＝", "｜", "﹢", "﹣", "﹦", "﹫", "⁺"} <= set(forms)  # noqa: RUF001  they are the case
    assert not [one for one in forms if neutral(f"{one}1") != f"'{one}1"]


def test_lines_are_rows_with_every_cell_neutral():
    rows = [["=head", "b"], ["-orders", -1], [None, True]]
    assert list(csv.reader(csv_lines(rows))) == [["'=head", "b"], ["'-orders", "-1"], ["", "true"]]


def test_all_exports_are_written_in_one_place():
    writers = {
        str(path.relative_to(ROOT))
        for folder in ("jobs", "console")
        for path in sources(folder)
        if "csv" in imports(path) and _writes_csv(path.read_text(encoding="utf-8"))
    }
    assert writers - FOR_KAFKA == {"jobs/csv_text.py"}


def _writes_csv(source: str) -> bool:
    names = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return bool(names & {"writer", "DictWriter"})
