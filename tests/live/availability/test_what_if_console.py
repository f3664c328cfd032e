"""The page of what-if beside a real cluster: what it says of a site is what is collected after its death."""

import pytest
from django.utils import timezone

from console.availability.placements.models import TopicPlacement
from console.clusters import actions
from console.clusters.collection import collect
from console.clusters.models import Noun, Partition
from console.quorum.models import QuorumStatus
from console.quorum.voters import collect as quorum
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.console.availability.placed_world import document
from tests.live.availability.drills import Drill
from tests.waiting import eventually

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

# Three voters at the site that stays: a dead broker is fenced after six seconds.
RACKS = ("stays", "stays", "stays", "dies")
SETTINGS = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}
TOPICS = {
    "both-sites": ([1, 2, 4], {"min.insync.replicas": "2"}),
    "led-from-there": ([4, 1, 2], {"min.insync.replicas": "2"}),
    "all-asked": ([4, 2, 3], {"min.insync.replicas": "3"}),
    "only-there": ([4], {"min.insync.replicas": "1"}),
    "not-there": ([2, 3], {"min.insync.replicas": "2"}),
}
LOST = "/availability/drill/what-if/?steps=lose:rack:dies&show=all"


@pytest.fixture
def lab(kafka, tmp_path):
    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("drill", 4, base_port, racks=RACKS, overrides=SETTINGS)]

    started = Lab(tmp_path / "lab", plans(find_base_port(plans)), jvm=kafka)
    started.start()
    yield started
    started.kill()


def look(row) -> None:
    """Collect what the page is made of, as the worker does."""
    for noun in (Noun.BROKERS, Noun.TOPICS):
        row.rounds.filter(noun=noun).update(claimed_until=None)
    collect.collect_cluster(row.pk)
    QuorumStatus.objects.update(claimed_until=None)
    quorum.collect_quorum(row.pk)


def collected(row) -> dict[str, tuple[int | None, frozenset[int]]]:
    rows = Partition.objects.filter(cluster=row, topic__name__in=TOPICS)
    return {
        name: (leader, frozenset(isr))
        for name, leader, isr in rows.values_list("topic__name", "leader", "isr")
    }


def test_what_the_page_says_of_a_site_is_what_is_collected_after_it_died(lab, client, admin):
    cluster = lab.cluster("drill")
    Drill(cluster, TOPICS).make_topics()
    values = {"alias": "drill", "bootstrap_servers": cluster.bootstrap_servers}
    row = actions.create_cluster(values, timezone.now())
    look(row)
    TopicPlacement.objects.create(
        cluster=row, pattern="both-sites", document=document({"stays": 2, "dies": 1}),
        created_at=timezone.now(), changed_at=timezone.now(),
    )  # fmt: skip
    client.force_login(admin)
    answer = client.get(LOST)
    predicted = {
        one.topic: (one.after.leader, frozenset(one.after.isr))
        for one in answer.context["answer"].partitions(lambda one: True)
        if one.topic in TOPICS
    }
    assert predicted["only-there"][0] is None
    assert predicted["led-from-there"][0] in {1, 2}
    assert answer.context["answer"].quorum.has_majority

    cluster.node(4).kill()
    known = {name: told for name, told in predicted.items() if name != "only-there"}

    def came_true() -> bool:
        look(row)
        seen = collected(row)
        return all(seen[name] == told for name, told in known.items())

    eventually(came_true, 60, every=1)
    assert collected(row)["only-there"][0] is None
    shown = client.get("/availability/drill/placements/").context["topics"].rows
    assert [(one.name, one.is_wrong) for one in shown] == [("both-sites", True)]
