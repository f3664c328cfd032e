"""Rules about consumer groups, each on recorded states."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.checks.groups import (
    COMMITS_STOPPED,
    GROWING,
    GroupState,
    OffsetState,
    Retention,
    Sample,
    catch_up,
    commits_stopped,
    growing,
    lag_time,
    members_gone,
    partitions_stuck,
    retention,
)
from jobs.checks.settings import Setting, Settings
from jobs.severity import Severity

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000
NO_SETTINGS = Settings()
WEEK = Retention(7 * 24 * HOUR_MS)
BILLING = GroupState(1, "east", "billing", members=2, lag=500)


def samples(*lags, every_s=90):
    return tuple(Sample(i * every_s, lag) for i, lag in enumerate(lags))


def unread(hours_left=None, **fields):
    """Make an offset whose first unread record is deleted in so many hours."""
    values = {"lag": 10, "retention": WEEK}
    if hours_left is not None:
        values["next_timestamp_ms"] = NOW_MS - WEEK.ms + round(hours_left * HOUR_MS)
    return OffsetState("orders", 3, **(values | fields))


@pytest.mark.parametrize(
    ("lag_ms", "severity"),
    [
        pytest.param(None, None, id="not known"),
        pytest.param(300_000, None, id="at the target"),
        pytest.param(301_000, Severity.WARNING, id="above the target"),
        pytest.param(3_601_000, Severity.CRITICAL, id="far above the target"),
    ],
)
def test_lag_in_time_is_compared_with_its_target(lag_ms, severity):
    found = list(lag_time(replace(BILLING, lag_ms=lag_ms), NO_SETTINGS))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_lag_in_time_names_group_cluster_and_the_partition_with_the_largest_lag():
    state = replace(BILLING, lag_ms=720_000, offsets=[unread(lag_ms=720_000)])
    (one,) = lag_time(state, NO_SETTINGS)
    assert one.sentence.replace("\N{NO-BREAK SPACE}", " ") == (
        "Consumer group billing of east is 12 m behind, max in orders-3: 500 records wait."
    )
    assert (one.subject, one.evidence["group"], one.evidence["lag_s"]) == (
        "billing",
        "billing",
        720,
    )


@pytest.mark.parametrize(
    ("lags", "is_found"),
    [
        pytest.param((100, 200, 300, 300, 400, 500, 600, 700), True, id="never falls and grows"),
        pytest.param((100, 200, 300, 250, 400, 500, 600, 700), False, id="falls once"),
        pytest.param((700,) * 8, False, id="constant"),
        pytest.param((1, 2, 3, 4, 5, 6, 7, 99), False, id="few records"),
        pytest.param((100, 200, 300, 400, 500, 600, 700), False, id="less than 10 minutes"),
    ],
)
def test_lag_grows_when_it_never_falls_in_the_window(lags, is_found):
    state = replace(BILLING, samples=samples(*lags))
    assert bool(list(growing(state, NOW, NO_SETTINGS))) is is_found


def test_three_samples_are_no_trend_whatever_time_they_cover():
    state = replace(BILLING, samples=samples(100, 200, 300, every_s=400))
    assert list(growing(state, NOW, NO_SETTINGS)) == []


@settings(deadline=None)
@given(more=st.integers(0, 10_000), lag=st.integers(1, 10_000_000))
def test_a_group_that_consumes_at_least_as_fast_as_is_produced_never_falls_behind(more, lag):
    lags = [max(lag - i * more, 0) for i in range(11)]
    state = replace(BILLING, samples=samples(*lags))
    assert list(growing(state, NOW, NO_SETTINGS)) == []


@settings(deadline=None)
@given(produced=st.integers(1, 10_000), lag=st.integers(100, 10_000_000))
def test_a_group_that_stopped_falls_behind_within_the_window(produced, lag):
    state = replace(BILLING, samples=samples(*(lag + i * produced for i in range(11))))
    assert len(list(growing(state, NOW, NO_SETTINGS))) == 1


@pytest.mark.parametrize(
    ("first", "fall", "catch_up_s"),
    [
        pytest.param(100_000, 90, 99_370, id="one record a second"),
        pytest.param(100_000, 9_000, None, id="soon"),
        pytest.param(100_000, 0, None, id="does not drain"),
        pytest.param(100_000, -90, None, id="grows"),
    ],
)
def test_the_time_to_catch_up_is_lag_by_its_fall(first, fall, catch_up_s):
    state = replace(BILLING, samples=samples(*(first - i * fall for i in range(8))))
    found = [one.evidence["catch_up_s"] for one in catch_up(state, NO_SETTINGS)]
    assert found == ([catch_up_s] if catch_up_s else [])


@pytest.mark.parametrize(
    ("offset", "severity"),
    [
        pytest.param(unread(5.9), Severity.WARNING, id="less than 6 h are left"),
        pytest.param(unread(6.1), None, id="more than 6 h are left"),
        pytest.param(unread(-1), Severity.WARNING, id="may be deleted at any time"),
        pytest.param(unread(), None, id="timestamp not known"),
        pytest.param(unread(5.9, lag=None), None, id="lag not known"),
        pytest.param(unread(5.9, retention=None), None, id="only compacted"),
        pytest.param(unread(5.9, retention=Retention(None)), None, id="retention.ms -1"),
        pytest.param(unread(is_deleted=True), Severity.CRITICAL, id="deleted already"),
        pytest.param(
            unread(is_deleted=True, retention=Retention(None)), Severity.CRITICAL, id="by size"
        ),
        pytest.param(
            unread(retention=Retention(HOUR_MS), next_timestamp_ms=NOW_MS - round(0.79 * HOUR_MS)),
            None,
            id="more than 20 % of a short retention",
        ),
        pytest.param(
            unread(retention=Retention(HOUR_MS), next_timestamp_ms=NOW_MS - round(0.81 * HOUR_MS)),
            Severity.WARNING,
            id="less than 20 % of a short retention",
        ),
    ],
)
def test_retention_of_unread_records(offset, severity):
    found = list(retention(replace(BILLING, offsets=[offset]), NOW, NO_SETTINGS))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_retention_names_the_partition_with_the_least_time_and_deletion_by_size():
    sized = replace(unread(2, retention=Retention(WEEK.ms, is_by_size=True)), topic="clicks")
    (one,) = retention(replace(BILLING, offsets=[unread(3), sized]), NOW, NO_SETTINGS)
    assert (one.topic, one.partition, one.evidence["left_s"]) == ("clicks", 3, 7200)
    assert one.sentence.replace("\N{NO-BREAK SPACE}", " ") == (
        "Consumer group billing of east loses records in 2 h at the earliest: retention reaches unread "
        "records of clicks-3, orders-3. retention.bytes is set: they may be deleted earlier."
    )


@pytest.mark.parametrize(
    ("gone_s", "is_found"),
    [
        pytest.param(None, False, id="never seen with members"),
        pytest.param(299, False, id="for a short time"),
        pytest.param(300, True, id="for the threshold"),
    ],
)
def test_members_are_gone_after_the_threshold(gone_s, is_found):
    state = replace(BILLING, members=0, gone_s=gone_s)
    assert bool(list(members_gone(state, NOW, NO_SETTINGS))) is is_found


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        pytest.param({"unmoved_s": 600}, True, id="for the threshold"),
        pytest.param({"unmoved_s": 599}, False, id="for a short time"),
        pytest.param({"unmoved_s": None}, False, id="not known"),
        pytest.param({"unmoved_s": 600, "members": 0}, False, id="no members"),
        pytest.param({"unmoved_s": 600, "members": None}, False, id="members not known"),
        pytest.param({"unmoved_s": 9_000, "back_s": 30}, False, id="members are back since 30 s"),
        pytest.param({"unmoved_s": 600, "is_partial": True}, False, id="other partitions may move"),
    ],
)
def test_commits_have_stopped(changes, is_found):
    state = replace(BILLING, offsets=[unread()], **changes)
    assert bool(list(commits_stopped(state, NOW, NO_SETTINGS))) is is_found


@pytest.mark.parametrize(
    ("changes", "others_s", "is_found"),
    [
        pytest.param({}, 5, True, id="others move"),
        pytest.param({}, 700, False, id="others do not move either"),
        pytest.param({}, None, False, id="others are not known"),
        pytest.param({"unmoved_s": 599}, 5, False, id="for a short time"),
        pytest.param({"is_assigned": False}, 5, False, id="no member holds it"),
        pytest.param({"lag": 0}, 5, False, id="no record waits"),
    ],
)
def test_a_partition_is_stuck_while_others_move(changes, others_s, is_found):
    offset = unread(**({"unmoved_s": 700} | changes))
    state = replace(BILLING, unmoved_s=others_s, offsets=[offset])
    assert bool(list(partitions_stuck(state, NOW, NO_SETTINGS))) is is_found


def test_a_stuck_partition_names_its_group_since_when_and_that_it_is_offline():
    state = replace(BILLING, unmoved_s=5, offsets=[unread(unmoved_s=700, offline=(3,))])
    (one,) = partitions_stuck(state, NOW, NO_SETTINGS)
    assert (one.subject, one.topic, one.partition) == ("billing orders-3", "orders", 3)
    assert (one.brokers, one.since) == ((3,), NOW - timedelta(seconds=700))
    assert (one.evidence["group"], one.evidence["offline"]) == ("billing", True)


def test_brokers_explain_stopped_commits_only_where_every_waiting_partition_is_offline():
    offline, other = unread(offline=(3,)), replace(unread(), partition=4)
    for offsets, brokers in (([offline], (3,)), ([offline, other], ())):
        state = replace(BILLING, unmoved_s=600, offsets=offsets)
        assert [one.brokers for one in commits_stopped(state, NOW, NO_SETTINGS)] == [brokers]


@pytest.mark.parametrize(
    ("setting", "is_found"),
    [
        pytest.param(
            Setting(COMMITS_STOPPED.id, {"unmoved_s": 900}, group="bill*"), False, id="more"
        ),
        pytest.param(Setting(COMMITS_STOPPED.id, {"unmoved_s": 900}, group="x*"), True, id="other"),
        pytest.param(
            Setting(COMMITS_STOPPED.id, is_excluded=True, cluster=1), False, id="excluded"
        ),
        pytest.param(Setting(GROWING.id, is_excluded=True), True, id="another check"),
    ],
)
def test_thresholds_are_narrowed_by_groups(setting, is_found):
    state = replace(BILLING, unmoved_s=700, offsets=[unread()])
    assert bool(list(commits_stopped(state, NOW, Settings.of([setting])))) is is_found
