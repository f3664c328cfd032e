"""The files of others are the ones that the table in static/vendor/README.md names, byte for byte."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
VENDOR = ROOT / "static" / "vendor"
ROW = re.compile(
    r"^\| (?P<file>\S+) \|.*\| (?P<licence>\S+) \| (?P<sha256>[0-9a-f]{64}) \|$", re.MULTILINE
)
LISTED = {
    row["file"]: row["sha256"] for row in ROW.finditer((VENDOR / "README.md").read_text("utf-8"))
}


def test_the_table_lists_every_file_and_nothing_else():
    assert set(LISTED) == {path.name for path in VENDOR.iterdir()} - {"README.md"}


@pytest.mark.parametrize("name", sorted(LISTED))
def test_the_file_has_the_listed_hash(name):
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == LISTED[name]


@pytest.mark.parametrize("name", sorted(name for name in LISTED if name.endswith((".js", ".css"))))
def test_every_file_is_used_under_its_full_name(name):
    users = [ROOT / "templates" / "frame" / "_scripts.html", ROOT / "static" / "css" / "tokens.css"]
    assert any(f"vendor/{name}" in user.read_text("utf-8") for user in users)


def test_only_charts_js_calls_uplot():
    callers = [
        path.name
        for path in (ROOT / "static" / "js").glob("*.js")
        if "new uPlot" in path.read_text("utf-8")
    ]
    assert callers == ["charts.js"]
