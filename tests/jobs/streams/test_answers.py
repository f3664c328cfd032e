"""Where a store and a key are, beside what the application itself answers."""

from dataclasses import replace

import pytest

from jobs.cluster.group_members import (
    StreamsGroup,
    StreamsMember,
    StreamsSubtopology,
    StreamsTasks,
)
from jobs.streams.answers import (
    NoSuchStore,
    all_metadata,
    metadata_for_key,
    metadata_for_store,
)
from jobs.streams.application import Application, Role
from jobs.streams.assembly import application_of
from jobs.streams.lookup.own_answer import OTHER_HASH
from jobs.streams.topology.reading import read_description
from jobs.wire.batches.hashes import Partitioner, partition_for_key
from tests.jobs.streams.written import TOPICS, facts, observation, two_processes
from tests.support import conformance_cases

# One key of each of four partitions.
KEYS = {
    number: next(
        key for key in map(str, range(1000)) if partition_for_key(key.encode(), 4) == number
    )
    for number in range(4)
}


def key(number):
    return KEYS[number].encode()


def no_tasks():
    return StreamsTasks({}, {}, {})


def streams_member(name, process, endpoint, active, standby=(), target=None):
    now = StreamsTasks({"0": tuple(active)}, {"0": tuple(standby)}, {})
    return StreamsMember(
        name, 3, None, None, f"client-{name}", "/10.0.0.9", 1, process, endpoint, {}, now,
        target or now, {}, {}, is_classic=False,
    )  # fmt: skip


def streams_group(*members):
    part = StreamsSubtopology("0", ("orders",), (), (), ("app-totals-changelog",))
    return StreamsGroup("app", "Stable", 3, 3, 1, (part,), members)


def classic(**told) -> Application:
    return application_of(observation(two_processes(**told)))


@pytest.mark.parametrize("number", range(4))
def test_a_key_is_served_by_who_runs_its_task_and_the_application_says_so(number):
    found = metadata_for_key(classic(), "totals", key(number))
    serving, other = ("h1:1", "h2:2") if number in (0, 2) else ("h2:2", "h1:1")
    assert (found.partition, str(found.task)) == (number, f"0_{number}")
    assert found.active.process.endpoint == serving
    assert [one.process.endpoint for one in found.placements if one.role is Role.STANDBY] == [other]
    assert (found.jvm.answer.active, found.jvm.is_right, found.jvm.misrouted) == (
        serving,
        True,
        0.0,
    )
    assert any("4 partitions of orders" in one for one in found.evidence)


def test_the_true_number_of_partitions_counts_and_the_wrong_answer_is_told():
    application = classic(second_endpoint="")
    found = metadata_for_key(application, "totals", key(3))
    assert found.partitions == 4
    assert found.active.process.place == "10.0.0.2", "without an endpoint it has an address"
    assert not found.jvm.is_right
    assert "10.0.0.2 has no application.server" in found.jvm.reason
    assert "KAFKA-20886" in found.jvm.reason
    # Two partitions are seen, 0 and 2: of four remainders only the first is right.
    assert found.jvm.misrouted == pytest.approx(3 / 4)


def test_an_endpoint_of_two_processes_is_told():
    application = classic(second_endpoint="h1:1")
    reasons = {
        metadata_for_key(application, "totals", key(number)).jvm.reason for number in range(4)
    }
    assert any("2 processes have the endpoint h1:1" in one for one in reasons)


def test_a_task_that_is_routed_to_where_it_is_to_be_and_runs_elsewhere_is_told():
    of = two_processes()
    swapped = (
        replace(of.members[0], assignment=of.members[1].assignment),
        replace(of.members[1], assignment=of.members[0].assignment),
    )
    found = metadata_for_key(
        application_of(observation(replace(of, members=swapped))), "totals", key(0)
    )
    assert not found.jvm.is_right
    assert "still runs where it was" in found.jvm.reason


def test_a_key_whose_task_nobody_runs_says_so():
    of = two_processes(copies=False)
    alone = application_of(observation(replace(of, members=of.members[:1])))
    found = metadata_for_key(alone, "totals", key(1))
    assert found.active is None
    assert any("No thread runs task 0_1" in one for one in found.cautions)
    assert found.jvm.is_right is None


def test_a_store_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(NoSuchStore, match=r"no store nothing .*seen: totals"):
        metadata_for_key(classic(), "nothing", b"")
    with pytest.raises(NoSuchStore):
        metadata_for_store(classic(), "nothing")


def test_each_process_has_its_partitions_and_stores():
    found = {one.process.endpoint: one for one in all_metadata(classic())}
    assert set(map(str, found["h1:1"].partitions)) == {"orders-0", "orders-2"}
    assert set(map(str, found["h1:1"].standby_partitions)) == {"orders-1", "orders-3"}
    assert found["h1:1"].stores == found["h1:1"].standby_stores == {"totals"}
    assert len(metadata_for_store(classic(), "totals")) == 2


def test_a_global_store_is_on_every_process():
    text = (
        "Topologies:\n Sub-topology: 0\n  Source: s (topics: [orders])\n    --> p\n"
        "  Processor: p (stores: [totals])\n    --> none\n    <-- s\n"
        "Sub-topology: 1 for global store (will not generate tasks)\n"
        "  Source: g (topics: [regions])\n    --> q\n"
        "  Processor: q (stores: [regions])\n    --> none\n    <-- g\n"
    )
    application = application_of(observation(two_processes()), read_description(text))
    assert all("regions" in one.stores for one in all_metadata(application))
    assert not any("regions" in one.standby_stores for one in all_metadata(application))
    assert metadata_for_key(application, "regions", b"x").jvm.is_right


def test_a_streams_group_with_one_thread_per_process_is_answered_for():
    group = streams_group(
        streams_member("a", "p1", "h1:1", (0, 2)), streams_member("b", "p2", "h2:2", (1, 3))
    )
    found = metadata_for_key(application_of(observation(group)), "totals", key(3))
    assert (found.active.process.endpoint, found.jvm.is_right) == ("h2:2", True)
    assert found.store.confidence == "exact"


def test_with_two_threads_per_endpoint_a_streams_group_s_own_answer_is_not_knowable():
    group = streams_group(
        streams_member("a", "p1", "h1:1", (0, 2)), streams_member("b", "p1", "h1:1", (1, 3))
    )
    found = metadata_for_key(application_of(observation(group)), "totals", key(3))
    assert found.active.process.endpoint == "h1:1"
    assert found.jvm.answer is None
    assert "KAFKA-20782" in found.jvm.reason


def test_an_application_without_any_endpoint_routes_nothing():
    group = streams_group(streams_member("a", "p1", None, (0, 1, 2, 3)))
    found = metadata_for_key(application_of(observation(group)), "totals", key(3))
    assert found.active.process.place == "10.0.0.9"
    assert "No process has an application.server" in found.jvm.reason


def test_a_streams_group_whose_members_lag_behind_the_assignment_is_told():
    late = replace(streams_member("a", "p1", "h1:1", (0,)), member_epoch=2, topology_epoch=2)
    found = application_of(
        observation(streams_group(late, streams_member("b", "p2", "h2:2", (1,))))
    )
    assert any("1 of 2 members" in one for one in found.cautions)
    assert any("epochs 1, 2" in one for one in found.cautions)


def test_a_streams_group_without_a_topology_is_told():
    group = replace(streams_group(), subtopologies=None, state="NotReady")
    found = application_of(observation(group))
    assert found.stores["totals"].confidence == "one of several"
    assert "no topology" in found.cautions[0]
    answer = metadata_for_key(found, "totals", b"x")
    assert (answer.partition, answer.jvm.answer) == (None, None)


def test_a_store_that_may_be_in_two_subtopologies_is_not_guessed():
    topics = {**TOPICS, "payments": facts(4)}
    parts = [
        StreamsSubtopology(n, (t,), (), (), ()) for n, t in (("0", "orders"), ("1", "payments"))
    ]
    group = replace(streams_group(), subtopologies=tuple(parts))
    application = application_of(observation(group, topics))
    # Neither has registered a changelog, so neither is known to have state.
    assert application.stores["totals"].confidence == "one of several"
    found = metadata_for_key(application, "totals", key(2))
    assert found.task is None
    assert any("0 or 1" in one for one in found.cautions)


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning", "misroute_share"))
def test_the_share_of_wrong_answers_is_that_of_the_partitions_that_are_not_routed(case):
    every, routed = case["from_partitions"], case["to_partitions"]
    group = streams_group(
        streams_member("a", "p1", "h1:1", range(routed)),
        streams_member("b", "p2", None, range(routed, every)),
    )
    topics = {"orders": facts(every), "app-totals-changelog": facts(every)}
    found = metadata_for_key(application_of(observation(group, topics)), "totals", b"x")
    assert 100 * found.jvm.misrouted == pytest.approx(case["expected_percent"], abs=0.2)
    assert found.partitions == every


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning", "key_lookup_warning"))
def test_a_key_is_looked_up_with_all_partitions_and_the_fault_is_named(case):
    given, expected = case["given"], case["expected"]
    every, routed = given["true_partitions"], given["partitions_with_endpoint"]
    group = streams_group(
        streams_member("a", "p1", "h1:1", range(routed)),
        streams_member("b", "p2", None, range(routed, every)),
    )
    found = metadata_for_key(application_of(observation(group)), "totals", key(every - 1))
    assert found.partitions == expected["modulus"]
    assert expected["warning"] in found.jvm.reason
    assert 100 * found.jvm.misrouted == pytest.approx(expected["misroute_share_percent"], abs=0.2)


@pytest.mark.parametrize(
    ("topics", "answers"), [("orders", False), ("orders, clicks", True)], ids=["smaller", "both"]
)
def test_a_streams_group_s_answer_by_smaller_topics_only_is_not_knowable(topics, answers):
    """KAFKA-20885: brokers route partitions of the smaller topic that do not exist."""
    part = StreamsSubtopology("0", ("clicks", "orders"), (), (), ("app-totals-changelog",))
    members = (
        streams_member("a", "p1", "h1:1", (0, 2, 4)),
        streams_member("b", "p2", "h2:2", (1, 3, 5)),
    )
    seen = observation(
        replace(streams_group(*members), subtopologies=(part,)), TOPICS | {"clicks": facts(6)}
    )
    text = (
        f"Topologies:\n Sub-topology: 0\n Source: s (topics: [{topics}])\n --> p\n"
        " Source: t (topics: [clicks, orders])\n --> none\n"
        " Processor: p (stores: [totals])\n --> none\n"
    )
    found = metadata_for_key(application_of(seen, read_description(text)), "totals", b"x")
    assert (found.jvm.answer is not None) is answers
    assert ("KAFKA-20885" in found.jvm.reason) is not answers


@pytest.mark.parametrize(
    ("partitioner", "hashed", "named"),
    [
        ("murmur2", -790332482 & 0x7FFFFFFF, "murmur2 of 6"),
        ("crc32", 0x9EF61F95, "CRC-32 of 6"),
        # Of 0xBF9CF968, without its sign.
        ("fnv1a", 0x40630698, "FNV-1a of 6"),
    ],
)
def test_a_key_is_where_the_chosen_partitioner_puts_it(partitioner, hashed, named):
    found = metadata_for_key(classic(), "totals", b"foobar", partitioner=Partitioner(partitioner))
    assert found.partition == hashed % 4
    assert named in found.evidence[0]


def test_the_application_s_own_answer_stays_that_of_murmur2():
    apart = next(
        one
        for one in (str(number).encode() for number in range(100))
        if (partition_for_key(one, 4), partition_for_key(one, 4, Partitioner.CRC32)) == (0, 1)
    )
    found = metadata_for_key(classic(), "totals", apart, partitioner=Partitioner.CRC32)
    assert found.jvm.answer.partition == 0
    assert (found.jvm.is_right, found.jvm.misrouted) == (False, None)
    assert found.jvm.reason == OTHER_HASH


def test_librdkafka_places_an_empty_key_at_random():
    found = metadata_for_key(classic(), "totals", b"", partitioner=Partitioner.CRC32)
    assert any("random partition" in one for one in found.cautions)


def test_an_endpoint_with_a_scheme_is_that_of_the_routing_without_it():
    seen = classic()
    threads = tuple(replace(one, endpoint=f"http://{one.endpoint}") for one in seen.threads)
    found = metadata_for_key(replace(seen, threads=threads), "totals", key(0))
    assert (found.jvm.is_right, found.jvm.misrouted) == (True, 0.0)
