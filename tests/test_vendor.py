"""The files of others are the ones that the tables in the README.md beside them name, byte for byte."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SERVED = ROOT / "static" / "vendor"
FOR_TESTS = ROOT / "tests" / "vendor"
ROW = re.compile(
    r"^\| (?P<file>\S+) \|.*\| (?P<licence>[^|]+) \| (?P<sha256>[0-9a-f]{64}) \|$", re.MULTILINE
)
LISTED = {
    (folder, row["file"]): row["sha256"]
    for folder in (SERVED, FOR_TESTS)
    for row in ROW.finditer((folder / "README.md").read_text("utf-8"))
}
SCRIPTS = [name for folder, name in LISTED if folder == SERVED and name.endswith((".js", ".css"))]


@pytest.mark.parametrize("folder", [SERVED, FOR_TESTS], ids=["served", "for tests"])
def test_the_table_lists_every_file_and_nothing_else(folder):
    found = {path.name for path in folder.iterdir()} - {"README.md"}
    assert {name for place, name in LISTED if place == folder} == found


@pytest.mark.parametrize(("folder", "name"), sorted(LISTED), ids=lambda part: Path(part).name)
def test_the_file_has_the_listed_hash(folder, name):
    assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == LISTED[folder, name]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_every_file_is_used_under_its_full_name(name):
    users = [
        ROOT / "templates" / "frame" / "_scripts.html",
        ROOT / "templates" / "frame" / "api_docs.html",
        ROOT / "templates" / "streams" / "application" / "detail.html",
        ROOT / "static" / "css" / "tokens.css",
    ]
    assert any(f"vendor/{name}" in user.read_text("utf-8") for user in users)


def test_only_charts_js_calls_uplot():
    callers = [
        path.name
        for path in (ROOT / "static" / "js").glob("*.js")
        if "new uPlot" in path.read_text("utf-8")
    ]
    assert callers == ["charts.js"]
