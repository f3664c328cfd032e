"""MirrorMaker 2's own classes answer today what the project's cases say."""

import pytest

from tests.support import CONFORMANCE
from tools.recording import mirror_maker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SUBJECTS = [
    "mirror_maker_properties",
    "mirror_maker_records",
    "offset_translation",
    "replication_policy",
]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_new_recording_is_what_the_project_has(recorded, subject):
    again = recorded(getattr(mirror_maker, f"record_{subject}")) / "cases.json"
    assert again.read_text("utf-8") == (CONFORMANCE / subject / again.name).read_text("utf-8")
