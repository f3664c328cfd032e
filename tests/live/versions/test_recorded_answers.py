"""What brokers answer to ApiVersions is what tests/conformance/api_versions has."""

from tests.support import CONFORMANCE
from tools.recording.api_versions import record_api_versions


def contents(folder, pattern):
    return {path.name: path.read_text("utf-8") for path in folder.glob(pattern)}


def test_the_newest_kafka_recorded_again_gives_the_files_of_the_project(kafka, tmp_path):
    version = kafka.release.version
    record_api_versions(version, tmp_path)
    assert contents(tmp_path, "*") == contents(CONFORMANCE / "api_versions", f"{version}-*.json")
