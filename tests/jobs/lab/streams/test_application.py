"""The settings of an instance of the lab's Streams application."""

from pathlib import Path

import pytest

from jobs.lab.streams.application import STREAMS, StreamsSettings

FOLDER = Path("/lab/streams/one")


def properties(endpoint: str | None = None, **settings) -> dict[str, str]:
    return StreamsSettings("shop-totals", "localhost:1", **settings).properties(FOLDER, endpoint)


def test_state_and_door_are_in_the_folder_of_the_instance():
    found = properties()
    assert (found["state.dir"], found["shop.door"]) == (f"{FOLDER}/state", f"{FOLDER}/door")


def test_an_instance_without_an_endpoint_has_no_application_server():
    assert "application.server" not in properties()
    assert properties("h1.example:7071")["application.server"] == "h1.example:7071"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, None, id="Kafka's own"),
        pytest.param({"session_ms": 6000}, "6000", id="chosen"),
        pytest.param({"session_ms": 6000, "protocol": STREAMS}, None, id="a streams group has it"),
    ],
)
def test_the_session_of_a_member_is_a_setting_of_the_classic_protocol(settings, expected):
    assert properties(**settings).get("consumer.session.timeout.ms") == expected
