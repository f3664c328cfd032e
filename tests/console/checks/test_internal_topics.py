"""Internal topics of no application: what the round reads, and when it does not judge them."""

from datetime import timedelta

import pytest

from console.checks.areas import internal_topics
from console.checks.areas.area import Given
from console.clusters.models import CollectionRound, Group, Noun
from console.replication.flows.models import FlowTopic
from jobs.checks.settings import Setting, Settings
from jobs.limits import CUT_ID
from jobs.streams.audit.orphans import ORPHANS
from tests.console.clusters.making import make_round
from tests.console.making import NOW, make_cluster, make_flow, make_topic

pytestmark = pytest.mark.django_db
AT_ONCE = Settings.of([Setting(ORPHANS.id, {"for_s": 0})])
TOPIC = "shop-totals-changelog"


@pytest.fixture
def cluster():
    one = make_cluster()
    for noun in (Noun.TOPICS, Noun.GROUPS):
        make_round(one, noun, succeeded_at=NOW)
    make_topic(one, TOPIC, record_count=40)
    make_topic(one, "orders")
    return one


def judge(memory=None, passed_s=5.0, settings=AT_ONCE):
    given = Given(NOW, settings, passed_s, memory or {})
    return list(internal_topics.judge(given)), given.memory


def make_group(cluster, name, **fields):
    return Group.objects.create(cluster=cluster, group_id=name, changed_at=NOW, **fields)


def test_a_changelog_of_no_group_is_found(cluster):
    make_group(cluster, "billing")
    (row,), memory = judge()
    assert [one.evidence for one in row.found] == [
        {"topics": [TOPIC], "topic_count": 1, "records": 40}
    ]
    assert memory == {str(cluster.pk): {TOPIC: 0.0}}


def test_the_group_of_its_application_owns_it(cluster):
    make_group(cluster, "shop")
    (row,), memory = judge()
    assert (set(row.codes), row.found, memory) == ({ORPHANS.id}, (), {})


def test_a_topic_that_a_flow_writes_is_no_orphan(cluster):
    flow = make_flow(source="west", target="east")
    FlowTopic.objects.create(flow=flow, topic=TOPIC, remote_topic=TOPIC, updated_at=NOW)
    rows, _ = judge()
    assert [row.found for row in rows if row.scope == cluster] == [()]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"succeeded_at": NOW - timedelta(hours=1)}, id="groups are old"),
        pytest.param({"error": "Groups may be missing, not every coordinator answered."}, id="groups may be missing"),
        pytest.param({"error": "Beyond the limits: 5 groups are left out, a cluster has at most 3."}, id="groups are left out"),
    ],
)  # fmt: skip
def test_a_cluster_whose_groups_are_not_all_known_is_not_judged(cluster, values):
    CollectionRound.objects.filter(noun=Noun.GROUPS).update(**values)
    known = {str(cluster.pk): {TOPIC: 30.0}}
    (row,), memory = judge(known)
    assert (set(row.codes), row.found, memory) == (set(), (), known)


def test_a_cluster_with_a_group_whose_id_is_cut_is_not_judged(cluster):
    make_group(cluster, "sh", error=f"{CUT_ID}it has NUL.")
    (row,), _ = judge()
    assert set(row.codes) == set()
