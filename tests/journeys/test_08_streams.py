"""What crosslog says of a Kafka Streams application is what the application's JVMs say themselves."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobs.lab.streams.application import StreamsApplication, StreamsSettings, make_topics
from jobs.lab.streams.orders import OrderWriter
from jobs.lab.streams.settled import KEYS
from jobs.streams.metadata_state import metadata_state
from tests.live.streams.applications import wait_until_settled
from tests.live.streams.test_answers import (
    STORE,
    answers_inside,
    answers_of,
    both_sides,
    serving,
    truth,
)
from tests.waiting import eventually

pytestmark = pytest.mark.journey
INSTANCES = {"S1": "s1.example:7201", "S2": "s2.example:7202"}
SESSION_MS = 6_000
ORDERS_PER_S = 10.0
# The console asks for applications every few seconds.
SEEN_WITHIN_S = 60
# One key of each partition of the store, and more.
ASKED = KEYS[:24]


@contextmanager
def shop(world, folder) -> Iterator[StreamsApplication]:
    """Two settled instances with topics of their own; killed with the block."""
    name = f"shop-{uuid.uuid4().hex[:8]}"
    prefix = f"{name}."
    make_topics(world.east.connection, prefix)
    settings = StreamsSettings(
        name, world.east.bootstrap_servers, prefix=prefix, session_ms=SESSION_MS
    )
    application = StreamsApplication(folder, world.lab.jvm, settings)
    try:
        for instance, endpoint in INSTANCES.items():
            application.start(instance, endpoint)
        with OrderWriter(world.east.connection, prefix=prefix, rate=ORDERS_PER_S):
            wait_until_settled(application)
            yield application
    finally:
        application.kill()


def test_jobs_and_console_answer_for_an_application_as_its_own_jvms_do(world, tmp_path):
    with shop(world, tmp_path) as application:
        eventually(lambda: is_seen(world, application), SEEN_WITHIN_S, every=0.5)
        seen, inside = both_sides(world.east, application, list(INSTANCES))
        jvms = [answers_inside(jvm) for jvm in inside.values()]
        told = answers_of(metadata_state(seen))
        assert jvms == [told, told]
        served = serving(application, inside)
        assert truth(seen) == served

        assert metadata_of(document(world, application)) == told["all"]
        for key in ASKED:
            looked_up = look_up(world, application, key)
            assert answered(looked_up) == told["keys"][key]
            assert looked_up["active"]["endpoint"] == served[key]
            assert looked_up["application_answers"]["is_right"] is True


def is_seen(world, application: StreamsApplication) -> bool:
    """Return whether the console lists the application with both instances and knows their endpoints."""
    name = application.settings.application_id
    rows = world.get("streams/?cluster=east")["results"]
    row = next((one for one in rows if one["application"] == name), None)
    if row is None or row["state"] != "Stable" or row["instance_count"] != len(INSTANCES):
        return False
    # A round may have come while tasks still moved: members give tasks up before others have them.
    tasks = world.get(f"streams/{name}/tasks/?cluster=east&limit=500")["results"]
    if not all(has_active(task) for task in tasks):
        return False
    jvm = next(iter(application.inside(KEYS).values()))
    return metadata_of(document(world, application)) == answers_inside(jvm)["all"]


def has_active(task: dict) -> bool:
    """Return whether an instance runs the task."""
    return any(one["role"] == "active" for one in task["placements"])


def document(world, application: StreamsApplication) -> dict:
    """Return what the console knows of the application."""
    return dict(world.get(f"streams/{application.settings.application_id}/?cluster=east"))


def metadata_of(shown: dict) -> dict:
    """Return the metadata that the application answers, as `answers_inside` has it."""
    return {
        one["endpoint"]: (
            set(one["partitions"]),
            set(one["stores"]),
            set(one["standby_partitions"]),
            set(one["standby_stores"]),
        )
        for one in shown["application_answers"]["metadata"] or ()
    }


def look_up(world, application: StreamsApplication, key: str) -> dict:
    """Ask the console who serves a key."""
    name = application.settings.application_id
    question = {"store": STORE, "key": key}
    return dict(world.post(f"streams/{name}/key-lookup/?cluster=east", question))


def answered(looked_up: dict) -> tuple:
    """Return what the application answers for the key, as `answers_inside` has it."""
    told = looked_up["application_answers"]
    return told["active"], sorted(told["standby"]), told["partition"]
