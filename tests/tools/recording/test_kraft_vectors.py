"""The vectors of the metadata log, recorded again with the classes of the lab's Kafka."""

import pytest

from tests.support import CONFORMANCE
from tools.recording.kraft_vectors import record_kraft_vectors


@pytest.mark.slow
def test_the_vectors_recorded_again_are_those_of_the_project(recorded):
    made = recorded(record_kraft_vectors) / "cases.json"
    assert made.read_text("utf-8") == (CONFORMANCE / "kraft_vectors" / made.name).read_text("utf-8")
