"""Which cause each open finding has."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from jobs.checks.incidents import causes_of
from jobs.checks.open_findings import Names, Recovering
from jobs.severity import Severity
from tests.jobs.checks.open_rows import NAMES, broker_down, open_finding, probe_checks, unreachable


@pytest.fixture(autouse=True, scope="module")
def probes():
    with probe_checks():
        yield


def keys_of(findings, recovering=()):
    return {
        finding: cause.key
        for cause in causes_of(findings, NAMES, recovering)
        for finding in cause.findings
    }


def test_a_broker_that_is_down_is_one_sentence_with_all_its_effects():
    down = broker_down()
    (cause,) = causes_of(
        [
            open_finding("probe_at_min", 5, brokers=(3,), evidence={"partitions": 90}),
            open_finding("probe_at_min", 6, subject="b", brokers=(3,), evidence={"partitions": 1}),
            open_finding("probe_offline", 7, brokers=(3,), evidence={"partitions": 2}),
            open_finding("voter_silent", 8, log=4, subject="3", kind="quorum"),
            down,
        ],
        NAMES,
    )
    assert cause.sentence == (
        "Broker 3 (dc-c) of east is down since 08:46:29 UTC: 2 partitions offline, 91 at min ISR, "
        "voter not fetching, flows unaffected."
    )
    assert (cause.key, cause.subject_kind, cause.subject) == ("broker:1:3", "broker", "3")
    assert (cause.title, cause.began_at) == ("Broker 3 of east down", down.opened_at)
    assert [(one.check, one.findings) for one in cause.effects] == [
        ("probe_offline", 1), ("probe_at_min", 2), ("voter_silent", 1)
    ]  # fmt: skip


def test_the_first_count_of_partitions_has_its_noun_and_a_count_of_voters_replaces_the_silent_one():
    of_quorum = {"log": 4, "kind": "quorum"}
    (cause,) = causes_of(
        [
            broker_down(),
            open_finding("at_min_isr", 5, brokers=(3,), evidence={"partitions": 1}),
            open_finding("voter_silent", 8, subject="3", evidence={"node": 3}, **of_quorum),
            open_finding(
                "bare_majority", 8, evidence={"silent": [3], "alive": 2, "voters": 3}, **of_quorum
            ),
        ],
        NAMES,
    )
    assert cause.sentence.endswith("UTC: 1 partition at min ISR, quorum 2 of 3, flows unaffected.")


QUORUM = {"log": 4, "kind": "quorum"}
OF_FLOW = {"flow": 7, "kind": "flow"}


@pytest.mark.parametrize(
    ("one", "key"),
    [
        pytest.param(open_finding("probe_offline", brokers=(3,)), "broker:1:3", id="its replica"),
        pytest.param(
            open_finding("probe_offline", brokers=(3, 5)), "partitions:1", id="another broker too"
        ),
        pytest.param(open_finding("probe_offline"), "partitions:1", id="no broker named"),
        pytest.param(open_finding("probe_disk", brokers=(3,)), "broker:1:3", id="its disk"),
        pytest.param(open_finding("probe_disk", brokers=(5,)), "broker:1:5", id="another's disk"),
        pytest.param(open_finding("voter_silent", subject="3", **QUORUM), "broker:1:3", id="voter"),
        pytest.param(
            open_finding("bare_majority", evidence={"silent": [3]}, **QUORUM),
            "broker:1:3",
            id="majority without it",
        ),
        pytest.param(
            open_finding("bare_majority", evidence={"silent": [3, 9]}, **QUORUM),
            "quorum:4",
            id="majority without another voter",
        ),
        pytest.param(
            open_finding("voter_silent", -300, subject="3", **QUORUM),
            "quorum:4",
            id="older silence",
        ),
        pytest.param(
            open_finding("election_storm", evidence={"silent": [3]}, **QUORUM),
            "quorum:4",
            id="what no voter explains",
        ),
        pytest.param(
            open_finding("source_offline", brokers=(3,), evidence={"offline": True}, **OF_FLOW),
            "broker:1:3",
            id="offline partitions of a flow",
        ),
        pytest.param(open_finding("lag", brokers=(3,), **OF_FLOW), "flow:7", id="lag of a flow"),
        pytest.param(
            open_finding("probe_offline", cluster=2, brokers=(3,)),
            "partitions:2",
            id="the same id on another cluster",
        ),
        pytest.param(
            open_finding("probe_group", evidence={"group": "billing"}),
            "group:1:billing",
            id="group",
        ),
        pytest.param(open_finding("not_alive", kind="observers"), "observers:1", id="observers"),
        pytest.param(open_finding("not_registered"), "cluster:1", id="a code without a check"),
        pytest.param(
            open_finding("rounds_late", subject="clusters", cluster=None),
            "crosslog:rounds_late::clusters",
            id="crosslog",
        ),
    ],
)
def test_what_a_broker_that_is_down_explains(one, key):
    assert keys_of([one, broker_down()])[one.id] == key


def test_two_brokers_explain_what_needs_both_and_the_first_one_has_it():
    one = open_finding("probe_offline", brokers=(3, 5))
    assert keys_of([broker_down(5, 1), broker_down(3, 2), one])[one.id] == "broker:1:5"


@pytest.mark.parametrize(
    ("one", "is_explained"),
    [
        pytest.param(open_finding("probe_offline", 10), True, id="of the cluster"),
        pytest.param(open_finding("no_leader", 10, log=4), True, id="of its log"),
        pytest.param(open_finding("lag", 10, flow=7), True, id="of a flow"),
        pytest.param(broker_down(3, 10), True, id="a broker"),
        pytest.param(open_finding("probe_offline", -119), True, id="seen a moment before"),
        pytest.param(open_finding("probe_offline", -121), False, id="older"),
        pytest.param(open_finding("probe_offline", 10, cluster=2), False, id="of another cluster"),
    ],
)
def test_what_an_unreachable_cluster_explains(one, is_explained):
    assert (keys_of([one, unreachable()])[one.id] == "unreachable:1") is is_explained


def test_effects_of_a_broker_belong_to_the_unreachable_cluster_that_explains_the_broker():
    one = open_finding("probe_offline", -500, brokers=(3,))
    assert set(keys_of([one, broker_down(3, -60), unreachable()]).values()) == {"unreachable:1"}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"code": "probe_advice"}, id="advice"),
        pytest.param({"code": "probe_offline", "severity": Severity.INFO}, id="information"),
    ],
)
def test_what_opens_no_incident_belongs_to_a_cause_that_explains_it(fields):
    one = open_finding(**fields, brokers=(3,))
    assert keys_of([one]) == {}
    assert keys_of([one, broker_down()])[one.id] == "broker:1:3"


def test_effects_stay_with_a_broker_that_is_back():
    one = open_finding("probe_offline", brokers=(3,), evidence={"partitions": 2})
    (cause,) = causes_of([one], NAMES, [Recovering("broker:1:3", 1, 3)])
    assert (cause.key, cause.is_over) == ("broker:1:3", True)
    assert cause.sentence == "Remaining: 2 partitions offline."


def test_notices_and_advice_keep_no_incident_of_a_broker_open_that_is_back():
    one = open_finding("probe_offline", brokers=(3,), severity=Severity.INFO)
    assert list(causes_of([one], NAMES, [Recovering("broker:1:3", 1, 3)])) == []


@pytest.mark.parametrize(
    ("flow_findings", "words"),
    [
        pytest.param([], ", flows unaffected.", id="none"),
        pytest.param(
            [open_finding("a", flow=7, brokers=(3,), evidence={"offline": 1})],
            ", 1 flow affected.",
            id="one",
        ),
        pytest.param([open_finding("lag", flow=7)], "offline.", id="one with a cause of its own"),
    ],
)
def test_whether_flows_are_affected_is_said_where_it_is_known(flow_findings, words):
    lost = open_finding("probe_offline", brokers=(3,), evidence={"partitions": 2})
    causes = causes_of([broker_down(), lost, *flow_findings], NAMES)
    assert causes[0].sentence.endswith(words)


def test_effects_are_named_before_what_else_is_known_of_the_broker():
    down = broker_down(sentence="Broker 3 of east is down since 08:46:29. It was shut down.")
    lost = open_finding("probe_offline", brokers=(3,), evidence={"partitions": 2})
    (cause,) = causes_of([down, lost], Names({1: "east"}))
    assert cause.sentence == (
        "Broker 3 of east is down since 08:46:29: 2 partitions offline. It was shut down."
    )


def test_nothing_is_said_of_flows_where_there_are_none():
    (cause,) = causes_of([broker_down()], Names({1: "east"}))
    assert cause.sentence.endswith("08:46:29 UTC.")


any_finding = st.builds(
    lambda code, after_s, brokers, severity, scope: open_finding(
        code, after_s, brokers=tuple(brokers), severity=severity, subject=str(brokers[:1]), **scope
    ),
    st.sampled_from(["probe_offline", "probe_disk", "probe_advice", "broker_down", "voter_silent",
                     "cluster_unreachable", "lag", "bare_majority"]),
    st.integers(-300, 300),
    st.lists(st.integers(1, 3), max_size=2, unique=True),
    st.sampled_from([Severity.INFO, Severity.WARNING, Severity.CRITICAL]),
    st.sampled_from([{}, {"cluster": 2}, {"cluster": None}, {"flow": 7}, {"log": 4}]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(any_finding, max_size=12))
def test_every_finding_has_one_cause_and_causes_are_worst_first(findings):
    causes = causes_of(findings, NAMES)
    has_cause = [one for cause in causes for one in cause.findings]
    assert len(has_cause) == len(set(has_cause))
    without = [one for one in findings if one.id not in has_cause]
    assert all(one.severity is Severity.INFO or one.code == "probe_advice" for one in without)
    ranks = [cause.severity.rank for cause in causes]
    assert ranks == sorted(ranks, reverse=True)
    assert len({cause.key for cause in causes}) == len(causes)


@settings(max_examples=100, deadline=None)
@given(st.lists(any_finding, max_size=8))
def test_an_unrelated_finding_changes_no_other_cause(findings):
    other = open_finding("probe_offline", cluster=9, brokers=(3,))
    causes = {one.key: one for one in causes_of([*findings, other], NAMES)}
    assert causes.pop("partitions:9").findings == (other.id,)
    assert causes == {one.key: one for one in causes_of(findings, NAMES)}


def of_group(group):
    return open_finding("probe_group", subject=group, evidence={"group": group})


def test_two_groups_with_long_ids_have_two_incidents_whose_columns_hold_them():
    causes = causes_of([of_group("g" * 999 + end) for end in "ab"], NAMES)
    assert len({one.key for one in causes}) == len({one.subject for one in causes}) == 2
    assert {(len(one.key), len(one.subject)) for one in causes} == {(700, 600)}


def test_a_group_without_an_id_has_an_incident_of_its_own():
    (cause,) = causes_of([of_group("")], NAMES)
    assert (cause.key, cause.title) == ("group:1:", "Group (no id) of east: Probe_group")


def test_a_sentence_names_the_subject_that_its_finding_has_in_a_column():
    one = open_finding(
        "stuck_partition", sentence="It does not move.", subject="orders-3", **OF_FLOW
    )
    assert causes_of([one], NAMES)[0].sentence == "orders-3: It does not move."


def test_incidents_of_crosslog_name_their_cluster():
    one = open_finding("follower_behind")
    assert causes_of([one], NAMES)[0].title == "crosslog (east): Metadata log not followed"
