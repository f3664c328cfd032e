"""MirrorMaker 2's own classes answer today what the project's cases say."""

import pytest

from jobs.lab.install.program import CompilerMissing
from jobs.lab.install.releases import KAFKA_VERSION
from tools.recording import mirror_maker
from tools.recording.case_files import CONFORMANCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "subject",
    [
        "mirror_maker_properties",
        "mirror_maker_records",
        "offset_translation",
        "replication_policy",
    ],
)
def test_a_new_recording_is_what_the_project_has(subject, tmp_path):
    try:
        getattr(mirror_maker, f"record_{subject}")(KAFKA_VERSION, tmp_path)
    except CompilerMissing as error:
        pytest.skip(str(error))
    recorded = (tmp_path / "cases.json").read_bytes()
    assert recorded == (CONFORMANCE / subject / "cases.json").read_bytes()
