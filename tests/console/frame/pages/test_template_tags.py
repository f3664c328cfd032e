"""A closing tag without its `>` swallows what follows it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
# A line may end between the name and the `>`.
CUT = re.compile(r"</[a-zA-Z][a-zA-Z0-9]*(?!\s*>|[a-zA-Z0-9])")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "templates").rglob("*.html")), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_each_closing_tag_is_complete(path):
    assert CUT.findall(path.read_text("utf-8")) == []
