"""What is local, remote and late of a partition, and who reads it cold."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing.tiers import (
    Ends,
    Measured,
    Reads,
    TierSettings,
    group_reads,
    partition_row,
    tier_settings,
    topic_row,
)

TIERED = TierSettings(True, local_bytes=2_000)
# 100 offsets before the local part are remote; 50 of the 100 local ones are copied, each has 30 bytes.
ENDS = Ends(log_start=0, local_start=100, highest=149, end=200)
MEASURED = Measured(local_bytes=3_000, first_ms=1_000, pending_ms=5_000, last_ms=9_000)


def row(settings=TIERED, ends=ENDS, measured=MEASURED):
    return partition_row(settings, ends, measured)


def configs(**values):
    return {"remote.storage.enable": "true"} | {
        name.replace("_", "."): text for name, text in values.items()
    }


@pytest.mark.parametrize(
    ("given_configs", "wanted"),
    [
        pytest.param(None, TierSettings(None), id="not readable"),
        pytest.param({}, TierSettings(False), id="a broker without tiered storage"),
        pytest.param({"remote.storage.enable": "false"}, TierSettings(False), id="not enabled"),
        pytest.param(
            configs(retention_ms="7", local_retention_ms="-2", retention_bytes="-1"),
            TierSettings(True, local_ms=7),
            id="as the whole retention",
        ),
        pytest.param(
            configs(retention_ms="7", local_retention_ms="3", local_retention_bytes="5"),
            TierSettings(True, local_ms=3, local_bytes=5),
            id="limits of its own",
        ),
        pytest.param(
            configs(retention_ms="-1"),
            TierSettings(True),
            id="no limit",
        ),
    ],
)
def test_settings_say_what_may_stay_local(given_configs, wanted):
    assert tier_settings(given_configs) == wanted


def test_bytes_of_remote_records_follow_from_the_mean_size_of_local_offsets():
    found = row()
    assert (found["remote_bytes"], found["replay_bytes"]) == (4_500, 3_000)
    assert found["first_ms"] == 1_000


def test_the_copy_lag_is_what_comes_after_the_highest_tiered_offset():
    found = row()
    assert (found["copy_lag"], found["copy_lag_ms"]) == (50, 4_000)


def test_a_topic_without_tiered_storage_has_nothing_remote():
    found = row(TierSettings(False), replace(ENDS, local_start=0, highest=None))
    names = ("remote_bytes", "replay_bytes", "copy_lag", "delete_lag")
    assert [found[name] for name in names] == [0, 0, None, None]


@pytest.mark.parametrize(
    ("settings", "ends", "measured"),
    [
        pytest.param(TierSettings(None), ENDS, MEASURED, id="settings not readable"),
        pytest.param(TIERED, Ends(reason="It is too old."), MEASURED, id="no ends"),
        pytest.param(TIERED, ENDS, Measured(), id="no size"),
    ],
)
def test_what_cannot_be_read_is_unknown_and_never_0(settings, ends, measured):
    found = row(settings, ends, measured)
    names = ("remote_bytes", "replay_bytes", "delete_lag")
    assert [found[name] for name in names] == [None] * 3


def test_nothing_before_the_local_part_costs_nothing_also_where_sizes_are_unknown():
    assert row(ends=replace(ENDS, log_start=100), measured=Measured())["replay_bytes"] == 0


@pytest.mark.parametrize(
    ("settings", "ends", "measured", "lag"),
    [
        pytest.param(TIERED, ENDS, MEASURED, 33, id="by size"),
        pytest.param(replace(TIERED, local_bytes=3_000), ENDS, MEASURED, 0, id="within"),
        pytest.param(replace(TIERED, local_bytes=None), ENDS, MEASURED, 0, id="no limit"),
        pytest.param(
            replace(TIERED, local_ms=1),
            ENDS,
            replace(MEASURED, kept_from=180),
            80,
            id="by time more than by size",
        ),
        pytest.param(replace(TIERED, local_ms=1), ENDS, MEASURED, None, id="time not read"),
        pytest.param(TIERED, replace(ENDS, end=100), MEASURED, 0, id="nothing is local"),
    ],
)
def test_what_is_local_beyond_its_retention_is_counted(settings, ends, measured, lag):
    assert row(settings, ends, measured)["delete_lag"] == lag


LATER = Ends(log_start=10, local_start=120, highest=169, end=220)


@pytest.mark.parametrize(
    ("committed", "before", "after", "wanted"),
    [
        pytest.param(50, ENDS, ENDS, Reads.REMOTE, id="before the local part"),
        pytest.param(150, ENDS, ENDS, Reads.FAR_BEHIND, id="half of the local part behind"),
        pytest.param(151, ENDS, ENDS, Reads.TAIL, id="less than half behind"),
        pytest.param(200, ENDS, ENDS, Reads.TAIL, id="at the end"),
        pytest.param(5, LATER, LATER, Reads.GONE, id="before the log start"),
        pytest.param(50, ENDS, LATER, Reads.REMOTE, id="remote in both readings"),
        pytest.param(110, ENDS, LATER, Reads.UNKNOWN, id="local before, remote after"),
        pytest.param(5, ENDS, LATER, Reads.UNKNOWN, id="deleted meanwhile"),
        pytest.param(130, ENDS, LATER, Reads.FAR_BEHIND, id="far behind in both"),
        pytest.param(160, ENDS, LATER, Reads.UNKNOWN, id="perhaps far behind"),
        pytest.param(190, ENDS, LATER, Reads.TAIL, id="at the tail in both"),
        pytest.param(50, Ends(0), Ends(0), Reads.UNKNOWN, id="local part unknown"),
        pytest.param(50, Ends(), Ends(), Reads.UNKNOWN, id="nothing known"),
        pytest.param(0, Ends(0, 0, None, 0), Ends(0, 0, None, 0), Reads.TAIL, id="an empty log"),
    ],
)
def test_a_group_is_judged_by_what_both_readings_say(committed, before, after, wanted):
    assert group_reads(committed, before, after) is wanted


NUMBERS = st.integers(0, 40)


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=3), NUMBERS)
def test_a_verdict_that_is_not_unknown_is_that_of_the_moment_in_between(steps, committed):
    start = local = end = 0
    moments = []
    for by_start, by_local, by_end in steps:
        end += by_end
        local = min(local + by_local, end)
        start = min(start + by_start, local)
        moments.append(Ends(start, local, None, end))
    before, between, after = moments
    found = group_reads(committed, before, after)
    assert found in {Reads.UNKNOWN, group_reads(committed, between, between)}


def test_a_sum_of_a_topic_is_unknown_where_one_of_a_partition_is():
    found = topic_row([row(), row(measured=Measured(first_ms=2_000))])
    assert (found["partitions"], found["copy_lag"], found["remote_bytes"]) == (2, 100, None)
    assert found["first_ms"] == 2_000


def test_an_empty_partition_does_not_hide_since_when_a_topic_is_complete():
    empty = row(ends=Ends(0, 0, None, 0), measured=Measured(local_bytes=0))
    assert topic_row([row(), empty])["first_ms"] == 1_000
