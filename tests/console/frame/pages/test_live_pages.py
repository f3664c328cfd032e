"""What refreshes by itself must be in every answer: a page that lacks it would be put into itself."""

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[4] / "templates"
LIVE = [
    path.relative_to(TEMPLATES).as_posix()
    for path in sorted(TEMPLATES.rglob("*.html"))
    if path.name != "base.html" and re.search(r"\bdata-refresh=", path.read_text())
]


@pytest.mark.parametrize("name", LIVE)
def test_the_live_part_of_a_page_is_there_whatever_the_page_shows(name):
    text = (TEMPLATES / name).read_text()
    before, found, _ = text.partition('<div id="live"')
    begun, ended = (len(re.findall(rf"{{% {word}\b", before)) for word in ("if", "endif"))
    assert found, "the live part has another name"
    assert begun == ended, "the live part is inside a condition"
    assert text.count("data-refresh=") == 1
