"""The audit of real applications: which failures it finds at each step of their lives, and whether truly."""

import uuid

import pytest

from jobs.lab.daemon import LabDaemon
from jobs.lab.streams.settled import STORE, tasks
from jobs.streams.lookup.own_answer import misrouted_share
from jobs.streams.metadata_state import metadata_state
from jobs.wire.batches.hashes import partition_for_key
from tests.live.streams.applications import wait_until_settled
from tests.live.streams.outside import Auditor, both_sides, holds
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

WITHIN_S = 60
STORE_PARTITIONS = 6
# A multiple of each count up to 6: what is told of a key follows from this remainder of its hash.
REMAINDERS = 60
MANY_KEYS = [f"customer-{number:04}" for number in range(2_000)]
MISROUTED = "streams_keys_misrouted"
EXPECTED = {
    "two instances": set(),
    "a third instance": set(),
    "an instance restarted": set(),
    "an instance killed": set(),
    "the last instance": set(),
    "one without endpoint": {MISROUTED, "streams_endpoint_missing"},
    "one endpoint for two": {MISROUTED, "streams_endpoint_shared"},
    "two threads per endpoint": {"streams_threads_share_endpoint"},
}


def expect(auditor: Auditor, step: str) -> None:
    """Wait for exactly the failures of a step."""
    eventually(
        lambda: (found := auditor.failures()) is not None and found == EXPECTED[step],
        WITHIN_S,
    )


def counted_share(application, inside, name: str) -> float:
    """The share of keys that an instance sends to another one than serves them, over all remainders."""
    serving = {
        partition_for_key(key.encode(), STORE_PARTITIONS): application.instances[one].endpoint
        for one, jvm in inside.items()
        for key in jvm["localGet"]
    }
    assert len(serving) == STORE_PARTITIONS
    is_wrong: dict[int, set[bool]] = {}
    for key, (active, _, partition) in inside[name]["queryMetadataForKey"].items():
        true = partition_for_key(key.encode(), STORE_PARTITIONS)
        wrong = partition != true or active != serving[true]
        is_wrong.setdefault(partition_for_key(key.encode(), REMAINDERS), set()).add(wrong)
    assert len(is_wrong) == REMAINDERS
    assert all(len(said) == 1 for said in is_wrong.values())
    return sum(True in said for said in is_wrong.values()) / REMAINDERS


def assert_share_is_true(cluster, application, name: str, auditor: Auditor) -> None:
    outside, inside = both_sides(cluster, application, [name], MANY_KEYS)
    told = misrouted_share(outside, outside.stores[STORE], metadata_state(outside))
    assert told == counted_share(application, inside, name)
    # Of the worst store.
    assert auditor.conditions[MISROUTED].value >= 100 * told > 0


@pytest.fixture
def sharing_an_endpoint(start_application):
    """`E1` and `E2` with the same application.server."""
    application = start_application(f"sharing-{uuid.uuid4().hex[:8]}")
    application.start("E1", "h1.example:7121")
    application.start("E2", "h1.example:7121")
    wait_until_settled(application)
    yield application
    application.kill()


@pytest.fixture
def of_the_demo(streams_lab):
    """The application that the demo shows."""
    keeper = LabDaemon(streams_lab)
    keeper.start_streams()
    yield keeper.streams
    keeper.streams.kill()


def test_the_application_of_the_demo_has_one_finding_which_is_advice_and_true(
    streams_cluster, of_the_demo
):
    auditor = Auditor(streams_cluster, of_the_demo)
    expect(auditor, "two instances")
    wanted = {"streams_no_standby"}
    eventually(
        lambda: {name for name, one in (auditor.look() or {}).items() if holds(one)} == wanted,
        WITHIN_S,
    )
    assert not any(tasks(inside, "standby") for inside in of_the_demo.inside().values())


def test_no_failure_is_found_of_a_healthy_application(streams_cluster, classic_two_instances):
    expect(Auditor(streams_cluster, classic_two_instances), "two instances")


def test_no_failure_is_found_while_an_application_scales_out_and_loses_instances(
    streams_cluster, fresh_pair
):
    auditor = Auditor(streams_cluster, fresh_pair)
    expect(auditor, "two instances")
    fresh_pair.start("D3", "h3.example:7103")
    wait_until_settled(fresh_pair)
    expect(auditor, "a third instance")
    fresh_pair.instances["D1"].kill()
    wait_until_settled(fresh_pair)
    expect(auditor, "an instance killed")
    fresh_pair.instances["D2"].kill()
    wait_until_settled(fresh_pair, standbys=0)
    expect(auditor, "the last instance")
    assert auditor.conditions["streams_no_standby"].holds


def test_no_failure_is_found_after_each_step_of_a_rolling_restart(streams_cluster, fresh_pair):
    auditor = Auditor(streams_cluster, fresh_pair)
    expect(auditor, "two instances")
    for instance in list(fresh_pair.instances.values()):
        instance.close()
        wait_until_settled(fresh_pair, standbys=0)
        expect(auditor, "an instance restarted")
        instance.start()
        wait_until_settled(fresh_pair)
        expect(auditor, "an instance restarted")


def test_an_instance_without_endpoint_is_found_and_its_share_of_keys_is_what_the_jvms_serve(
    streams_cluster, one_without_endpoint
):
    auditor = Auditor(streams_cluster, one_without_endpoint)
    expect(auditor, "one without endpoint")
    assert_share_is_true(streams_cluster, one_without_endpoint, "B2", auditor)


def test_an_endpoint_of_two_instances_is_found_and_its_share_of_keys_is_what_the_jvms_serve(
    streams_cluster, sharing_an_endpoint
):
    auditor = Auditor(streams_cluster, sharing_an_endpoint)
    expect(auditor, "one endpoint for two")
    assert_share_is_true(streams_cluster, sharing_an_endpoint, "E1", auditor)


def test_of_a_streams_group_with_two_threads_per_endpoint_the_cause_is_found_and_no_share(
    streams_cluster, streams_two_threads
):
    auditor = Auditor(streams_cluster, streams_two_threads)
    expect(auditor, "two threads per endpoint")
    assert auditor.conditions[MISROUTED].holds is None
