"""The area of consumer groups: what it reads, when it judges, and what clocks that are set do."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.checks.areas import groups
from console.checks.areas.area import Given
from console.clusters.models import CollectionRound, Group, GroupOffset, Noun, Partition, Topic
from console.findings.models import Finding
from jobs.checks.settings import Settings
from tests.console.clusters.making import make_cluster, make_round

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = 3600


def minutes(count):
    return timedelta(minutes=count)


def make_group(cluster, name="billing", *, partitions=(), **fields):
    """Make a group with offsets: for each partition its lag and since when its commit did not move."""
    values = {"state": "Stable", "type": "classic", "protocol": "consumer", "member_count": 1}
    values |= {"partition_count": len(partitions), "changed_at": NOW}
    values["lag"] = sum(lag for lag, *_ in partitions)
    group = Group.objects.create(cluster=cluster, group_id=name, **(values | fields))
    for i, (lag, since, *more) in enumerate(partitions):
        offset = {"committed_offset": 100, "lag": lag, "lag_status": "ok", "is_assigned": True}
        offset |= more[0] if more else {}
        GroupOffset.objects.create(
            group=group,
            topic="orders",
            partition=i,
            committed_since=since,
            changed_at=NOW,
            **offset,
        )
    return group


@dataclass
class Checking:
    """Rounds of the area by a clock that can be set; every round finds newly read groups."""

    cluster: object
    now: datetime = NOW
    memory: dict = field(default_factory=dict)

    def judge(self, passed_s=0.0, jump_s=0.0, *, is_read=True):
        self.now += timedelta(seconds=passed_s + jump_s)
        if is_read:
            CollectionRound.objects.filter(noun=Noun.GROUPS).update(succeeded_at=self.now)
        # As the round of all checks clamps it.
        given = Given(self.now, Settings(), min(max(passed_s + jump_s, 0), 60), self.memory)
        judged = list(groups.judge(given))
        self.memory = json.loads(json.dumps(given.memory))
        return judged

    def codes(self, *steps, **more):
        return {one.code for part in self.judge(*steps, **more) for one in part.found}


@pytest.fixture
def cluster():
    cluster = make_cluster()
    make_round(cluster, Noun.GROUPS)
    return cluster


@pytest.fixture
def checking(cluster):
    return Checking(cluster)


def test_a_cluster_whose_groups_are_not_read_any_more_is_not_judged(cluster, checking):
    make_group(cluster, partitions=[(10, NOW - minutes(30))])
    assert checking.codes() == {"group_commits_stopped"}
    assert checking.judge(60, is_read=False) == []


def test_a_cluster_is_not_judged_while_groups_may_be_missing(cluster, checking):
    CollectionRound.objects.update(error="Groups may be missing, not every coordinator answered.")
    assert checking.judge() == []


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        pytest.param({}, {"group_commits_stopped"}, id="a consumer group"),
        pytest.param({"protocol": ""}, {"group_commits_stopped"}, id="a group that only commits"),
        pytest.param(
            {"type": "streams", "protocol": "streams"}, {"group_commits_stopped"}, id="streams"
        ),
        pytest.param({"protocol": "connect"}, set(), id="workers of Connect"),
        pytest.param({"protocol": "share", "type": "share"}, set(), id="a share group"),
        pytest.param({"error": "committed offsets could not be read"}, set(), id="not read"),
        pytest.param({"error": "Beyond the limits: 3 partitions"}, set(), id="a part is not known"),
    ],
)
def test_groups_that_are_judged(cluster, checking, fields, codes):
    make_group(cluster, partitions=[(10, NOW - minutes(30))], **fields)
    assert checking.codes() == codes


def test_findings_of_a_group_that_could_not_be_read_stay_open(cluster, checking):
    group = make_group(cluster, partitions=[(10, NOW - minutes(30))])
    (found,) = checking.judge()[0].found
    row = {name: getattr(found, name) for name in ("code", "sentence", "subject", "evidence")}
    times = {"opened_at": NOW, "last_seen_at": NOW}
    Finding.objects.create(kind="checks", cluster=cluster, severity=found.severity, **row, **times)
    Group.objects.update(error="committed offsets could not be read")
    assert checking.codes(10) == {"group_commits_stopped"}
    Group.objects.update(error="")
    GroupOffset.objects.filter(group=group).update(committed_since=checking.now)
    assert checking.codes(10) == set()


def test_a_partition_that_is_stuck_and_offline_names_its_brokers_while_topics_are_read(
    cluster, checking
):
    make_round(cluster, Noun.TOPICS, succeeded_at=NOW)
    make_group(cluster, partitions=[(10, NOW - minutes(30)), (0, NOW)])
    topic = Topic.objects.create(cluster=cluster, name="orders", changed_at=NOW)
    Partition.objects.create(
        cluster=cluster, topic=topic, partition=0, isr=[3], severity=4, changed_at=NOW
    )
    (found,) = checking.judge()[0].found
    assert (found.code, found.subject) == ("group_partition_stuck", "billing orders-0")
    assert (found.brokers, found.evidence["offline"]) == ((3,), True)
    (found,) = checking.judge(60)[0].found
    assert (found.brokers, found.evidence.get("offline")) == ((), None)


@pytest.mark.parametrize(
    ("configs", "codes"),
    [
        pytest.param({"retention.ms": "3600000"}, {"group_retention"}, id="by age"),
        pytest.param({"retention.ms": "-1"}, set(), id="never"),
        pytest.param({}, set(), id="not read yet"),
        pytest.param(
            {"retention.ms": "3600000", "cleanup.policy": "compact"}, set(), id="only compacted"
        ),
        pytest.param(
            {"retention.ms": "3600000", "cleanup.policy": "compact,delete"},
            {"group_retention"},
            id="compacted and deleted",
        ),
    ],
)
def test_retention_is_that_of_the_topic(cluster, checking, configs, codes):
    Topic.objects.create(cluster=cluster, name="orders", configs=configs, changed_at=NOW)
    first_ms = int((NOW - minutes(55)).timestamp() * 1000)
    make_group(cluster, partitions=[(10, NOW, {"next_timestamp_ms": first_ms})])
    assert checking.codes() == codes


def test_growing_lag_is_found_within_the_window_and_only_judged_from_then_on(cluster, checking):
    group = make_group(cluster, partitions=[(100, NOW)])
    found_after = None
    for i in range(100):
        lag = 100 + 10 * i
        Group.objects.filter(pk=group.pk).update(lag=lag)
        GroupOffset.objects.update(committed_since=checking.now)
        (judged,) = checking.judge(10)
        if any(one.code == "group_lag_growing" for one in judged.found):
            found_after = i * 10
            break
        assert "group_lag_growing" not in judged.codes
    assert 600 <= found_after <= 900


def test_members_that_are_gone_are_found_after_five_minutes(cluster, checking):
    make_group(cluster, partitions=[(10, NOW)])
    checking.judge()
    Group.objects.update(member_count=0)
    found = [checking.codes(30) for _ in range(11)]
    assert [bool(codes) for codes in found] == [False] * 10 + [True]
    assert found[-1] == {"group_members_gone"}


@pytest.mark.parametrize("jump_s", [HOUR, -HOUR], ids=["an hour ahead", "an hour back"])
@pytest.mark.parametrize("is_read", [True, False], ids=["read after it", "read before it"])
def test_a_clock_that_is_set_opens_nothing(cluster, checking, jump_s, is_read):
    Topic.objects.create(
        cluster=cluster, name="orders", configs={"retention.ms": f"{8 * 3_600_000}"}, changed_at=NOW
    )
    first_ms = int((NOW - minutes(350)).timestamp() * 1000)
    recent = {"next_timestamp_ms": first_ms}
    group = make_group(cluster, partitions=[(500, NOW, recent), (500, NOW, recent)])
    Group.objects.filter(pk=make_group(cluster, "idle", partitions=[(5, NOW)]).pk).update(lag=5)
    for _ in range(10):
        GroupOffset.objects.update(committed_since=checking.now)
        assert checking.codes(30) == set()
    Group.objects.filter(pk=group.pk).update(member_count=0)
    assert checking.codes(5) == set()
    assert checking.codes(5, jump_s, is_read=is_read) == set()
    for _ in range(50):
        assert checking.codes(5) == set()


def test_commits_that_stopped_before_the_clock_was_set_back_are_found_after_ten_minutes(
    cluster, checking
):
    make_group(cluster, partitions=[(10, NOW)])
    checking.judge()
    checking.judge(5, -HOUR)
    found = [bool(checking.codes(30)) for _ in range(20)]
    assert found == [False] * 19 + [True]


def test_the_area_has_a_constant_number_of_queries(cluster, checking):
    def count():
        with CaptureQueriesContext(connection) as captured:
            checking.judge(10)
        return len(captured) - 1  # the test's own update

    make_group(cluster, partitions=[(10, NOW)])
    few = count()
    other = make_cluster("west")
    make_round(other, Noun.GROUPS)
    for i in range(5):
        make_group(other, f"group-{i}", partitions=[(10, NOW)] * 3)
    assert count() == few
