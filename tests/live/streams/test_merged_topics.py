"""Topics of different size, merged without a repartition topic: what real instances answer and have."""

import json
import uuid

import pytest

from jobs.cli import main
from jobs.cluster.client import ClusterClient
from jobs.lab.errors import LabError
from jobs.lab.streams.application import RUNNING, RUNNING_S
from jobs.lab.streams.settled import STORE, Inside
from jobs.wire.batches.hashes import partition_for_key
from tests.live.streams.applications import connection_file
from tests.live.topics import make_topic
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.timeout(900)

# Kafka's answers are by the largest topic; a key is where the topic through which it came puts it.
SIZES = {"farm.eggs": 4, "farm.milk-a": 6}
KEYS = [f"k{number}" for number in range(12)]
BOTH = "k24"
FARMS = {
    "two topics": ("farm.eggs", "farm.milk-a"),
    "a topic and a pattern": ("farm.eggs", r"~farm\.mil.*"),
    "a pattern for both": (r"~farm\.(eggs|milk-[a-z])",),
}


def topic_of(key: str) -> str:
    return list(SIZES)[int(key[1:]) % 2]


def place(key: str, topic: str) -> int:
    return partition_for_key(key.encode(), SIZES[topic])


@pytest.fixture(scope="module")
def topics(streams_cluster):
    for topic, partitions in SIZES.items():
        make_topic(streams_cluster, topic, partitions)
    with ClusterClient(streams_cluster.connection) as client:
        producer = client.producer({"partitioner": "murmur2_random"})
        for key in KEYS:
            producer.produce(topic_of(key), b"1", key.encode())
        for topic in SIZES:
            producer.produce(topic, b"1", BOTH.encode())
        producer.flush(30)


@pytest.fixture(scope="module", params=FARMS.values(), ids=FARMS.keys())
def farm(request, topics, start_application):
    """`M1` and `M2`: a store fed by a topic of 4 partitions and by one of 6."""
    name = f"barn-{uuid.uuid4().hex[:8]}"
    application = start_application(name, merged=request.param, standbys=0)
    application.start("M1", "h1.example:7111")
    application.start("M2", "h2.example:7112")
    application.wait_until_running(RUNNING_S * PATIENCE)

    def serves_all() -> bool:
        try:
            found = application.inside([*KEYS, BOTH])
        except LabError:
            return False
        served = {key for one in found.values() for key in one["localGet"] or ()}
        named = [one["queryMetadataForKey"] or {} for one in found.values()]
        return (
            all(one["state"] == RUNNING for one in found.values())
            and all(one["metadataForLocalThreads"][0]["active"] for one in found.values())
            and served == {*KEYS, BOTH}
            and all(one == named[0] and len(one) == len(KEYS) + 1 for one in named)
        )

    eventually(serves_all, RUNNING_S, every=0.5)
    yield application
    application.kill()


@pytest.fixture
def asked(streams_cluster, farm, tmp_path, capsys):
    """Ask the command for a key; returns the exit code and what it says."""
    described = tmp_path / "describe.txt"
    described.write_text(farm.instances["M1"].topology(), encoding="utf-8")
    path = connection_file(streams_cluster, tmp_path)
    name = farm.settings.application_id

    def ask(key: str, *more: str, is_described: bool = True) -> tuple[int, Inside]:
        command = ["streams", path, "--application", name, "--store", STORE, "--key", key, "--json"]
        command += ["--topology", str(described)] if is_described else []
        code = main([*command, *more])
        return code, json.loads(capsys.readouterr().out)["applications"][0]["for_key"]

    return ask


def endpoints_that_serve(farm, key: str) -> set[str]:
    found = farm.inside([key])
    return {farm.instances[name].endpoint for name, one in found.items() if one["localGet"]}


def test_the_changelog_tells_which_of_the_application_s_answers_are_wrong(farm, asked):
    named = farm.inside(KEYS)["M1"]["queryMetadataForKey"]
    verdicts = set()
    for key in KEYS:
        code, told = asked(key, "--changelog")
        own = told["application_answers"]
        assert [own["active"], own["partition"]] == [named[key][0], named[key][2]], key
        assert told["partition"] == place(key, topic_of(key)), key
        assert {told["active"]["endpoint"]} == endpoints_that_serve(farm, key), key
        is_right = own["partition"] == told["partition"]
        assert (own["is_right"], code) == (is_right, 0 if is_right else 1), key
        verdicts.add(is_right)
    assert verdicts == {True, False}


def test_without_the_changelog_all_places_are_named_and_no_doubtful_answer_is_right(farm, asked):
    for key in KEYS:
        code, told = asked(key)
        places = {place(key, topic) for topic in SIZES}
        assert {one["partition"] for one in told["possible"]} == places, key
        assert any("different partition counts" in one for one in told["cautions"]), key
        own = told["application_answers"]
        assert (own["is_right"], code) == (True if len(places) == 1 else None, 0), key


def test_without_a_description_the_application_s_answer_is_not_known(farm, asked):
    key = next(one for one in KEYS if place(one, "farm.eggs") != place(one, "farm.milk-a"))
    _, told = asked(key, is_described=False)
    assert told["application_answers"]["active"] is None
    assert {one["partition"] for one in told["possible"]} == {place(key, topic) for topic in SIZES}


def test_a_key_of_both_topics_is_in_both_places(farm, asked):
    assert place(BOTH, "farm.eggs") != place(BOTH, "farm.milk-a")
    code, told = asked(BOTH, "--changelog")
    assert {one["partition"] for one in told["possible"]} == {place(BOTH, one) for one in SIZES}
    assert told["partition"] is None
    assert (told["application_answers"]["is_right"], code) == (None, 0)
    assert "and" in told["application_answers"]["reason"]
