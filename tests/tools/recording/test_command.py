"""The command that records: what the project has stays until a recording is complete."""

import pytest

from tools.record_conformance import record


@pytest.fixture
def folder(tmp_path):
    """A subject with a file, a log and a README."""
    (tmp_path / "log").mkdir()
    for name in ("README.md", "cases.json", "log/old"):
        (tmp_path / name).write_text("before")
    return tmp_path


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def a_recording(_version, into):
    (into / "log").mkdir()
    for name in ("cases.json", "log/new"):
        (into / name).write_text("after")


def a_recording_that_ends_early(version, into):
    a_recording(version, into)
    raise KeyboardInterrupt


def test_a_recording_replaces_its_files_and_folders_and_leaves_the_others(folder):
    record(a_recording, "4.3.1", folder)
    assert contents(folder) == {"README.md": "before", "cases.json": "after", "log/new": "after"}


def test_a_recording_that_ends_early_changes_nothing(folder):
    before = contents(folder)
    with pytest.raises(KeyboardInterrupt):
        record(a_recording_that_ends_early, "4.3.1", folder)
    assert contents(folder) == before
