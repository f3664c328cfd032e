"""Lost preferred leaders are a finding: opened after the controller's interval, closed when they are back."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.availability.advice.round import advise_cluster
from console.availability.collection.collect import take_in
from console.availability.status.models import AvailabilityRound
from console.clusters.models import Broker, CollectionRound, Noun, Partition, Topic
from console.findings.models import Finding
from tests.console.availability.making import Story
from tests.console.availability.promotion_world import Clock, PaperDoor
from tests.console.making import make_cluster

pytestmark = pytest.mark.django_db
SENTENCE = (
    "Leaders are not balanced: broker 3 leads 2 of 29 partitions whose preferred leader it is."
)
PARTITIONS = 29


class Polled:
    """A cluster that rounds read; broker 3 is the first replica of every partition."""

    def __init__(self, clock):
        self.clock = clock
        self.cluster = make_cluster("east")
        for number in (1, 2, 3):
            Broker.objects.create(
                cluster=self.cluster, broker_id=number, host="b", port=9092, is_live=True,
                changed_at=clock.now,
            )  # fmt: skip
        topic = Topic.objects.create(
            cluster=self.cluster, name="orders", partition_count=PARTITIONS, replication_factor=3,
            changed_at=clock.now,
        )  # fmt: skip
        Partition.objects.bulk_create(
            Partition(
                cluster=self.cluster, topic=topic, partition=number, leader=1, replicas=[3, 1, 2],
                isr=[1, 2, 3], isr_count=3, changed_at=clock.now,
            )
            for number in range(PARTITIONS)
        )  # fmt: skip

    def lead(self, count):
        Partition.objects.filter(partition__lt=count).update(leader=3)

    def read(self):
        for noun in Noun.values:
            CollectionRound.objects.update_or_create(
                cluster=self.cluster, noun=noun, defaults={"succeeded_at": self.clock.now}
            )


class Followed:
    """The same by the metadata log."""

    def __init__(self, clock):
        self.clock = clock
        self.story = Story(now=clock.now)
        self.cluster = self.story.cluster
        self.story.brokers(10)
        for number in range(PARTITIONS):
            self.story.partition("orders", number, 0, 1, 2, 3, replicas=[3, 1, 2])

    def lead(self, count):
        for number in range(count):
            self.story.partition("orders", number, 0, 3, 1, 2, replicas=[3, 1, 2])

    def read(self):
        self.story.heard(self.clock.now)
        CollectionRound.objects.update_or_create(
            cluster=self.cluster, noun=Noun.BROKERS, defaults={"succeeded_at": self.clock.now}
        )


@pytest.fixture
def clock():
    return Clock(timezone.now() - timedelta(hours=1))


@pytest.fixture(params=[Polled, Followed], ids=["polled", "from the metadata log"])
def world(request, clock):
    made = request.param(clock)
    made.lead(2)
    return made


def look(world, seconds, *, is_read=True):
    """Look every 20 s for so long."""
    for _ in range(seconds // 20):
        world.clock.go(20)
        if is_read:
            world.read()
            take_in(world.cluster.pk, world.clock)
        advise_cluster(world.cluster.pk, world.clock, PaperDoor(world.clock))


def open_findings():
    return list(Finding.objects.filter(code="leaders_not_balanced", closed_at=None))


def test_a_broker_that_leads_few_of_its_partitions_for_long_is_a_finding(world):
    look(world, 340)
    (found,) = open_findings()
    assert (found.sentence, found.severity, found.subject) == (SENTENCE, "warning", "broker 3")
    servers = world.cluster.bootstrap_servers
    assert (
        f"bin/kafka-leader-election.sh --bootstrap-server {servers} --election-type preferred "
        "--all-topic-partitions"
    ) in found.todo


def test_a_restart_is_no_finding_while_the_controller_has_its_time(world):
    look(world, 300)
    assert open_findings() == []


def test_the_finding_is_over_when_the_leaders_are_back(world):
    look(world, 340)
    world.lead(PARTITIONS)
    look(world, 60)
    assert open_findings() == []
    assert Finding.objects.get(code="leaders_not_balanced").closed_at is not None


def test_rows_that_get_old_open_nothing_and_close_nothing(world):
    look(world, 100)
    look(world, 600, is_read=False)
    assert open_findings() == []
    look(world, 340)
    look(world, 600, is_read=False)
    assert len(open_findings()) == 1


def test_the_findings_and_the_page_of_availability_have_it(world, sign_in, viewer):
    look(world, 340)
    AvailabilityRound.objects.update(succeeded_at=timezone.now())
    client = sign_in(viewer)
    for page in (reverse("findings:list"), reverse("availability:detail", args=["east"])):
        text = client.get(page).content.decode()
        assert SENTENCE in text
        assert "--all-topic-partitions" in text
