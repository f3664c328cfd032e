"""Log, description and replicas are read at different times: no order of the reads makes a finding."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.compare import LogDigest
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from tests.jobs.quorum.voter_sets import Log, plus, voters

THREE = voters(1, 2, 3)
# It tolerates no more than three do: true, and no matter of the order.
TRUE_ANYWAY = {QuorumCode.EVEN_VOTERS}


@dataclass(frozen=True)
class Moment:
    """What a reader of this moment gets: so many records of the log, and a description by the leader."""

    records: int
    high_watermark: int
    description: QuorumDescription


class History:
    """A healthy quorum: every follower fetches within half a second after an election."""

    def __init__(self, steps: list[str], skew_ms: int, dead: int | None = None) -> None:
        self.set, self.leader, self.skew_ms, self.dead = THREE, 1, skew_ms, dead
        self.log = Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE).together(3)
        self.moments: list[Moment] = []
        self._note(is_new=True, is_last=steps[0] == "elect")
        for step, after in zip(steps, [*steps[1:], ""], strict=True):
            self._step(step, after)

    def _step(self, step: str, after: str) -> None:
        if step == "elect":
            self.leader = self.leader % 2 + 1
            self.log.leader(self.leader, sorted(self.set.ids), after_ms=300)
        elif step == "add" and len(self.set) == 3:
            self.set = plus(self.set, 4)
            self.log.voters(self.set)
        else:
            self.log.noop(40 if step == "rest" else 1)
        self._note(is_new=step == "elect", is_last=after == "elect")

    def _note(self, *, is_new: bool, is_last: bool) -> None:
        """The last record that a leader writes may never get to the others: the next one cuts it off."""
        end, now_ms = self.log.offset, self.log.at_ms
        replicas = (self._replica(one, end, now_ms, is_new, is_last) for one in self.set)
        self.moments.append(
            Moment(
                end,
                end - 1,
                QuorumDescription(
                    leader_id=self.leader,
                    leader_epoch=self.log.epoch,
                    high_watermark=None if is_new else end - 1,
                    voters=tuple(replicas),
                    observers=(),
                    nodes=(),
                    described_at_ms=now_ms + self.skew_ms,
                ),
            )
        )

    def _replica(self, voter, end: int, now_ms: int, is_new: bool, is_last: bool) -> QuorumReplica:
        key = voter.key
        if voter.id == self.leader:
            return QuorumReplica(key.id, key.directory_id, end + is_last, None, now_ms)
        if is_new or voter.id == self.dead:
            return QuorumReplica(key.id, key.directory_id, None, None, None)
        return QuorumReplica(key.id, key.directory_id, end - 1, now_ms - 200, now_ms - 300)

    def timeline(self, moment: Moment):
        return read_voter_timeline(
            self.log.records[: moment.records], high_watermark=moment.high_watermark
        )

    def digest(self, name: str, moment: Moment, *, has_tail: bool) -> LogDigest:
        """One replica's log at a moment; the tail of a leader that was replaced is cut off later."""
        records = self.log.records[: moment.records]
        found = {one.offset: (one.epoch, one.offset) for one in records}
        behind = self.log.records[moment.records : moment.records + 1]
        is_lost = all(one.epoch != records[-1].epoch for one in behind)
        tail = {moment.records: (records[-1].epoch, -1)} if has_tail and is_lost else {}
        return LogDigest(name, found | tail)


STEPS = st.lists(st.sampled_from(["noop", "rest", "elect", "add"]), min_size=1, max_size=12).filter(
    lambda steps: steps.count("elect") < 4
)


@settings(deadline=None, max_examples=300)
@given(data=st.data(), steps=STEPS, skew_ms=st.sampled_from([0, -3_600_000, 3_600_000]))
def test_no_order_of_reads_of_a_healthy_quorum_makes_a_finding(data, steps, skew_ms):
    history = History(steps, skew_ms)
    moment = st.sampled_from(history.moments)
    asked, logged = data.draw(moment, label="asked"), data.draw(moment, label="logged")
    until = [one for one in history.moments if one.records <= asked.records]
    same = [one for one in until if one.description.leader_epoch == asked.description.leader_epoch]
    read_before = data.draw(st.sampled_from(until), label="log before")
    picture = QuorumSnapshot(
        asked.description,
        before=data.draw(st.sampled_from(until), label="before").description,
        timeline=history.timeline(logged),
        registered_ids={1, 2, 3},
        replicas=tuple(
            history.digest(name, data.draw(moment), has_tail=data.draw(st.booleans()))
            for name in ("a", "b")
        ),
        epoch_before=history.log.records[read_before.records - 1].epoch,
        first_described_ms=data.draw(st.sampled_from(same)).description.described_at_ms,
    )
    found = evaluate_quorum(picture, history.log.at_ms).findings
    assert {one.code for one in found} <= TRUE_ANYWAY


@settings(deadline=None, max_examples=100)
@given(data=st.data(), steps=STEPS)
def test_a_voter_that_never_fetches_is_found_with_every_order_of_reads(data, steps):
    history = History([*steps, "rest"], 0, dead=3)
    last = history.moments[-1].description
    logged = data.draw(st.sampled_from(history.moments), label="logged")
    first = next(
        one for one in history.moments if one.description.leader_epoch == last.leader_epoch
    )
    picture = QuorumSnapshot(
        last,
        timeline=history.timeline(logged),
        first_described_ms=first.description.described_at_ms,
    )
    found = {(one.code, one.subject) for one in evaluate_quorum(picture, 0).findings}
    assert (QuorumCode.VOTER_SILENT, "3") in found


@pytest.mark.parametrize("logged", [0, 3], ids=["the log is behind", "the log is as new"])
def test_a_log_of_another_quorum_is_found_as_soon_as_it_can_be_compared(logged):
    history = History(["noop", "rest", "noop"], 0)
    other = Log(epoch=0).leader(2, [1, 2, 3]).kraft_version(1).voters(THREE).together(3).noop(60)
    told = read_voter_timeline(other.records[: history.moments[logged].records])
    found = evaluate_quorum(
        QuorumSnapshot(history.moments[-1].description, timeline=told), 0
    ).findings
    assert [(one.code, one.subject) for one in found] == [(QuorumCode.LOG_DISAGREES, "leader")]


@pytest.mark.parametrize(
    ("steps", "is_judged"),
    [
        pytest.param(["noop", "rest", "noop"], True, id="the same voters"),
        pytest.param(["noop", "rest", "add"], False, id="a voter that the log has not yet"),
    ],
)
def test_a_log_that_is_behind_agrees_where_its_voters_are_those_of_the_quorum(steps, is_judged):
    history = History(steps, 0)
    picture = QuorumSnapshot(
        history.moments[-1].description, timeline=history.timeline(history.moments[0])
    )
    judged = evaluate_quorum(picture, 0)
    assert (QuorumCode.LOG_DISAGREES in judged.judged) is is_judged
    assert QuorumCode.LOG_DISAGREES not in {one.code for one in judged.findings}
