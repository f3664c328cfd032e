"""There is one version: the newest one that the change log tells of."""

import re
import tomllib
from pathlib import Path

from jobs.version import VERSION

ROOT = Path(__file__).parent.parent


def test_the_newest_heading_of_the_change_log_is_the_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == VERSION


def test_the_distribution_takes_its_version_from_the_code():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "jobs.version.VERSION"}
