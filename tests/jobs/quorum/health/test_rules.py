"""Findings about a quorum, one rule each; the clock is fixed."""

from dataclasses import replace

import pytest

from jobs.cluster.admin.quorum import QuorumDescription, QuorumEndpoint, QuorumNode, QuorumReplica
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.compare import LogDigest
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.quorum.voters.voter_sets import Endpoint, VoterSet
from jobs.severity import Severity
from jobs.wire.values import utc_time
from tests.jobs.quorum.voter_sets import Log, key_of, minus, plus, voters

NOW = 1_800_000_100_000
# The leader is in office for longer than its voters need to be heard of.
SETTLED = {"first_described_ms": NOW - 60_000}
THREE = voters(1, 2, 3)


def replica(
    id_: int, end: int | None = 100, fetched_ago: int | None = 100, caught_up_ago: int | None = 100
) -> QuorumReplica:
    named = THREE.node(id_)
    directory_id = named.directory_id if named else f"directory-of-{id_}"
    fetched = None if fetched_ago is None else NOW - fetched_ago
    caught_up = None if caught_up_ago is None else NOW - caught_up_ago
    return QuorumReplica(id_, directory_id, end, fetched, caught_up)


def leader(id_: int = 1, end: int = 100) -> QuorumReplica:
    return replica(id_, end, None, 0)


def described(*replicas: QuorumReplica, **facts) -> QuorumDescription:
    known = {
        "leader_id": 1,
        "leader_epoch": 1,
        "high_watermark": 33,
        "observers": (),
        "nodes": (),
        "described_at_ms": NOW,
    } | facts
    return QuorumDescription(voters=replicas or (leader(), replica(2), replica(3)), **known)


def started(epoch: int = 1) -> Log:
    log = Log(epoch=epoch - 1, at_ms=NOW - 50_000).leader(1, [1, 2, 3]).kraft_version(1)
    return log.voters(THREE).together(3).noop(30)


def found(**known) -> dict[QuorumCode, list]:
    codes: dict[QuorumCode, list] = {}
    for finding in evaluate_quorum(QuorumSnapshot(**known), NOW).findings:
        codes.setdefault(finding.code, []).append(finding)
    return codes


def test_a_healthy_quorum_has_no_finding():
    log = started()
    assert (
        found(
            description=described(),
            before=described(high_watermark=20, described_at_ms=NOW - 60_000),
            timeline=read_voter_timeline(log),
            controller_ids={1, 2, 3},
            registered_ids={1, 2, 3},
        )
        == {}
    )


@pytest.mark.parametrize(
    ("replicas", "codes"),
    [
        pytest.param((leader(), replica(2), replica(3, fetched_ago=60_000)), {QuorumCode.BARE_MAJORITY, QuorumCode.VOTER_SILENT}, id="one of three is silent"),
        pytest.param((leader(), replica(2, fetched_ago=60_000), replica(3, fetched_ago=None)), {QuorumCode.NO_MAJORITY, QuorumCode.VOTER_SILENT}, id="two of three are silent"),
        pytest.param((leader(), replica(2)), {QuorumCode.FEW_VOTERS}, id="two voters"),
        pytest.param((leader(),), {QuorumCode.FEW_VOTERS}, id="one voter"),
        pytest.param((leader(), replica(2), replica(3), replica(4)), {QuorumCode.EVEN_VOTERS}, id="four voters"),
        pytest.param((leader(end=5_000), replica(2, 5_000), replica(3, 3_000)), {QuorumCode.VOTER_LAGS}, id="behind by records"),
        pytest.param((leader(), replica(2), replica(3, caught_up_ago=20_000)), {QuorumCode.VOTER_LAGS}, id="behind by time"),
        pytest.param((leader(), replica(2), replace(replica(3), directory_id=None)), {QuorumCode.NO_DIRECTORY_ID}, id="no directory id"),
    ],
)  # fmt: skip
def test_voters_are_judged_by_the_description(replicas, codes):
    assert set(found(description=described(*replicas), **SETTLED)) == codes


@pytest.mark.parametrize(
    ("age_ms", "codes"),
    [
        (3_000, set()),
        (12_000, set()),
        (12_001, {QuorumCode.NO_MAJORITY, QuorumCode.VOTER_SILENT}),
    ],
    ids=["just elected", "for the timeout and a round", "longer"],
)
def test_voters_are_silent_only_for_a_leader_that_is_long_enough_in_office(age_ms, codes):
    now = described(leader(), replica(2, None, None, None), replica(3, None, None, None))
    picture = QuorumSnapshot(description=now, first_described_ms=NOW - age_ms)
    judged = evaluate_quorum(picture, NOW)
    assert {one.code for one in judged.findings} == codes
    assert (QuorumCode.NO_MAJORITY in judged.judged) is bool(codes)
    why = "Not checked yet: the leader was elected 3 s before."
    assert judged.voters.why_unknown == (why if age_ms == 3_000 else judged.voters.why_unknown)


def test_the_log_says_since_when_the_leader_is_in_office():
    now = described(leader(), replica(2), replica(3, None, None, None))
    log = read_voter_timeline(started())
    assert QuorumCode.BARE_MAJORITY in found(description=now, timeline=log, first_described_ms=NOW)
    assert found(description=now, first_described_ms=NOW) == {}


def test_voters_that_answer_a_new_leader_are_known_to_at_once():
    judged = evaluate_quorum(QuorumSnapshot(description=described()), NOW)
    assert QuorumCode.BARE_MAJORITY in judged.judged
    assert judged.findings == ()


def test_an_answer_without_times_says_nothing_of_the_voters():
    old = described(leader(), replica(2, 100, None, None), replica(3, 100, None, None))
    bare = tuple(replace(one, last_caught_up_at_ms=None) for one in old.voters)
    judged = evaluate_quorum(QuorumSnapshot(replace(old, voters=bare), **SETTLED), NOW)
    assert judged.findings == ()
    assert QuorumCode.NO_MAJORITY not in judged.judged
    assert "does not say when voters last fetched" in judged.voters.why_unknown


def test_before_directory_ids_existed_none_is_missed():
    old = tuple(replace(one, directory_id=None) for one in described().voters)
    assert found(description=described(*old)) == {}


def test_without_a_leader_that_alone_is_reported():
    assert QuorumCode.NO_LEADER in found(description=described(leader_id=None))


def test_ages_are_measured_on_the_leaders_clock():
    behind = described(described_at_ms=NOW + 3_600_000)
    assert found(description=behind) == {}


@pytest.mark.parametrize(
    ("controllers", "registered", "code", "subject"),
    [
        ({1, 2, 3, 4}, None, QuorumCode.DANGLING_CONTROLLER, "4"),
        (None, {1, 2, 3, 4}, QuorumCode.DANGLING_CONTROLLER, "4"),
        ({1, 2, 3}, {1, 2, 3, 9}, QuorumCode.GHOST_REGISTRATION, "9"),
    ],
    ids=["by its role", "by its registration", "registered and gone"],
)
def test_controllers_without_a_vote_are_reported(controllers, registered, code, subject):
    now = described(observers=(replica(4), replica(7)))
    known = {"controller_ids": controllers, "registered_ids": registered}
    codes = found(description=now, **known, **SETTLED)
    assert [finding.subject for finding in codes[code]] == [subject]


def test_an_observer_that_stopped_is_no_controller_without_a_vote():
    now = described(observers=(replica(4, fetched_ago=60_000),))
    assert found(description=now, controller_ids={1, 2, 3, 4}) == {}


def test_a_new_leader_has_not_heard_of_all_observers():
    assert found(description=described(), registered_ids={1, 2, 3, 9}) == {}


@pytest.mark.parametrize(
    ("before", "waited_ms", "end", "is_stalled"),
    [
        (33, 20_000, 100, True),
        (20, 20_000, 100, False),
        (33, 5_000, 100, False),
        (33, 20_000, 33, False),
    ],
    ids=["it does not move", "it moves", "too early to tell", "nothing was written"],
)
def test_a_high_watermark_that_does_not_move_is_reported(before, waited_ms, end, is_stalled):
    earlier = described(high_watermark=before, described_at_ms=NOW - waited_ms)
    now = described(leader(end=end), replica(2, end), replica(3, end))
    codes = found(description=now, before=earlier)
    assert (QuorumCode.HIGH_WATERMARK_STALLED in codes) is is_stalled


@pytest.mark.parametrize(
    "facts",
    [{"leader_epoch": 2}, {"high_watermark": None}],
    ids=["another leader", "not known yet"],
)
def test_a_high_watermark_is_compared_with_one_of_the_same_leader(facts):
    earlier = described(described_at_ms=NOW - 20_000)
    assert found(description=described(**facts), before=earlier) == {}


class TestLog:
    def test_many_elections_in_a_short_time_are_a_storm(self):
        log = started()
        for number in range(6):
            log.leader(number % 3 + 1, [1, 2, 3]).noop(3)
        (finding,) = found(timeline=read_voter_timeline(log))[QuorumCode.ELECTION_STORM]
        assert finding.evidence["elections"] == 7
        assert "epochs 1 to 7" in finding.sentence

    @pytest.mark.parametrize(
        ("quiet_ms", "is_over"), [(500_000, False), (700_000, True)], ids=["10 minutes", "later"]
    )
    def test_a_storm_is_over_when_no_election_is_within_its_window_any_more(
        self, quiet_ms, is_over
    ):
        log = started()
        for number in range(6):
            log.leader(number % 3 + 1, [1, 2, 3]).noop(3)
        first, last = (log.records[place].timestamp_ms for place in (0, -4))
        judged = evaluate_quorum(QuorumSnapshot(timeline=read_voter_timeline(log)), last + quiet_ms)
        (storm,) = judged.over if is_over else judged.findings
        assert storm.code is QuorumCode.ELECTION_STORM
        assert (storm.since, storm.ended) == (utc_time(first), utc_time(last) if is_over else None)

    def test_times_without_a_controller_that_lie_apart_are_findings_of_their_own(self):
        log = started().wait(8_000).noop(2_000).wait(3_000).noop(60)
        judged = evaluate_quorum(QuorumSnapshot(timeline=read_voter_timeline(log)), log.at_ms)
        assert [one.evidence["total_ms"] for one in judged.over] == [8_500]
        assert [one.evidence["total_ms"] for one in judged.findings] == [3_500]

    def test_a_few_elections_are_none(self):
        log = started().leader(2, [1, 2, 3]).noop(3).leader(3, [1, 2, 3]).noop()
        assert found(timeline=read_voter_timeline(log)) == {}

    def test_what_is_older_than_a_day_is_history(self):
        log = started()
        for number in range(6):
            log.leader(number % 3 + 1, [1, 2, 3], epoch=log.epoch + 3).noop(3)
        later = NOW + 48 * 3_600_000
        timeline = read_voter_timeline(log)
        assert evaluate_quorum(QuorumSnapshot(timeline=timeline), later).findings == ()

    @pytest.mark.parametrize(("skipped", "severity"), [(1, Severity.INFO), (4, Severity.WARNING)])
    def test_epochs_without_a_leader_are_reported(self, skipped, severity):
        log = started().leader(2, [1, 2, 3], epoch=2 + skipped).noop()
        (finding,) = found(timeline=read_voter_timeline(log))[QuorumCode.EPOCH_JUMP]
        assert (finding.severity, finding.evidence["skipped"]) == (severity, skipped)

    def test_time_without_an_active_controller_is_reported(self):
        log = started().leader(2, [1, 2, 3], after_ms=8_000).noop()
        (finding,) = found(timeline=read_voter_timeline(log))[QuorumCode.NO_ACTIVE_CONTROLLER]
        assert (finding.evidence["longest_ms"], finding.evidence["with_election"]) == (8_000, 1)

    @pytest.mark.parametrize(("back_ms", "is_told"), [(5_000, True), (300, False)])
    def test_clocks_that_differ_by_a_second_are_reported(self, back_ms, is_told):
        log = started().leader(2, [1, 2, 3], after_ms=-back_ms).noop()
        assert (QuorumCode.CLOCK_SKEW in found(timeline=read_voter_timeline(log))) is is_told

    def test_an_unsafe_change_is_reported_with_its_place(self):
        log = started().voters(plus(THREE, 4, 5)).noop()
        unsafe = found(timeline=read_voter_timeline(log))[QuorumCode.UNSAFE_CHANGE]
        assert {finding.subject for finding in unsafe} == {"33"}

    def test_a_broken_log_and_missing_records_are_reported(self):
        log = started().missing(50).noop().kraft_version(0)
        codes = found(timeline=read_voter_timeline([*log, *Log(3, epoch=1).noop()]))
        assert {QuorumCode.LOG_BROKEN, QuorumCode.RECORDS_MISSING} <= set(codes)


class TestComparison:
    def test_a_log_of_a_later_epoch_than_the_next_description_is_reported(self):
        log = read_voter_timeline(started(epoch=9))
        codes = found(description=described(), timeline=log, epoch_before=9)
        assert [one.subject for one in codes[QuorumCode.LOG_DISAGREES]] == ["epoch"]

    def test_a_log_that_is_newer_than_the_description_contradicts_nothing(self):
        log = read_voter_timeline(started().leader(2, [1, 2, 3]).voters(minus(THREE, 3)).noop())
        assert found(description=described(), timeline=log, epoch_before=1) == {}

    def test_other_voters_at_the_place_of_the_leader_are_reported(self):
        log = started().voters(plus(THREE, 4)).noop(70)
        codes = found(description=described(), timeline=read_voter_timeline(log))
        assert [one.subject for one in codes[QuorumCode.LOG_DISAGREES]] == ["voters"]

    def test_voters_that_the_log_got_behind_that_place_contradict_nothing(self):
        log = started().noop(70).voters(plus(THREE, 4)).noop()
        assert found(description=described(), timeline=read_voter_timeline(log)) == {}

    def test_another_leader_in_the_same_epoch_is_reported(self):
        now = described(replica(1), leader(2), replica(3), leader_id=2)
        codes = found(description=now, timeline=read_voter_timeline(started()))
        assert [one.subject for one in codes[QuorumCode.LOG_DISAGREES]] == ["leader"]

    def test_a_log_that_ends_before_the_high_watermark_contradicts_nothing(self):
        log = Log(epoch=0, at_ms=NOW).leader(1, [1, 2]).kraft_version(1).voters(minus(THREE, 3))
        assert found(description=described(), timeline=read_voter_timeline(log)) == {}

    def test_a_change_that_is_not_committed_after_a_minute_is_reported(self):
        log = started().voters(plus(THREE, 4))
        log.records[-1] = replace(log.records[-1], timestamp_ms=NOW - 120_000)
        now = described(leader(), replica(2), replica(3), replica(4), high_watermark=33)
        codes = found(description=now, timeline=read_voter_timeline(log.noop()), **SETTLED)
        (finding,) = codes[QuorumCode.CHANGE_NOT_COMMITTED]
        assert finding.severity is Severity.CRITICAL

    @pytest.mark.parametrize(
        ("other", "is_told"),
        [
            pytest.param({0: (1, 5), 10: (1, 6), 20: (2, 7)}, False, id="equal"),
            pytest.param({10: (1, 6)}, False, id="begins later and ends sooner"),
            pytest.param({0: (1, 5), 10: (1, 99)}, True, id="another checksum"),
            pytest.param({0: (1, 5), 10: (2, 6)}, True, id="another epoch"),
            pytest.param({0: (1, 5), 10: (3, 6)}, False, id="read after a later epoch cut it off"),
            pytest.param({0: (1, 5), 12: (1, 6), 20: (2, 7)}, True, id="another batch border"),
            pytest.param({0: (1, 5), 10: (1, 6), 20: (3, 8)}, False, id="above the high watermark"),
        ],
    )
    def test_replicas_of_the_log_are_equal_below_the_high_watermark(self, other, is_told):
        one = LogDigest("node-1", {0: (1, 5), 10: (1, 6), 20: (2, 7)})
        codes = found(
            description=described(high_watermark=20), replicas=(one, LogDigest("node-2", other))
        )
        assert (QuorumCode.REPLICAS_DIFFER in codes) is is_told


def test_what_was_not_asked_is_not_judged():
    assert evaluate_quorum(QuorumSnapshot(), NOW).judged == frozenset()
    judged = evaluate_quorum(QuorumSnapshot(description=described()), NOW).judged
    assert QuorumCode.BARE_MAJORITY in judged
    assert QuorumCode.HIGH_WATERMARK_STALLED not in judged
    assert QuorumCode.GHOST_REGISTRATION not in judged


def test_everything_is_judged_when_everything_is_known():
    picture = QuorumSnapshot(
        description=described(),
        before=described(),
        timeline=read_voter_timeline(started().noop(70)),
        first_described_ms=NOW - 60_000,
        controller_ids=(),
        registered_ids=(),
        replicas=(LogDigest("a", {}), LogDigest("b", {})),
    )
    assert evaluate_quorum(picture, NOW).judged == set(QuorumCode)


def test_the_worst_comes_first_and_each_is_json_values():
    now = described(leader(), replica(2, fetched_ago=60_000), replica(3, caught_up_ago=30_000))
    findings = evaluate_quorum(QuorumSnapshot(description=now, **SETTLED), NOW).findings
    assert [finding.severity for finding in findings] == [
        Severity.CRITICAL,
        Severity.CRITICAL,
        Severity.WARNING,
    ]
    told = findings[1].to_mapping()
    assert (told["code"], told["severity"], told["subject"]) == ("voter_silent", "critical", "2")
    assert all(finding.todo and finding.sentence for finding in findings)
    assert findings[1].key == ("voter_silent", "2")
    assert key_of(THREE, 2).directory_id


def listening(*places):
    """Return nodes 1, 2, ... with an endpoint each: (host, port)."""
    return tuple(
        QuorumNode(id_, (QuorumEndpoint("CONTROLLER", host, port),))
        for id_, (host, port) in enumerate(places, start=1)
    )


SAME = (("c1", 9093), ("c1", 9093), ("c3", 9093))


def test_voters_with_one_endpoint_are_a_finding_that_names_them():
    (one,) = found(description=described(nodes=listening(*SAME)))[QuorumCode.VOTER_ENDPOINT]
    assert (one.subject, one.severity) == ("CONTROLLER://c1:9093", Severity.CRITICAL)
    assert one.evidence == {"voters": [1, 2], "endpoint": "CONTROLLER://c1:9093"}
    assert "advertised.listeners" in one.todo


def test_voters_at_loopback_are_a_finding_when_brokers_are_on_several_machines():
    places = (("localhost", 1), ("localhost", 2), ("localhost", 3))
    description = described(nodes=listening(*places))
    assert QuorumCode.VOTER_ENDPOINT not in found(description=description, broker_hosts={"b1"})
    found_ = found(description=description, broker_hosts={"b1", "b2"})
    assert len(found_[QuorumCode.VOTER_ENDPOINT]) == 3


def test_endpoints_are_judged_by_the_log_where_no_description_has_them():
    everywhere = (Endpoint("CONTROLLER", "0.0.0.0", 9093),)
    listening_ = VoterSet(tuple(replace(one, endpoints=everywhere) for one in THREE))
    log = Log(epoch=0, at_ms=NOW - 50_000).leader(1, [1, 2, 3]).kraft_version(1)
    log = log.voters(listening_).together(3).noop(3)
    assert QuorumCode.VOTER_ENDPOINT in found(timeline=read_voter_timeline(log))


def test_endpoints_that_are_not_known_are_not_judged():
    judged = evaluate_quorum(QuorumSnapshot(description=described()), NOW).judged
    assert QuorumCode.VOTER_ENDPOINT not in judged
