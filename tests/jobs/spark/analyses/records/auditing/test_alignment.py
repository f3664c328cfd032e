"""Sequences with planted differences: each is found as what it is."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.spark.analyses.records.auditing.alignment import Alignment, Side
from jobs.spark.analyses.records.auditing.judging import Edges, judge

MISSING, EXTRA, DOUBLED, SWAPPED, ALTERED = "missing", "extra", "duplicated", "reordered", "altered"


@dataclass(frozen=True)
class Given:
    """A record: its content is a number, its key another one."""

    content: int
    key: int
    at_ms: int = 0
    is_tombstone: bool = False


def rows_of(records, first=0):
    fields = [
        (first + n, r.at_ms, r.content, r.key, int(r.is_tombstone), 1)
        for n, r in enumerate(records)
    ]
    return np.array(fields, np.int64).reshape(len(fields), 6).T


def judged(source, target, step=7, edges=None, starts=(0, 0), earlier=None):
    """Judge two sequences that come in steps of so many records."""
    left = [rows_of(one, first) for one, first in zip((source, target), starts, strict=True)]
    return judged_rows(left, step, edges or Edges(), earlier)


def judged_rows(left, step, edges, earlier=None, **settings):
    alignment = Alignment(compacted=edges.is_compacted, **settings)
    while left[0].shape[1] or left[1].shape[1]:
        for side in Side:
            if alignment.wants(side):
                alignment.feed(side, left[side][:, :step])
                left[side] = left[side][:, step:]
        alignment.align(ended=tuple(not one.shape[1] for one in left))
    alignment.align(ended=(True, True))
    found = judge(alignment, edges, earlier)
    return {name: count for name, count in found.counts.items() if count}, found, alignment.matched


def records(count, keys=1000):
    return [Given(1000 + n, 1 + n % keys, n) for n in range(count)]


def planted(found):
    return Counter((one.what, one.source_offset) for one in found.findings)


@pytest.fixture(params=[7, 64, 100_000], ids=["small steps", "steps", "at once"])
def step(request):
    return request.param


@settings(deadline=None)
@given(st.lists(st.integers(1, 3), max_size=300), st.integers(1, 50))
def test_equal_sequences_of_few_contents_are_equal(contents, step):
    given = [Given(one, one) for one in contents]
    counts, _, matched = judged(given, given, step)
    assert (counts, matched.records) == ({}, len(given))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([MISSING, EXTRA, DOUBLED, SWAPPED, ALTERED]), max_size=12),
    st.randoms(use_true_random=False),
    st.sampled_from([5, 50, 5000]),
)
def test_planted_differences_are_found_where_they_are(kinds, random, step):
    source = records(40 + 40 * len(kinds))
    places = {20 + 40 * n + random.randrange(20): kind for n, kind in enumerate(kinds)}
    target = []
    for n, record in enumerate(source):
        match places.get(n):
            case "missing":
                continue
            case "extra":
                target += [record, Given(10**6 + n, 5000 + n, -n)]
            case "duplicated":
                target += [record, record]
            case "reordered":
                target += [record]
                target[-2:] = [record, target[-2]]
            case "altered":
                target.append(Given(10**6 + n, record.key, record.at_ms))
            case _:
                target.append(record)
    counts, found, _ = judged(source, target, step)
    assert counts == dict(Counter(kinds))
    wanted = Counter(
        (kind, -1 if kind == EXTRA else place) for place, kind in places.items() if kind != SWAPPED
    )
    got = planted(found)
    assert wanted == Counter({one: n for one, n in got.items() if one[0] != SWAPPED})
    swapped = sorted(place for what, place in got if what == SWAPPED)
    near = sorted(place for place, kind in places.items() if kind == SWAPPED)
    assert all(a in (b, b - 1) for a, b in zip(swapped, near, strict=True))


def test_a_range_that_was_copied_again_is_duplicated(step):
    source = records(500)
    target = source[:300] + source[200:]
    counts, found, matched = judged(source, target, step)
    assert (counts, matched.records) == ({DOUBLED: 100}, 500)
    (one,) = found.findings
    assert (one.source_offset, one.source_to, one.target_offset, one.target_to) == (
        200, 300, 300, 400,
    )  # fmt: skip


def test_a_range_that_was_copied_again_after_a_proof_is_known_by_the_records_before_it():
    source = records(50)
    counts, *_ = judged(
        source[20:],
        source[10:20] + source[20:],
        edges=Edges(is_proven=True),
        earlier=lambda hashes: hashes - 1000,
    )
    assert counts == {DOUBLED: 10}


def test_a_record_that_moved_far_is_reordered(step):
    source = records(3000)
    target = [*source[:100], *source[101:2500], source[100], *source[2500:]]
    counts, found, _ = judged(source, target, step)
    assert counts == {SWAPPED: 1}
    assert planted(found) == {(SWAPPED, 100): 1}


@pytest.mark.parametrize(
    ("edges", "source", "target", "wanted"),
    [
        pytest.param(
            Edges(removed=(0, 9)), slice(None), slice(9, None), {"deleted_on_target": 9},
            id="the target deleted the first ones",
        ),
        pytest.param(
            Edges(removed=(9, 0)), slice(9, None), slice(None), {"deleted_on_source": 9},
            id="the source deleted the first ones",
        ),
        pytest.param(
            Edges(), slice(None), slice(9, None), {MISSING: 9}, id="the first ones were lost"
        ),
        pytest.param(
            Edges(removed=(0, 4)), slice(None), slice(9, None),
            {"deleted_on_target": 9, "undeleted": 5}, id="the target cannot have deleted so many"
        ),
        pytest.param(
            Edges(is_watched=True), slice(None), slice(9, None), {"before_first": 9},
            id="MirrorMaker 2 may have begun later"
        ),
        pytest.param(
            Edges(is_proven=True), slice(None), slice(9, None), {MISSING: 9},
            id="what comes before was proven",
        ),
        pytest.param(
            Edges(), slice(9, None), slice(None), {EXTRA: 9}, id="the target had records before"
        ),
        pytest.param(
            Edges(older_unread=(True, False)), slice(9, None), slice(None), {"unread": 9}, id="older were not read"
        ),
        pytest.param(
            Edges(), slice(None), slice(0, 40), {"not_copied_yet": 10}, id="the copy lags"
        ),
        pytest.param(
            Edges(), slice(0, 40), slice(None), {EXTRA: 10}, id="the target has more"
        ),
        pytest.param(
            Edges(newer_unread=(True, False)), slice(0, 40), slice(None), {"unread": 10}, id="newer were not read"
        ),
        pytest.param(Edges(), slice(None), slice(0, 0), {"not_copied_yet": 50}, id="nothing yet"),
    ],
)  # fmt: skip
def test_edges_are_judged_by_what_is_known_of_them(edges, source, target, wanted):
    given = records(50)
    counts, *_ = judged(given[source], given[target], edges=edges)
    assert counts == wanted


def test_the_last_record_that_was_altered_is_no_lag():
    source = records(50)
    counts, found, _ = judged(source, [*source[:48], Given(9, source[48].key, 48)])
    assert counts == {ALTERED: 1, "not_copied_yet": 1}
    assert planted(found) == {(ALTERED, 48): 1}


COMPACTED = Edges(is_compacted=True)


@pytest.mark.parametrize("side", [0, 1], ids=["target", "source"])
def test_a_record_that_a_later_one_supersedes_may_be_compacted(side, step):
    source = records(200, keys=20)
    target = [r for n, r in enumerate(source) if n >= 180 or n % 3]
    counts, *_ = judged(*((source, target), (target, source))[side], step, COMPACTED)
    assert counts == {"superseded": 60}


def test_the_last_record_of_a_key_may_not_be_compacted():
    source = records(200, keys=20)
    counts, found, _ = judged(source, source[:190] + source[191:], edges=COMPACTED)
    assert counts == {MISSING: 1}
    assert planted(found) == {(MISSING, 190): 1}


def test_a_later_record_that_is_not_copied_yet_supersedes_nothing():
    source = [*records(20), Given(7, 5, 99)]
    counts, *_ = judged(source, [r for r in source[:20] if r.key != 5], edges=COMPACTED)
    assert counts == {MISSING: 1, "not_copied_yet": 1}


@pytest.mark.parametrize(
    ("value_is_there", "edges", "wanted"),
    [
        pytest.param(False, COMPACTED, {"superseded": 2}, id="with its values"),
        pytest.param(True, COMPACTED, {MISSING: 1}, id="a value is left"),
        pytest.param(
            False, Edges(is_compacted=True, is_proven=True), {"superseded": 1, "unsure": 1},
            id="older values were not read",
        ),
    ],
)  # fmt: skip
def test_a_tombstone_may_be_compacted_where_no_value_is_left(value_is_there, edges, wanted):
    value, tombstone = Given(1, 77, 0), Given(2, 77, 5, is_tombstone=True)
    rest = records(30)
    source = [*rest[:5], value, *rest[5:10], tombstone, *rest[10:]]
    target = [*rest[:5], *([value] if value_is_there else []), *rest[5:]]
    counts, *_ = judged(source, target, edges=edges)
    assert counts == wanted


def test_an_equal_hash_with_another_digest_is_altered():
    rows = np.concatenate((rows_of(records(10)), np.ones((4, 10), np.int64)))
    other = rows.copy()
    other[7, 4] = 2
    alignment = Alignment()
    alignment.feed(Side.SOURCE, rows)
    alignment.feed(Side.TARGET, other)
    alignment.align(ended=(True, True))
    found = judge(alignment, Edges())
    assert (found.counts[ALTERED], planted(found)) == (1, {(ALTERED, 4): 1})


def test_gaps_longer_than_what_waits_are_passed():
    source = records(60_000)
    rows = [rows_of(source), rows_of(source[:100] + source[30_100:])]
    counts, _, matched = judged_rows(rows, 1000, Edges(), most_rows=4096)
    assert (counts, matched.records) == ({MISSING: 30_000}, 30_000)
