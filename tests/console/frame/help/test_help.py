"""The documents as pages of the console."""

import re

import pytest

from console.frame.help.chapters import CHAPTER_OF_PAGE, CHAPTERS, chapter_of, docs_folder
from console.frame.help.rendering import read_chapter
from console.frame.pages.navigation import SECTIONS
from tests.console.making import make_user

MARKDOWN = """# Title

## A heading: with `code`, twice
## A heading: with `code`, twice

[a chapter](operate.md#settings) [a file](picture.png) [outside](https://kafka.apache.org/)
[not served](../README.md) ![a picture](picture.png) [bad](javascript:alert(1))

<!-- a mark -->
<script>alert(1)</script>

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def rendered(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "chapter.md").write_text(MARKDOWN)
    return read_chapter(tmp_path / "chapter.md")


def test_headings_have_the_anchors_that_github_gives_them(rendered):
    assert [heading.anchor for heading in rendered.contents] == [
        "a-heading-with-code-twice",
        "a-heading-with-code-twice-1",
    ]
    assert '<h2 id="a-heading-with-code-twice">' in rendered.html


def test_the_title_is_not_repeated_in_the_text(rendered):
    assert rendered.title == "Title"
    assert "<h1" not in rendered.html


def test_links_between_documents_lead_to_chapters(rendered):
    assert '<a href="/help/operate/#settings">a chapter</a>' in rendered.html


def test_pictures_and_files_of_the_documents_are_served(rendered):
    assert '<a href="/help/files/picture.png">a file</a>' in rendered.html
    assert '<img src="/help/files/picture.png" alt="a picture" />' in rendered.html


def test_a_link_to_what_is_not_served_is_text(rendered):
    assert re.search(r"(?<!>)not served(?!<)", rendered.html)
    assert '<a href="https://kafka.apache.org/">outside</a>' in rendered.html


def test_html_in_a_document_is_text(rendered):
    assert "&lt;script&gt;" in rendered.html
    assert "<script" not in rendered.html
    assert '<a href="javascript' not in rendered.html


def test_a_mark_of_a_document_is_not_shown(rendered):
    assert "a mark" not in rendered.html


def test_a_changed_document_is_rendered_again(tmp_path):
    (tmp_path / "chapter.md").write_text("# Old\n")
    assert read_chapter(tmp_path / "chapter.md").title == "Old"
    (tmp_path / "chapter.md").write_text("# New title\n")
    assert read_chapter(tmp_path / "chapter.md").title == "New title"


def test_every_document_is_a_chapter():
    assert {path.stem for path in docs_folder().glob("*.md")} == set(CHAPTERS)


@pytest.mark.parametrize("target", sorted({*CHAPTER_OF_PAGE.values()}))
def test_a_page_links_a_section_that_exists(target):
    name, _, anchor = target.partition("#")
    assert not anchor or anchor in read_chapter(docs_folder() / f"{name}.md").anchors


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_link_within_the_help_leads_to_a_section_that_exists(name):
    html = read_chapter(docs_folder() / f"{name}.md").html
    for chapter, anchor in re.findall(r'href="(?:/help/(\w+)/)?#([^"]+)"', html):
        path = docs_folder() / f"{chapter or name}.md"
        assert anchor in read_chapter(path).anchors, f"{chapter or name}#{anchor}"


@pytest.mark.parametrize("path", [section.path for section in SECTIONS])
def test_every_room_has_its_chapter(path):
    assert path.split("/")[1] in CHAPTER_OF_PAGE


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/", "operate"),
        ("/quorum/east/voters/", "operate#kraft-quorum"),
        ("/replication/3/failover/7/", "operate#failover-and-failback"),
        ("/streams/east/shop/", "streams"),
        ("/elsewhere/", "operate"),
    ],
)
def test_the_first_part_of_an_address_chooses_the_chapter(path, target):
    assert chapter_of(path) == target


@pytest.fixture
def reader(client, db):
    client.force_login(make_user("none"))
    return client


def test_the_help_lists_its_chapters(reader):
    page = reader.get("/help/").content.decode()
    assert all(f'href="/help/{name}/"' in page for name in CHAPTERS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_a_page_of_the_console(reader, name):
    page = reader.get(f"/help/{name}/").content.decode()
    assert 'aria-label="Contents"' in page
    assert 'aria-label="Breadcrumbs"' in page


def test_a_page_links_its_chapter(reader):
    page = reader.get("/account/tokens/").content.decode()
    assert '<a class="btn" href="/help/security/#service-tokens">Help</a>' in page


def test_a_file_of_the_documents_is_served(reader):
    answer = reader.get("/help/files/prometheus-alerts.yaml")
    assert answer.content == (docs_folder() / "prometheus-alerts.yaml").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/help/nothing/",
        "/help/files/nothing.png",
        "/help/files/operate.md",
        "/help/files/..%2fmanage.py",
    ],
)
def test_what_is_no_part_of_the_help_is_not_found(reader, path):
    assert reader.get(path).status_code == 404


def test_the_help_needs_a_session(client):
    assert client.get("/help/operate/")["Location"] == "/login/?next=/help/operate/"
