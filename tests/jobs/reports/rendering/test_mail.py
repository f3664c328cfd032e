from dataclasses import replace

from jobs.reports.document import Section
from jobs.reports.rendering import wording
from jobs.reports.rendering.mail import MOST_ROWS, mail_html_of, mail_text_of
from tests.jobs.reports.rendering.sample import GROUPS, document


def test_charts_of_a_mail_are_parts_of_it():
    page, parts = mail_html_of(document())
    assert list(parts) == [f"chart-{n}@crosslog" for n in (1, 2, 3)]
    assert all(f'src="cid:{cid}"' in page for cid in parts)
    assert all(png.startswith(b"\x89PNG") for png in parts.values())


def test_a_mail_begins_with_the_verdicts():
    for told in (mail_html_of(document())[0], mail_text_of(document())):
        assert told.index("Not ready") < told.index("Unknown") < told.index("Created for")


def test_the_summary_has_figures_with_those_before_and_the_address():
    told = mail_text_of(document(), "https://crosslog.example/reports/7/")
    assert (
        "  Max lag: 1\N{NO-BREAK SPACE}m\N{NO-BREAK SPACE}30\N{NO-BREAK SPACE}s (period before: 4"
        in told
    )
    assert told.endswith("\nReport: https://crosslog.example/reports/7/\n")


def test_a_mail_shows_the_first_rows_and_says_so():
    table = replace(GROUPS, rows=GROUPS.rows * 100, hrefs=(), total=None)
    page, _ = mail_html_of(document(sections=(Section("a", "A", None, None, (table,)),)))
    assert f"First {MOST_ROWS} of 300 rows, all in the CSV." in page


def test_many_long_tables_are_cut_so_that_a_print_needs_little_memory():
    table = replace(GROUPS, rows=GROUPS.rows * 400, hrefs=(), total=None)
    parts = tuple(Section(f"s{n}", "A", None, None, (table,)) for n in range(20))
    assert wording.rows_printed(document(sections=parts)) == 20
    assert wording.rows_printed(document(sections=parts[:1])) == 200
