"""The metadata log that the project has, see tests/conformance/kraft_log."""

import hashlib

from jobs.quorum.log.folder import read_folder
from tests.support import CONFORMANCE
from tools.recording.case_files import read_json

FOLDER = CONFORMANCE / "kraft_log"


def test_every_file_of_the_log_is_as_it_was_recorded():
    files = (path for path in (FOLDER / "node-1").rglob("*") if path.is_file())
    sums = {
        str(path.relative_to(FOLDER)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    lines = (FOLDER / "sha256.txt").read_text("utf-8").splitlines()
    assert sums == {name: told for told, name in (line.split("  ") for line in lines)}


def test_the_facts_are_those_of_the_log():
    facts = read_json(FOLDER / "facts.json")
    assert facts["log_start_offset"] == read_folder(FOLDER / "node-1").log_start_offset
