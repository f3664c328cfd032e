"""Checkpoints of a real flow between real clusters, beside what is true of every record."""

from functools import partial

import pytest
from django.utils import timezone

from console.clusters import actions as cluster_actions
from console.clusters.collection import collect as cluster_collect
from console.clusters.models import CollectionRound
from console.replication.checkpoints.rounds.collect import collect_readiness
from console.replication.flows import actions
from console.replication.flows.models import FlowReadiness, GroupReadiness
from console.replication.measurement.collect import collect_flow
from console.replication.translation.translator import archive_of
from jobs.cluster.check import check_connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import catch_up, place_of
from tests.live.copiers import copy_all
from tests.live.groups import Rounds, commit, new_group, values_from
from tests.live.records import produce, read_all
from tests.live.topics import new_topic

pytestmark = pytest.mark.django_db


class Watched:
    """A registered flow whose records are copied by this process, and what the console says of it."""

    def __init__(self, east, west, prefix: str) -> None:
        self.east, self.west = east, west
        self.topic = new_topic(east)
        self.source = TopicPartition(self.topic, 0)
        self.remote = TopicPartition(f"east.{self.topic}", 0)
        now = timezone.now()
        for cluster in (east, west):
            values = {
                "alias": cluster.connection.alias,
                "bootstrap_servers": cluster.bootstrap_servers,
            }
            check = partial(check_connection, timeout_s=60)
            cluster_actions.create_cluster(values, now, check=check)
        values = {"name": prefix, "source": "east", "target": "west", "topics": [self.topic]}
        values |= {"groups": [f"{prefix}.*"], "commit_interval_ms": 200}
        self.flow = actions.create_flow(values, None, now)

    def copy(self) -> None:
        copy_all(self.flow.spec(), self.east, self.topic)
        place = place_of(self.flow.spec())
        assert place is not None
        with SyncArchive(archive_of(self.flow)) as archive:
            catch_up(place, archive)

    def write_checkpoints(self, *, sync_groups: bool = False) -> None:
        with Rounds(self.flow.spec()) as rounds:
            rounds.run(sync_groups=sync_groups)

    def look(self) -> dict[str, GroupReadiness]:
        """Run every round that the answer stands on, and return the answers by group."""
        CollectionRound.objects.update(claimed_until=None)
        self.flow.rounds.update(claimed_until=None)
        FlowReadiness.objects.update(claimed_until=None)
        for cluster in (self.flow.source, self.flow.target):
            cluster_collect.collect_cluster(cluster.pk)
        assert collect_flow(self.flow.pk)
        assert collect_readiness(self.flow.pk)
        answer = FlowReadiness.objects.get(flow=self.flow)
        assert answer.error == ""
        return {row.group: row for row in GroupReadiness.objects.filter(flow=self.flow)}

    def truth(self, upstream: int) -> int:
        """Return the offset on the target of the record that a source offset has.

        A reader that goes on at a marker gets the record behind it: the last offset that leads there counts.
        """
        wanted = [record.value for record in read_all(self.east, self.topic)][upstream]
        leads = [o for o in range(upstream, upstream + 9) if self._value_at(o) == wanted]
        return leads[-1]

    def _value_at(self, offset: int) -> bytes | None:
        return values_from(self.west, self.remote, offset, 1)[0]


@pytest.fixture
def watched(east, west, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    return Watched(east, west, new_group("watched"))


def test_the_numbers_of_a_real_flow_are_the_true_ones(watched):
    behind, synced, silent = (new_group(watched.flow.name) for _ in range(3))
    produce(watched.east, watched.topic, 30)
    watched.copy()
    produce(watched.east, watched.topic, 30)
    commit(watched.east, behind, {watched.source: 20})
    commit(watched.east, synced, {watched.source: 30})
    watched.copy()
    watched.write_checkpoints()
    commit(watched.east, behind, {watched.source: 50})
    commit(watched.east, silent, {watched.source: 10})
    commit(watched.west, synced, {watched.remote: watched.truth(30) + 7})
    found = watched.look()
    place = found[behind].partitions[0]
    assert place["lo"] <= watched.truth(50) <= place["hi"]
    assert (found[behind].behind, place["committed"], place["upstream"]) == (30, 50, 20)
    lo, hi = place["reread"]
    assert lo <= watched.truth(50) - place["downstream"] <= hi
    assert (found[synced].readiness, found[synced].reason) == ("blocked", "target_ahead")
    assert found[synced].skipped_lo <= 7 <= found[synced].skipped_hi
    assert (found[silent].reason, found[silent].checkpoint_count) == ("idle", 0)


def test_what_is_not_copied_is_at_risk_with_its_time_and_the_answer_follows(watched):
    group = new_group(watched.flow.name)
    produce(watched.east, watched.topic, 10)
    commit(watched.east, group, {watched.source: 10})
    watched.copy()
    watched.write_checkpoints(sync_groups=True)
    assert watched.look()[group].readiness == "ready"
    produce(watched.east, watched.topic, 5)
    row = watched.look()[group]
    answer = FlowReadiness.objects.get(flow=watched.flow)
    assert (row.rpo_records, answer.rpo_records) == (5, 5)
    assert answer.rpo_ms is not None
    watched.copy()
    assert watched.look()[group].rpo_records == 0


def test_a_later_round_reads_only_what_is_new_of_the_checkpoints(watched):
    group = new_group(watched.flow.name)
    produce(watched.east, watched.topic, 10)
    commit(watched.east, group, {watched.source: 3})
    watched.copy()
    watched.write_checkpoints()
    first = watched.look()[group].partitions[0]["upstream"]
    read_to = FlowReadiness.objects.get(flow=watched.flow).checkpoints_read_to
    commit(watched.east, group, {watched.source: 7})
    watched.write_checkpoints()
    second = watched.look()[group].partitions[0]["upstream"]
    assert (first, second) == (3, 7)
    assert FlowReadiness.objects.get(flow=watched.flow).checkpoints_read_to > read_to
