"""What a flow keeps of its offset syncs never skips a record, and is exact where none is missing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.sync_tracker import LONGEST_WAIT_S, SyncTracker
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.replication.translation.bounds import Why
from jobs.replication.translation.sync_history import repeats_nothing
from jobs.replication.translation.translator import SourceEnd, Translator

WHERE = TopicPartition("orders", 0)


class Engine:
    """Copies as the batch path does: gaps on the source, markers on the target, commits, aborts, restarts."""

    def __init__(self) -> None:
        self.tracker = SyncTracker()
        self.told = []
        self.places = {}
        self.upstream = self.downstream = 100
        self.now_s = 0.0

    def copy(self, steps, jump, end, waited_s=0.0) -> None:
        self.now_s += waited_s
        before, pending = self.upstream, {}
        self.downstream += jump
        for step in steps:
            pending[self.upstream] = self.downstream
            self.upstream += step
            self.downstream += 1
        pairs = list(pending.items())
        self.tracker.copied(np.array(changes_of(pairs), np.int64), pairs[-1])
        if end == "abort":
            self.tracker.abort()
            self.upstream = before
            self.downstream += 1
            return
        untold = self.commit()
        self.places |= pending
        self.downstream += 1  # the transaction's marker
        if end == "restart":
            self.tracker = SyncTracker.after(self.tracker.last, untold)

    def commit(self, *, at_once=False):
        """Tell what is due now; returns what would stand beside the position."""
        told = self.tracker.tell(self.now_s, at_once=at_once).tolist()
        due = [tuple(pair) for pair in told]
        self.told += zip(due, [self.tracker.told, *due], strict=False)
        untold = self.tracker.untold()
        self.tracker.commit()
        return untold


def changes_of(pairs):
    found, difference = [], None
    for upstream, downstream in pairs:
        if downstream - upstream != difference:
            difference = downstream - upstream
            found.append((upstream, downstream))
    return found


@st.composite
def engines(draw, ends=("commit", "abort", "restart"), *, is_stopped=False):
    """`is_stopped`: in order, so that everything is written."""
    engine = Engine()
    steps = st.lists(st.sampled_from([1, 1, 1, 1, 2, 5]), min_size=1, max_size=8)
    for _ in range(draw(st.integers(1, 12))):
        jump, end = draw(st.sampled_from([0, 0, 1])), draw(st.sampled_from(ends))
        engine.copy(draw(steps), jump, end, draw(st.sampled_from([0.0, 0.0, LONGEST_WAIT_S])))
    if is_stopped or draw(st.booleans()):
        engine.commit(at_once=True)
    return engine


def kept(told, *, most=1000, fewest=64) -> BoundedTranslator:
    syncs = BoundedTranslator(most, fewest)
    for pair, follows in told:
        syncs.add(WHERE, *pair, follows=follows)
    return syncs


def archived(told, lost=frozenset()) -> Translator:
    """What an archive knows of the same syncs, some of which compaction took before they were read."""
    translator, is_after_gap = Translator(), False
    for at, (pair, follows) in enumerate(told):
        is_after_gap |= at in lost
        if at not in lost:
            translator.add(WHERE, *pair, after_gap=is_after_gap, follows=follows)
            is_after_gap = False
    return translator


def check(engine: Engine, syncs: Translator) -> None:
    """Nothing is skipped anywhere, and where it is said to be exact nothing is repeated."""
    for upstream in range(90, engine.upstream + 3):
        found = syncs.translate(WHERE, upstream)
        if found is None:
            return
        ahead = [place for offset, place in engine.places.items() if offset >= upstream]
        behind = [place for offset, place in engine.places.items() if offset < upstream]
        assert all(found.lo <= place for place in ahead), (upstream, found)
        assert found.hi is None or not ahead or min(ahead) <= found.hi, (upstream, found)
        if repeats_nothing(found, upstream):
            assert all(place < found.lo for place in behind), (upstream, found)


@given(engines(), st.data())
def test_whatever_compaction_took_away_nothing_is_skipped_and_exact_is_exact(engine, data):
    taken = data.draw(st.sets(st.integers(0, max(len(engine.told) - 1, 0))))
    check(engine, kept(told for at, told in enumerate(engine.told) if at not in taken))


@given(engines(), st.data())
def test_an_archive_skips_nothing_either_and_exact_is_exact(engine, data):
    lost = data.draw(st.sets(st.integers(0, max(len(engine.told) - 1, 0))))
    check(engine, archived(engine.told, lost))


@given(engines(ends=("commit", "restart"), is_stopped=True))
def test_an_archive_of_all_syncs_is_as_exact_as_the_flow_itself(engine):
    flow, archive = kept(engine.told), archived(engine.told)
    for upstream in range(100, max(engine.places) + 2):
        own, found = flow.translate(WHERE, upstream), archive.translate(WHERE, upstream)
        assert (found.lo, repeats_nothing(found, upstream)) == (own.lo, True), upstream


@given(engines(), st.integers(2, 8))
def test_where_not_all_can_be_kept_answers_get_coarser_and_stay_right(engine, fewest):
    check(engine, kept(engine.told, most=1, fewest=fewest))


@given(engines(ends=("commit", "restart"), is_stopped=True))
def test_with_all_syncs_every_offset_of_what_was_copied_has_an_exact_place(engine):
    syncs = kept(engine.told)
    for upstream in range(100, max(engine.places) + 2):
        assert repeats_nothing(syncs.translate(WHERE, upstream), upstream), upstream


def test_a_long_topic_takes_no_more_room_than_allowed():
    engine = Engine()
    for _ in range(2000):
        engine.copy([1, 1], 1, "commit")
    engine.commit(at_once=True)
    syncs = kept(engine.told, most=500)
    assert len(syncs) <= 500
    check(engine, syncs)
    newest = max(engine.places)
    assert repeats_nothing(syncs.translate(WHERE, newest), newest)


def test_syncs_of_one_stretch_take_the_room_of_two():
    syncs = BoundedTranslator()
    for at in range(100):
        syncs.add(WHERE, at, at + 7, follows=(at - 1, at + 6) if at else None)
    assert len(syncs) == 2
    assert syncs.translate(WHERE, 50).lo == 57


def test_without_any_sync_of_a_partition_nothing_is_said():
    assert BoundedTranslator().translate(WHERE, 5) is None


def test_a_group_at_the_end_of_the_source_resumes_at_the_end_of_the_target():
    syncs = kept([((10, 20), None)])
    assert syncs.translate(WHERE, 90).lo == 21
    at_end = syncs.translate(WHERE, 90, end=SourceEnd(90, 99))
    assert (at_end.lo, at_end.hi, at_end.reason) == (99, None, Why.AT_THE_END.text)
    assert syncs.translate(WHERE, 89, end=SourceEnd(90, 99)).lo == 21


@given(engines(), st.data())
def test_a_sync_that_comes_again_changes_nothing(engine, data):
    syncs = kept(engine.told)
    before = [syncs.translate(WHERE, upstream) for upstream in range(90, engine.upstream + 3)]
    for pair, follows in data.draw(st.lists(st.sampled_from(engine.told or [((0, 0), None)]))):
        if engine.told:
            syncs.add(WHERE, *pair, follows=follows)
    assert before == [
        syncs.translate(WHERE, upstream) for upstream in range(90, engine.upstream + 3)
    ]


def test_a_sync_whose_target_offset_fell_replaces_only_what_was_said_from_there_on():
    syncs = kept([((10, 20), None), ((20, 31), (10, 20)), ((30, 42), (20, 31)), ((25, 36), None)])
    assert syncs.translate(WHERE, 10).exact
    assert syncs.translate(WHERE, 15)[:2] == (25, 31)
    assert syncs.translate(WHERE, 25)[:2] == (36, 36)
    assert syncs.translate(WHERE, 30)[:2] == (37, None)


def test_syncs_of_another_remote_topic_take_back_all_that_was_said_of_the_deleted_one():
    syncs = kept([((100, 500), None), ((200, 600), (100, 500)), ((0, 0), None)])
    assert syncs.translate(WHERE, 100)[:2] == (1, None)
    assert len(syncs) == 1


def test_syncs_that_were_marked_can_be_dropped_and_later_ones_stay():
    syncs = kept([((10, 20), None), ((30, 45), None)])
    syncs.mark(WHERE)
    syncs.add(WHERE, 40, 60)
    syncs.add(WHERE, 50, 75)
    syncs.drop_marked(WHERE)
    assert (len(syncs), syncs.translate(WHERE, 40).lo) == (2, 60)
    assert syncs.translate(WHERE, 30).reason == Why.BEFORE_FIRST.text
    syncs.mark(WHERE)
    syncs.drop_marked(WHERE)
    assert (syncs.partitions, syncs.translate(WHERE, 40)) == (frozenset(), None)


@given(engines(), st.integers(0, 40), st.integers(2, 8))
def test_what_is_dropped_is_everything_that_was_marked(engine, marked, fewest):
    syncs = kept(engine.told[:marked], most=1, fewest=fewest)
    syncs.mark(WHERE)
    for pair, follows in engine.told[marked:]:
        syncs.add(WHERE, *pair, follows=follows)
    syncs.drop_marked(WHERE)
    after = [pair for pair, _ in engine.told[marked:]]
    for upstream in range(90, engine.upstream + 3):
        found = syncs.translate(WHERE, upstream)
        assert found is None or all(pair in after for pair in found.evidence)


def test_what_the_source_read_before_it_went_back_stays_known():
    syncs = kept([((10, 20), None), ((30, 40), (10, 20)), ((25, 45), None)])
    found = syncs.translate(WHERE, 15)
    assert (found.lo, found.hi, found.reason) == (25, 45, Why.WENT_BACK.text)
