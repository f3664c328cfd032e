"""What Kafka Streams' own classes say is what the project has."""

import pytest

from tests.support import CONFORMANCE
from tools.recording.case_files import read_cases
from tools.recording.streams import record_streams_partitioning, record_streams_userdata

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("subject", "record"),
    [
        pytest.param("streams_userdata", record_streams_userdata, id="user data"),
        pytest.param("streams_partitioning", record_streams_partitioning, id="partitioning"),
    ],
)
def test_recording_again_gives_the_file_that_the_project_has(recorded, subject, record):
    again = (recorded(record) / "cases.json").read_text(encoding="utf-8")
    assert again == (CONFORMANCE / subject / "cases.json").read_text(encoding="utf-8")


def test_every_user_data_is_written_by_kafka_and_of_partitioning_all_but_crosslog_s_own_rules():
    kinds = {
        subject: {one["kind"] for one in read_cases(subject)["cases"]}
        - set(read_cases(subject)["recorded"]["kinds"])
        for subject in ("streams_userdata", "streams_partitioning")
    }
    assert kinds == {
        "streams_userdata": set(),
        "streams_partitioning": {"key_lookup_warning", "endpoint_conflict", "assignment_property"},
    }
