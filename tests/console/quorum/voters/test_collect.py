"""Rounds that describe quorums: what is written, what stays when one fails, and the life of findings."""

from datetime import timedelta

import pytest

from console.quorum.models import QuorumFinding, QuorumStatus
from console.quorum.voters import collect
from jobs.cluster.admin.quorum import (
    NoQuorum,
    QuorumDescription,
    QuorumEndpoint,
    QuorumNode,
    QuorumReplica,
)
from jobs.cluster.errors import NotAuthorized
from tests.console.clusters.making import NOW, later, make_cluster

pytestmark = pytest.mark.django_db
NOW_MS = int(NOW.timestamp() * 1000)


def replica(node, end=1000, fetched_ms=0, caught_ms=0, disk="d"):
    times = (None if ms is None else NOW_MS - ms for ms in (fetched_ms, caught_ms))
    return QuorumReplica(node, disk and f"{disk}{node}", end, *times)


def described(*voters, observers=(), leader=1, **fields):
    voters = voters or (replica(1, fetched_ms=None), replica(2), replica(3))
    nodes = tuple(
        QuorumNode(one.id, (QuorumEndpoint("CONTROLLER", f"c{one.id}.example", 9093),))
        for one in voters
    )
    values = {"leader_epoch": 7, "high_watermark": 999, "described_at_ms": NOW_MS} | fields
    return QuorumDescription(
        leader, voters=tuple(voters), observers=tuple(observers), nodes=nodes, **values
    )


def run(cluster, answer, now=NOW):
    """Run a round at a moment, due or not, and return the row."""
    QuorumStatus.objects.update(claimed_until=None)

    def door(_connection):
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert collect.collect_quorum(cluster.pk, lambda: now, door)
    return QuorumStatus.objects.get(log__cluster=cluster)


@pytest.fixture
def cluster():
    return make_cluster("east")


def codes():
    return set(QuorumFinding.objects.filter(closed_at=None).values_list("code", "subject"))


def test_a_round_writes_who_leads_and_how_far_everybody_has_come(cluster):
    voters = (replica(1, 1000, None), replica(2, 996, 100, 800), replica(3, 1000, 5))
    row = run(cluster, described(*voters, observers=[replica(9, 990)]))
    assert (row.leader_id, row.leader_epoch, row.high_watermark) == (1, 7, 999)
    assert (row.voter_count, row.observer_count) == (3, 1)
    assert (row.worst_lag, row.worst_lag_ms) == (4, 800)
    assert [one["role"] for one in row.replicas] == ["leader", "voter", "voter", "observer"]
    assert row.replicas[1]["endpoints"] == ["CONTROLLER://c2.example:9093"]
    assert row.replicas[1]["directory_id"] == "d2"


@pytest.mark.parametrize(
    "fault",
    [NotAuthorized("may not describe", cluster="east"), NoQuorum("ZooKeeper", cluster="east")],
    ids=["not allowed", "no quorum"],
)
def test_a_round_that_fails_keeps_what_was_known(cluster, fault):
    run(cluster, described())
    row = run(cluster, fault, later(20))
    assert (row.leader_id, row.described_at) == (1, NOW)
    assert (row.failing_since, row.error_code) == (later(20), fault.code)
    assert run(cluster, fault, later(40)).failing_since == later(20)
    assert run(cluster, described(), later(60)).failing_since is None


def test_what_breaks_inside_is_told_as_a_failure(cluster):
    row = run(cluster, RuntimeError("boom"))
    assert "RuntimeError: boom" in row.error


@pytest.mark.parametrize(
    ("voters", "observers", "found"),
    [
        ([replica(1, fetched_ms=None), replica(2, fetched_ms=60_000)], [], ("voter_silent", "2")),
        ([replica(1, fetched_ms=None), replica(2, None, None, None)], [], ("voter_silent", "2")),
        ([replica(1, fetched_ms=None)], [replica(7)], ("dangling_controller", "7")),
        ([replica(1, fetched_ms=None), replica(2)], [replica(2, disk="new")],
         ("other_directory", "2")),
    ],
    ids=["a voter is silent", "a voter was never there", "a controller without a vote", "a new disk"],
)  # fmt: skip
def test_an_odd_replica_is_a_finding(cluster, voters, observers, found):
    from console.clusters.models import Broker

    Broker.objects.create(cluster=cluster, broker_id=11, changed_at=NOW)
    run(cluster, described(*voters, observers=observers))
    assert found in codes()


def test_a_broker_that_observes_is_not_odd(cluster):
    from console.clusters.models import Broker

    Broker.objects.create(cluster=cluster, broker_id=11, changed_at=NOW)
    row = run(cluster, described(observers=[replica(11)]))
    assert row.replicas[-1]["words"] == []


def test_a_finding_ends_when_it_was_not_seen_for_a_while_with_the_time_it_was_last_seen(cluster):
    silent = described(replica(1, fetched_ms=None), replica(2, fetched_ms=60_000), replica(3))
    run(cluster, silent)
    run(cluster, silent, later(10))
    assert QuorumFinding.objects.get(code="voter_silent").opened_at == NOW
    run(cluster, described(), later(20))
    assert ("voter_silent", "2") in codes()
    run(cluster, described(), later(60))
    row = QuorumFinding.objects.get(code="voter_silent")
    assert (row.opened_at, row.closed_at) == (NOW, later(10))


def test_a_claimed_round_is_left_to_the_worker_that_has_it(cluster):
    run(cluster, described())
    assert not collect.collect_quorum(cluster.pk, lambda: later(1), lambda _: described())
    assert cluster.pk not in collect.due_clusters(later(1))
    assert cluster.pk in collect.due_clusters(NOW + timedelta(minutes=2))


def test_a_disabled_cluster_is_not_asked(cluster):
    type(cluster).objects.update(is_enabled=False)
    assert collect.due_clusters(NOW) == []
    assert not collect.collect_quorum(cluster.pk, lambda: NOW, lambda _: described())


def test_a_high_watermark_that_stands_still_is_found_after_ten_seconds(cluster):
    stuck = described(high_watermark=900)
    run(cluster, stuck)
    run(cluster, described(high_watermark=900, described_at_ms=NOW_MS + 5_000), later(5))
    assert ("high_watermark_stalled", "") not in codes()
    run(cluster, described(high_watermark=900, described_at_ms=NOW_MS + 12_000), later(12))
    assert ("high_watermark_stalled", "") in codes()


def test_a_log_that_names_other_voters_than_the_leader_is_a_finding(cluster):
    from console.quorum.models import MetadataLog
    from tests.console.quorum.making import make_election, make_voter_set, voter

    log = MetadataLog.objects.create(
        cluster=cluster, name="east", created_at=NOW, heard_at=NOW, next_offset=1000, start_offset=0
    )
    make_voter_set(log, 0, 100, *(voter(n, f"d{n}") for n in (1, 2)))
    make_election(log, 1, 90, 1)
    run(cluster, described(high_watermark=1000))
    assert ("log_disagrees", "voters") in codes()
