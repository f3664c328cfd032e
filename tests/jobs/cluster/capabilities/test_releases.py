"""Which release a broker is, held against the answers of real brokers."""

import pytest

from jobs.cluster.capabilities.releases import KRAFT_ONLY, Mode, mode_of, number, tell_release
from jobs.cluster.protocol.transport import apis
from jobs.cluster.protocol.transport.apis import BrokerVersions
from jobs.cluster.protocol.transport.kafka_releases import OLDEST, came_with
from tests.jobs.cluster.capabilities.recorded import NAMES, recorded

LEADER_AND_ISR, LIST_OFFSETS, LOG_DIRS, FETCH = 4, 2, 35, 1
INTER_BROKER = (4, 5, 6, 7, 56, 58, 67)
# Controllers serve them, brokers do not.
OF_CONTROLLERS = {"FETCH_LOG", "FETCH_SNAPSHOT", "BROKER_HEARTBEAT"}
SPOKEN = {
    name: getattr(api, "speaks", api)
    for name, api in vars(apis).items()
    if isinstance(getattr(api, "speaks", api), apis.SupportedApi) and name not in OF_CONTROLLERS
}


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_broker_is_of_its_own_release(name):
    told = tell_release(recorded(name))
    assert (told.text, told.at_least, told.why) == (name[:3], name[:3], "")


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_broker_runs_with_what_it_was_started_with(name):
    expected = Mode.ZOOKEEPER if "zookeeper" in name else Mode.KRAFT
    assert mode_of(recorded(name)) is expected


@pytest.mark.parametrize("name", NAMES)
def test_what_crosslog_speaks_at_least_came_with_the_release_that_is_told(name):
    answer = recorded(name)
    for api in SPOKEN.values():
        lowest = min(api.versions)
        since = came_with(api.name, lowest)
        is_there = answer.ranges.get(api.key, (0, -1))[1] >= lowest
        if mode_of(answer) is Mode.ZOOKEEPER and api.name in KRAFT_ONLY:
            assert not is_there, api
        else:
            assert is_there == (number(since) <= number(name[:3])), (api, since)


@pytest.mark.parametrize(
    ("broker", "text", "at_least"),
    [
        pytest.param(recorded("4.3.1-kraft", supported={}), "4.3 or newer", "4.3", id="newest"),
        pytest.param(
            recorded("4.3.1-kraft", supported={"metadata.version": 33}),
            "newer than 4.3",
            "4.3",
            id="a later one",
        ),
        pytest.param(
            recorded("3.3.2-kraft", supported={"metadata.version": 8}), "3.4", "3.4", id="3.4"
        ),
        pytest.param(
            recorded("3.3.2-zookeeper", at_most={LEADER_AND_ISR: 7}), "3.4", "3.4", id="3.4 zk"
        ),
        pytest.param(
            recorded("3.3.2-zookeeper", hides=INTER_BROKER), "3.3 or 3.4", "3.3", id="cannot tell"
        ),
        pytest.param(
            BrokerVersions({3: (0, 6), 0: (0, 6), 1: (0, 8)}, {}),
            f"older than {OLDEST}",
            "",
            id="as 2.0 offers",
        ),
    ],
)
def test_a_release_is_told_as_far_as_the_ranges_tell(broker, text, at_least):
    told = tell_release(broker)
    assert (told.text, told.at_least) == (text, at_least)


@pytest.mark.parametrize(
    ("broker", "words"),
    [
        pytest.param(
            recorded("3.9.1-kraft", at_most={LIST_OFFSETS: 6}),
            "it offers Fetch 17 as Kafka 3.9 does, without ListOffsets 7 of Kafka 3.0",
            id="an older version of one request",
        ),
        pytest.param(
            recorded("3.6.2-kraft", hides=(LOG_DIRS,)),
            "without DescribeLogDirs 2 of Kafka 2.6",
            id="a request is missing",
        ),
        pytest.param(
            recorded("3.9.1-kraft", supported={"metadata.version": 30}),
            "its metadata.version 30 is that of Kafka 4.3",
            id="features of a later release",
        ),
    ],
)
def test_a_combination_that_no_release_has_is_not_known_and_named(broker, words):
    told = tell_release(broker)
    assert (told.text, told.at_least) == ("not known", "")
    assert words in told.why


def test_a_broker_whose_proxy_hides_requests_between_brokers_may_have_either_mode():
    assert mode_of(recorded("3.6.2-zookeeper", hides=INTER_BROKER)) is Mode.UNKNOWN
