"""Who the voters were and what looks wrong, from made logs: one behaviour each."""

from dataclasses import replace

import pytest

from jobs.quorum.timeline.parts import AnomalyCode, EntrySource
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.quorum.voters.voter_change import DiskSwap
from jobs.quorum.voters.voter_sets import VoterSet
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap
from tests.jobs.quorum.voter_sets import (
    Log,
    key_of,
    minus,
    plus,
    renewed,
    voters,
)

THREE = voters(1, 2, 3)
FOUR = plus(THREE, 4)


def started(set_: VoterSet = THREE, epoch: int = 1) -> Log:
    """A log that begins as upstream's do: leader, kraft.version and voters in one batch."""
    log = Log(epoch=epoch - 1).leader(1, set_.ids).kraft_version(1).voters(set_)
    return log.together(3).noop(30)


def codes(timeline) -> list[AnomalyCode]:
    return [anomaly.code for anomaly in timeline.anomalies]


def sets(timeline) -> list[tuple[int, list[int]]]:
    return [(entry.offset, sorted(entry.voters.ids)) for entry in timeline.entries]


class TestVoters:
    def test_a_set_holds_from_its_record_on(self):
        log = started().voters(FOUR).noop().voters(minus(FOUR, 1))
        read = read_voter_timeline(log)
        assert sets(read) == [(2, [1, 2, 3]), (33, [1, 2, 3, 4]), (35, [2, 3, 4])]
        assert [str(entry.change) for entry in read.entries[1:]] == [
            f"added {key_of(FOUR, 4)}",
            f"removed {key_of(FOUR, 1)}",
        ]
        assert [read.voters_at(at) for at in (1, 2, 34, 99)] == [None, THREE, FOUR, minus(FOUR, 1)]
        assert codes(read) == []

    def test_the_election_that_begins_a_log_is_no_voter_set_of_its_own(self):
        read = read_voter_timeline(started())
        assert [entry.source for entry in read.entries] == [EntrySource.LOG]

    @pytest.mark.parametrize(
        ("high_watermark", "committed"),
        [(None, [None, None]), (33, [True, False]), (34, [True, True])],
    )
    def test_what_is_below_the_high_watermark_is_committed(self, high_watermark, committed):
        read = read_voter_timeline(started().voters(FOUR), high_watermark=high_watermark)
        assert [entry.is_committed for entry in read.entries] == committed

    def test_a_disk_that_was_replaced_is_recognised(self):
        first = key_of(THREE, 2)
        swapped = renewed(THREE, 2)
        log = started().voters(minus(THREE, 2)).noop(5).voters(swapped)
        last = read_voter_timeline(log).entries[-1]
        new = key_of(swapped, 2)
        assert last.change.replaced_disk == (
            DiskSwap(2, first.directory_id, new.directory_id, removed_at=33),
        )
        assert last.change.added == (new,)
        assert str(last.change) == "disk of 2 replaced"
        assert last.anomalies == ()

    def test_who_comes_back_with_the_same_directory_has_no_new_disk(self):
        log = started().voters(minus(THREE, 2)).voters(THREE)
        assert read_voter_timeline(log).entries[-1].change.replaced_disk == ()

    def test_a_disk_replaced_by_one_record_is_more_than_one_change(self):
        last = read_voter_timeline(started().voters(renewed(THREE, 2))).entries[-1]
        assert [swap.removed_at for swap in last.change.replaced_disk] == [None]
        assert last.anomalies == (AnomalyCode.SEVERAL_CHANGES,)

    def test_other_endpoints_are_a_change_of_no_voter(self):
        moved = replace(THREE.voters[0], endpoints=(("CONTROLLER", "elsewhere", 1),))
        set_ = VoterSet((moved, *THREE.voters[1:]))
        change = read_voter_timeline(started().voters(set_)).entries[-1].change
        assert (change.endpoints_changed, change.added, change.removed) == ((1,), (), ())

    def test_a_new_leader_that_writes_the_same_voters_changes_nothing(self):
        log = started().leader(2, [1, 2, 3]).voters(THREE)
        read = read_voter_timeline(log)
        assert read.entries[-1].change.is_empty
        assert codes(read) == []

    @pytest.mark.parametrize(
        "after",
        [plus(THREE, 4, 5), minus(THREE, 1, 2), renewed(THREE, 1, 2)],
        ids=["two more", "two less", "two other disks"],
    )
    def test_a_change_that_does_not_overlap_is_kept_and_flagged(self, after):
        read = read_voter_timeline(started().voters(after))
        assert read.current.voters == after
        assert AnomalyCode.NON_OVERLAPPING_CHANGE in read.current.anomalies
        assert AnomalyCode.SEVERAL_CHANGES in codes(read)

    def test_one_in_and_one_out_at_once_overlaps_but_is_more_than_one_change(self):
        read = read_voter_timeline(started().voters(plus(minus(THREE, 1), 4)))
        assert codes(read) == [AnomalyCode.SEVERAL_CHANGES]

    def test_voters_that_make_no_sense_are_reported_and_what_follows_is_unsure(self):
        log = started().voters(THREE)
        log.records[-1] = replace(log.records[-1], data={"voters": [{}]})
        read = read_voter_timeline(log.voters(plus(THREE, 4, 5)))
        assert codes(read) == [AnomalyCode.UNREADABLE_RECORD]
        assert read.current.is_after_gap


class TestStaticQuorum:
    def test_before_kraft_version_1_only_ids_are_known(self):
        log = Log(epoch=0).leader(1, [1, 2, 3]).noop(30).leader(2, [1, 2, 3]).noop()
        read = read_voter_timeline(log)
        assert sets(read) == [(0, [1, 2, 3])]
        (entry,) = read.entries
        assert (entry.is_static, entry.source) == (True, EntrySource.LEADER_CHANGE)
        assert {voter.directory_id for voter in entry.voters} == {None}
        assert (read.kraft_version, codes(read)) == (0, [])

    def test_another_configuration_shows_at_the_next_election(self):
        log = Log(epoch=0).leader(1, [1, 2, 3]).noop(3).leader(2, [2, 3, 4]).noop()
        read = read_voter_timeline(log)
        assert sets(read) == [(0, [1, 2, 3]), (4, [2, 3, 4])]
        assert codes(read) == []

    def test_a_configuration_that_does_not_overlap_is_flagged(self):
        log = Log(epoch=0).leader(1, [1, 2, 3]).noop(3).leader(4, [3, 4, 5]).noop()
        assert codes(read_voter_timeline(log)) == [AnomalyCode.NON_OVERLAPPING_CHANGE]

    def test_the_upgrade_names_directories_and_changes_no_voter(self):
        log = Log(epoch=0).leader(1, [1, 2, 3]).noop(3).kraft_version(1).voters(THREE)
        read = read_voter_timeline(log)
        assert read.current.change.named == (1, 2, 3)
        assert read.current.change.steps == 0
        assert [entry.is_static for entry in read.entries] == [True, False]
        assert (read.kraft_version, codes(read)) == (1, [])

    def test_a_feature_record_of_kraft_version_says_nothing(self):
        log = Log(epoch=0).leader(1, [1]).feature("kraft.version", 1)
        assert read_voter_timeline(log).kraft_version == 0

    def test_voters_while_kraft_version_is_0_are_flagged(self):
        log = Log(epoch=0).leader(1, [1, 2, 3]).noop().voters(THREE)
        assert codes(read_voter_timeline(log)) == [AnomalyCode.VOTERS_WITHOUT_KRAFT_VERSION]

    def test_a_kraft_version_that_goes_down_is_flagged(self):
        assert codes(read_voter_timeline(started().kraft_version(0))) == [
            AnomalyCode.KRAFT_VERSION_LOWERED
        ]

    def test_without_the_beginning_whether_the_quorum_is_static_is_unknown(self):
        read = read_voter_timeline(Log(100).leader(1, [1, 2, 3]).noop())
        assert [entry.is_static for entry in read.entries] == [False]
        assert read.kraft_version is None


class TestSnapshots:
    def test_a_snapshot_holds_from_the_offset_before_the_log_that_follows(self):
        log = Log(765, epoch=4).snapshot(THREE, 1).noop(3).voters(FOUR)
        read = read_voter_timeline(log)
        assert sets(read) == [(764, [1, 2, 3]), (768, [1, 2, 3, 4])]
        first = read.entries[0]
        assert (first.source, first.is_committed, read.snapshot_end) == (
            EntrySource.SNAPSHOT,
            True,
            765,
        )
        assert first.timestamp_ms == log.records[-4].timestamp_ms - 500
        assert read.entries[1].is_committed is None
        assert codes(read) == []

    def test_the_bootstrap_checkpoint_is_at_minus_1(self):
        log = Log(epoch=0).snapshot(voters(1, 2), 1)
        log.leader(1, [1, 2]).kraft_version(1).voters(voters(3, 4)).together(3)
        read = read_voter_timeline(log)
        assert [(entry.offset, entry.source) for entry in read.entries] == [
            (-1, EntrySource.BOOTSTRAP),
            (2, EntrySource.LOG),
        ]
        assert AnomalyCode.NON_OVERLAPPING_CHANGE not in codes(read)

    def test_a_snapshot_without_voters_is_a_static_quorum(self):
        read = read_voter_timeline(Log(50, epoch=2).snapshot().noop(3).leader(1, [1, 2, 3]).noop())
        assert [(entry.offset, entry.is_static) for entry in read.entries] == [(53, True)]

    def test_a_snapshot_that_was_cut_off_is_read_as_far_as_it_goes(self):
        log = Log(50, epoch=2).snapshot(THREE, 1, footer=False).noop(3)
        assert sets(read_voter_timeline(log)) == [(49, [1, 2, 3])]

    def test_a_snapshot_that_says_what_is_known_is_no_entry(self):
        log = started().snapshot(THREE, 1).noop()
        assert sets(read_voter_timeline(log)) == [(2, [1, 2, 3])]

    def test_a_snapshot_that_contradicts_the_log_is_flagged(self):
        read = read_voter_timeline(started().snapshot(FOUR, 1).noop())
        assert codes(read) == [AnomalyCode.SNAPSHOT_DIFFERS]


class TestMissingRecords:
    @pytest.mark.parametrize("is_told", [True, False], ids=["as a gap", "by an offset that jumps"])
    def test_missing_records_are_unknown_and_nothing_is_invented(self, is_told):
        log = started()
        if is_told:
            log.records.append(Gap(log.offset, log.offset + 100))
        log.missing(100).voters(plus(THREE, 4, 5))
        read = read_voter_timeline(log)
        assert read.unknown == ((33, 133),)
        assert codes(read) == [AnomalyCode.UNKNOWN_RANGE]
        assert read.current.is_after_gap
        assert (read.voters_at(32), read.voters_at(100)) == (THREE, None)

    def test_behind_a_gap_the_voters_are_unknown_until_a_record_has_them(self):
        log = started().missing(100).noop(3)
        read = read_voter_timeline(log)
        assert (read.voters_at(134), read.is_current_known) == (None, False)
        again = read_voter_timeline(log.voters(THREE).noop())
        assert (again.voters_at(137), again.is_current_known) == (THREE, True)

    def test_a_snapshot_behind_a_gap_says_what_changed_but_not_when(self):
        log = started().missing(100).snapshot(FOUR, 1).noop()
        read = read_voter_timeline(log)
        assert sets(read) == [(2, [1, 2, 3]), (132, [1, 2, 3, 4])]
        assert read.current.is_after_gap
        assert read.unknown == ((33, 133),)

    def test_an_election_behind_a_gap_names_the_voters_by_their_ids(self):
        log = started().missing(100).leader(2, [1, 2, 3, 4]).noop()
        read = read_voter_timeline(log)
        assert (read.current.source, read.current.is_static) == (EntrySource.LEADER_CHANGE, False)
        assert [key.id for key in read.current.change.added] == [4]
        assert read.current.change.removed == ()

    def test_over_a_gap_no_time_and_no_epoch_is_judged(self):
        log = started().missing(100).wait(3_600_000).leader(2, [1, 2, 3], epoch=9).noop()
        read = read_voter_timeline(log)
        assert codes(read) == [AnomalyCode.UNKNOWN_RANGE]
        assert (read.silences, read.elections[-1].gap_ms) == ((), None)

    def test_damage_is_an_anomaly_with_its_place(self):
        log = started()
        log.records.append(LogDamage(4711, None, "crc", "the checksum is wrong."))
        (anomaly,) = read_voter_timeline(log).anomalies
        assert (anomaly.code, anomaly.evidence["position"]) == (AnomalyCode.DAMAGED, 4711)

    def test_a_tail_that_a_later_epoch_overwrote_is_cut_off(self):
        log = started().voters(FOUR).noop(5)
        again = Log(33, epoch=2, at_ms=log.at_ms).leader(2, [1, 2, 3], epoch=3).noop(9)
        read = read_voter_timeline([*log, *again])
        assert sets(read) == [(2, [1, 2, 3])]
        assert [(entry.offset, entry.is_committed) for entry in read.overwritten] == [(33, False)]
        assert AnomalyCode.TAIL_OVERWRITTEN in codes(read)
        assert [(span.epoch, span.last_offset) for span in read.epochs] == [(1, 32), (3, 42)]

    def test_records_that_go_backwards_are_passed_by(self):
        log = started()
        read = read_voter_timeline([*log, *Log(5, epoch=1).voters(FOUR)])
        assert codes(read) == [AnomalyCode.WRONG_ORDER]
        assert read.current.voters == THREE

    def test_a_file_full_of_nonsense_keeps_a_bounded_number_of_anomalies(self):
        log = started()
        read = read_voter_timeline([*log, *(Log(5, epoch=1).noop().records * 3_000)])
        assert len(read.anomalies) == 1_000
        assert read.anomalies_left_out == {"wrong_order": 2_000}

    def test_nothing_at_all_is_an_empty_timeline(self):
        read = read_voter_timeline([])
        assert (read.current, read.first_offset, read.voters_at(0)) == (None, None, None)


class TestElections:
    def test_an_election_has_its_leader_its_votes_and_the_time_without_records(self):
        log = started().leader(3, [1, 2, 3], [2, 3], after_ms=2_900).noop(3)
        read = read_voter_timeline(log)
        last = read.elections[-1]
        assert (last.leader_id, last.previous_leader_id, last.gap_ms) == (3, 1, 2_900)
        assert [key.id for key in last.granting] == [2, 3]
        assert [(span.epoch, span.leader_id, span.first_offset, span.last_offset) for span in read.epochs] == [
            (1, 1, 0, 32),
            (2, 3, 33, 36),
        ]  # fmt: skip
        assert [(s.is_election, s.gap_ms) for s in read.silences] == [(True, 2_900)]

    def test_a_leader_that_stood_still_is_a_silence_without_an_election(self):
        read = read_voter_timeline(started().wait(20_000).noop())
        assert [(s.is_election, s.gap_ms) for s in read.silences] == [(False, 20_500)]

    def test_a_slower_cadence_of_the_log_is_no_silence(self):
        log = started()
        log.records = log.records[:3]
        log.offset = 3
        for _ in range(40):
            log.wait(4_500).noop()
        assert read_voter_timeline(log).silences == ()
        assert [s.gap_ms for s in read_voter_timeline(log.wait(30_000).noop()).silences] == [30_500]

    def test_skipped_epochs_are_elections_without_a_winner(self):
        read = read_voter_timeline(started().leader(2, [1, 2, 3], epoch=5))
        assert read.elections[-1].skipped_epochs == 3
        assert codes(read) == [AnomalyCode.EPOCH_JUMP]

    def test_an_epoch_that_goes_back_is_flagged(self):
        log = started(epoch=7)
        assert codes(read_voter_timeline(log.leader(2, [1, 2, 3], epoch=3))) == [
            AnomalyCode.WRONG_ORDER
        ]

    def test_an_epoch_without_an_election_is_flagged(self):
        log = started()
        log.epoch += 1
        assert codes(read_voter_timeline(log.noop())) == [AnomalyCode.EPOCH_WITHOUT_LEADER_CHANGE]

    def test_an_election_in_the_middle_of_an_epoch_is_flagged(self):
        log = started()
        assert codes(read_voter_timeline(log.leader(2, [1, 2, 3], epoch=log.epoch))) == [
            AnomalyCode.LEADER_CHANGE_OUT_OF_PLACE
        ]

    @pytest.mark.parametrize(
        ("leader", "ids", "granting", "code"),
        [
            pytest.param(2, [1, 2, 3], [2], AnomalyCode.MINORITY_ELECTION, id="too few votes"),
            pytest.param(9, [1, 2, 3], [1, 2], AnomalyCode.LEADER_NOT_VOTER, id="not a voter"),
            pytest.param(2, [2, 3], [2, 3], AnomalyCode.VOTERS_DIFFER, id="other voters"),
        ],
    )
    def test_an_election_that_the_voters_contradict_is_flagged(self, leader, ids, granting, code):
        read = read_voter_timeline(started().leader(leader, ids, granting))
        assert read.elections[-1].anomalies == (code,)

    @pytest.mark.parametrize(
        ("back_ms", "next_leader", "is_flagged"),
        [(50, True, True), (50, False, False), (3_000, False, True)],
        ids=["between leaders", "a little, of one leader", "much, of one leader"],
    )
    def test_a_clock_that_goes_backwards_is_flagged(self, back_ms, next_leader, is_flagged):
        log = started().wait(-500 - back_ms)
        log = log.leader(2, [1, 2, 3]) if next_leader else log.noop()
        assert (AnomalyCode.CLOCK_BACKWARDS in codes(read_voter_timeline(log))) is is_flagged

    def test_a_leader_change_with_directory_ids_is_understood(self):
        log = started()
        log.leader(2, [1, 2, 3])
        named = [{"voterId": v.id, "voterDirectoryId": v.directory_id} for v in THREE]
        log.records[-1] = replace(log.records[-1], data=log.records[-1].data | {"voters": named})
        assert read_voter_timeline(log).elections[-1].voters == tuple(v.key for v in THREE)


def test_parts_are_json_values():
    log = started().voters(minus(THREE, 2)).voters(renewed(THREE, 2)).leader(2, [1, 2, 3], epoch=5)
    read = read_voter_timeline(log)
    entry = read.current.to_mapping()
    assert entry["change"]["replacedDisk"][0]["id"] == 2
    assert entry["voters"][0]["endpoints"] == [
        {"name": "LISTENER", "host": "localhost", "port": 9991}
    ]
    assert read.elections[-1].to_mapping()["skippedEpochs"] == 3
    assert read.anomalies[-1].to_mapping()["code"] == "epoch_jump"
