"""Whatever members write, an audit is made of it, and is small."""

import json
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.group_members import (
    ClassicGroup,
    ClassicMember,
    StreamsGroup,
    StreamsMember,
    StreamsSubtopology,
    StreamsTasks,
)
from jobs.streams.assembly import application_of
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.rules import audit, conditions_in
from jobs.streams.lag import changelogs_of
from jobs.streams.observation import Observation, TopicFacts
from jobs.streams.stored import pack_application, unpack_application
from tests.jobs.streams import written

MOST_BYTES = 64 * 1024
LEAST_INT64, MOST_INT64 = -(2**63), 2**63 - 1

texts = st.sampled_from(
    ["", "h:1", "h:0", "h:99999", "::", "a\0b:1", "\n", "é" * 255, "h" * 10_000]
)
texts |= st.text(st.characters(codec="utf-8"), max_size=8)
int32s = st.sampled_from([0, 1, 2, 3, -1, 2**31 - 1, -(2**31)]) | st.integers(0, 9)
int64s = st.sampled_from([0, -1, -2, -3, LEAST_INT64, MOST_INT64]) | st.integers(0, 200)
tasks = st.lists(st.tuples(int32s, int32s), max_size=6)
places = st.lists(st.tuples(st.sampled_from(["orders", "gone", "a\0"]), int32s), max_size=6)
routes = st.dictionaries(texts.map(lambda host: f"{host[:200]}:1"), places, max_size=3)


@st.composite
def damaged(draw, content):
    """Bytes, cut off, with a negative or huge count somewhere, or as they are."""
    at = draw(st.integers(0, max(0, len(content) - 4)))
    count = draw(st.sampled_from([-1, 2**31 - 1]))
    overwritten = content[:at] + struct.pack(">i", count) + content[at + 4 :]
    return draw(st.sampled_from([content, content, content, content[:at], overwritten]))


@st.composite
def classic_members(draw):
    number, endpoint = draw(st.integers(0, 3)), draw(texts)
    sums = [(task, draw(int64s)) for task in draw(tasks)]
    info = written.subscription_info(
        number, endpoint, sums, error=draw(int32s), joins=draw(st.integers(-128, 127))
    )
    copies = [(task, draw(places)) for task in draw(tasks)]
    given_to = written.assignment_info(
        draw(tasks), copies, draw(routes), draw(routes), draw(int64s)
    )
    wants = written.subscription(draw(damaged(info)), rack=draw(st.sampled_from(["", "a", "\0"])))
    holds = written.assignment(draw(places), draw(damaged(given_to)))
    client = draw(texts | st.just(f"app-{written.process(number)}-StreamThread-1-consumer"))
    return ClassicMember(
        draw(texts), None, client, draw(texts), draw(damaged(wants)), draw(damaged(holds))
    )


@st.composite
def streams_tasks(draw):
    by_subtopology = st.dictionaries(
        st.sampled_from(["0", "1", "", "\0", "x" * 300]), st.lists(int32s, max_size=5).map(tuple)
    )
    return StreamsTasks(*(draw(by_subtopology) for _ in range(3)))


@st.composite
def streams_members(draw):
    offsets = st.dictionaries(st.tuples(st.sampled_from(["0", "1"]), int32s), int64s, max_size=4)
    return StreamsMember(
        member_id=draw(texts),
        member_epoch=draw(int32s),
        instance_id=draw(texts | st.none()),
        rack=draw(texts | st.none()),
        client_id=draw(texts),
        client_host=draw(texts),
        topology_epoch=draw(int32s),
        process_id=draw(st.sampled_from(["p", "q", "\0", "p" * 10_000])),
        endpoint=draw(texts | st.none()),
        tags=draw(st.dictionaries(texts, texts, max_size=2)),
        assignment=draw(streams_tasks()),
        target=draw(streams_tasks()),
        offsets=draw(offsets),
        end_offsets=draw(offsets),
        is_classic=draw(st.booleans()),
    )


topologies = st.none() | st.lists(
    st.builds(
        StreamsSubtopology,
        st.sampled_from(["0", "1", "\0"]),
        *(st.lists(st.sampled_from(["orders", "gone", "app-totals-changelog"])).map(tuple),) * 4,
    ),
    max_size=3,
).map(tuple)
groups = st.builds(
    ClassicGroup,
    st.just("app"),
    st.just("Stable"),
    st.just("consumer"),
    st.just("stream"),
    st.lists(classic_members(), max_size=4).map(tuple),
) | st.builds(
    StreamsGroup,
    st.just("app"),
    st.just("Stable"),
    int32s,
    int32s,
    int32s | st.none(),
    topologies,
    st.lists(streams_members(), max_size=4).map(tuple),
)


@st.composite
def topic_facts(draw):
    numbers = st.dictionaries(st.integers(0, 5), int64s, max_size=5)
    configured = st.dictionaries(
        st.sampled_from(
            ["cleanup.policy", "retention.ms", "retention.bytes", "min.compaction.lag.ms"]
        ),
        st.sampled_from(["compact", "delete", "compact,delete", "-1", "", "x", str(MOST_INT64)]),
    )
    few = st.sampled_from([None, 1, 3])
    maps = (draw(numbers) for _ in range(4))
    return TopicFacts(draw(st.integers(0, 5)), *maps, draw(configured), draw(few))


topics = st.fixed_dictionaries(
    {},
    optional={
        name: topic_facts() for name in ("orders", "app-totals-changelog", "app-orders-repartition")
    },
)
commits = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["orders", "gone"]), st.integers(0, 5)),
    st.builds(
        CommittedOffset,
        st.integers(0, MOST_INT64),
        st.sampled_from(["", "AgAAAY", "AX//////////", "%", "A" * 2_000]),
    ),
    max_size=4,
)
observations = st.builds(Observation, groups, st.just(written.NOW_MS), topics, commits)


def assert_small(audited):
    """As it is stored: numbers that JSON has, and no NUL, which a database refuses."""
    told = json.dumps(audited, allow_nan=False)
    assert len(told) <= MOST_BYTES
    assert "\\u0000" not in told
    for one in conditions_in(json.loads(told)).values():
        assert one.text or one.holds is None


@settings(deadline=None, max_examples=60)
@given(observations, observations, st.none() | st.floats(0, 1))
def test_of_hostile_members_an_audit_is_small_json_after_another_one_and_alone(
    first, second, misrouted
):
    memory: dict = {}
    before = None
    for seen in (first, second, second):
        application = application_of(seen)
        joined = changelogs_of(application, seen.facts)
        audited = audit(
            Seen(
                application,
                seen.facts,
                before=before,
                joined=joined,
                misrouted=misrouted,
                memory=memory,
            )
        )
        assert_small(audited)
        before, memory = seen.facts, json.loads(json.dumps(audited))["memory"]


@settings(deadline=None, max_examples=60)
@given(observations)
def test_an_audit_of_what_was_stored_is_made_as_well(seen):
    kept = unpack_application(pack_application(application_of(seen)))
    assert_small(audit(Seen(kept, seen.facts)))


def crowd(count, partitions, endpoint="{}.example:1"):
    """Members that each claim all tasks, with names as long as the protocol has them."""
    every = [("orders", number) for number in range(partitions)]
    sums = [
        ((0, number), MOST_INT64 if number % 2 else LEAST_INT64) for number in range(partitions)
    ]
    members = []
    for number in range(count):
        name = endpoint.format(f"{number}-{'h' * 200}")
        info = written.subscription_info(number, name, sums, error=4, joins=number % 100)
        held = written.assignment_info([(0, p) for _, p in every], (), {}, {}, next_ms=-1)
        one = written.member(number, written.subscription(info), written.assignment(every, held))
        members.append(replace(one, client_id=f"{number}" * 500, client_host="h" * 9_000))
    return written.group(*members)


@pytest.mark.parametrize(
    ("found", "partitions"),
    [
        pytest.param(crowd(1_000, 6), 6, id="a thousand members that claim the same tasks"),
        pytest.param(crowd(1_000, 6, "same:1"), 6, id="a thousand members with one endpoint"),
        pytest.param(crowd(1_000, 6, "h\0:1"), 6, id="a thousand endpoints with NUL"),
        pytest.param(crowd(1_100, 2), 2, id="more members than are kept"),
        pytest.param(crowd(2, 10_000), 10_000, id="ten thousand tasks claimed twice"),
        pytest.param(crowd(2, 10_000), 9, id="tasks of partitions that do not exist"),
    ],
)
def test_an_audit_of_a_crowd_is_small(found, partitions):
    names = {"orders": partitions, "app-totals-changelog": partitions + 1}
    facts = {name: written.facts(count) for name, count in names.items()}
    seen = written.observation(found, facts)
    application = application_of(seen)
    first = audit(Seen(application, seen.facts))
    assert_small(first)
    again = Seen(
        application,
        seen.facts,
        before=seen.facts,
        joined=seen.facts,
        misrouted=1.0,
        memory=first["memory"],
    )
    assert_small(audit(again))
