"""Incidents from round to round: opened, changed, silenced, resolved, removed."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.checks.areas.area import Area, Judged
from console.checks.models import CheckRound
from console.checks.round import due_checks, run_checks
from console.clusters.models import Cluster
from console.findings.incidents import store
from console.findings.incidents.models import Incident, IncidentEvent, MaintenanceWindow
from console.findings.models import Finding
from console.replication.flows.models import ReplicationFlow
from jobs.checks.settings import Settings
from jobs.findings import Finding as Found
from jobs.severity import Severity
from tests.console.findings.rows import make_row
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.jobs.checks.open_rows import probe_checks

pytestmark = pytest.mark.django_db
DOWN = Found(
    "broker_down", Severity.CRITICAL, "Broker 3 (dc-c) of east is down.", "Start it.", "broker 3",
    since=NOW, brokers=(3,), evidence={"broker": 3},
)  # fmt: skip
CODES = ("broker_down", "probe_offline", "probe_at_min")


@pytest.fixture(autouse=True)
def probes():
    with probe_checks():
        yield


def lost(partitions, code="probe_offline"):
    return Found(
        code, Severity.CRITICAL, "Partitions are lost.", subject="3", brokers=(3,),
        evidence={"partitions": partitions},
    )  # fmt: skip


class East:
    """A cluster, and rounds that find something there."""

    def __init__(self):
        self.cluster, self.at = make_cluster(), NOW

    def round(self, *found, after_s=5.0, times=1):
        for _ in range(times):
            self.at += timedelta(seconds=after_s)
            area = Area("probe", lambda given: [Judged(self.cluster, CODES, found)])
            due_checks(self.at)
            CheckRound.objects.update(claimed_until=None)
            assert run_checks(1, lambda: self.at, [area])
        return self

    def seconds(self, moment):
        return (moment - NOW).total_seconds()


@pytest.fixture
def east():
    return East()


def texts():
    rows = IncidentEvent.objects.order_by("pk").values_list("kind", "text")
    return [(kind, text.replace("\xa0", " ")) for kind, text in rows]


def test_an_incident_opens_with_the_second_round_and_is_resolved_with_its_duration(east):
    east.round(DOWN, lost(2))
    assert not Incident.objects.exists()
    east.round(DOWN, lost(2))
    row = Incident.objects.get()
    assert row.sentence.startswith(
        "Broker 3 (dc-c) of east is down since 03:12:00 UTC: 2 partitions"
    )
    assert (row.state, row.began_at, row.brokers) == ("open", NOW, [3])
    assert set(Finding.objects.values_list("incident", flat=True)) == {row.pk}
    east.round(times=5)
    assert Incident.objects.get().state == "open"
    east.round()
    row.refresh_from_db()
    assert (row.state, east.seconds(row.ended_at)) == ("resolved", 10)
    assert [kind for kind, _ in texts()] == ["opened", "resolved"]
    assert texts()[-1][1] == "Resolved after 10 s."


def test_effects_that_outlast_the_broker_s_return_open_nothing(east):
    east.round(DOWN, lost(2), times=2).round(lost(1), times=20)
    row = Incident.objects.get()
    assert row.sentence == "Broker 3 of east down: over. Remaining: 1 partition offline."
    east.round(times=7)
    assert Incident.objects.get().state == "resolved"


def test_effects_that_never_end_become_an_incident_of_their_own(east):
    east.round(DOWN, lost(2), times=2).round(lost(1), after_s=30, times=25)
    assert list(Incident.objects.order_by("pk").values_list("key", "state")) == [
        (f"broker:{east.cluster.pk}:3", "resolved"), (f"partitions:{east.cluster.pk}", "open")
    ]  # fmt: skip


def test_the_timeline_has_what_changed_but_not_every_number(east):
    east.round(DOWN, lost(91), times=2)
    for partitions in (90, 88, 85):
        east.round(DOWN, lost(partitions), after_s=40)
    east.round(DOWN, lost(40), after_s=40)
    east.round(DOWN, lost(40), lost(9, "probe_at_min"), after_s=5, times=2).round(
        DOWN, lost(40), lost(9, "probe_at_min"), after_s=40
    )
    assert [text for kind, text in texts() if kind == "changed"] == [
        "Effects from (91 partitions offline) to (40 partitions offline).",
        "Effects from (40 partitions offline) to (40 partitions offline, 9 at min ISR).",
    ]
    assert Incident.objects.get().sentence.endswith("40 partitions offline, 9 at min ISR.")


@pytest.mark.parametrize("jump_s", [3600, -3600], ids=["ahead", "back"])
def test_a_clock_that_jumps_opens_nothing_and_resolves_nothing(east, jump_s):
    group = Found(
        "probe_group", Severity.CRITICAL, "It lags.", subject="g", evidence={"group": "g"}
    )
    east.round(DOWN, group, times=2).round(group, times=2)
    east.round(group, after_s=jump_s)
    assert list(Incident.objects.values_list("key", "state")) == [
        (f"broker:{east.cluster.pk}:3", "open")
    ]


def test_an_acknowledged_incident_stays_so_and_its_owner_may_be_removed(east):
    user = make_user()
    east.round(DOWN, times=2)
    Incident.objects.update(
        state="acknowledged", acknowledged_at=NOW, acknowledged_by=user, owner=user
    )
    user.delete()
    east.round(DOWN, times=2)
    row = Incident.objects.get()
    assert (row.state, row.owner, row.acknowledged_by) == ("acknowledged", None, None)


def test_a_subject_that_was_deleted_takes_its_incidents_with_it(east):
    east.round(DOWN, times=2)
    Cluster.objects.all().delete()
    assert not Incident.objects.exists()
    assert run_checks(1, lambda: east.at + timedelta(seconds=9), []) in {True, False}


def test_incidents_of_a_cluster_that_is_turned_off_are_resolved(east):
    east.round(DOWN, times=2)
    Cluster.objects.update(is_enabled=False)
    for _ in range(7):
        east.at += timedelta(seconds=5)
        CheckRound.objects.update(claimed_until=None)
        run_checks(1, lambda: east.at, [])
    assert Incident.objects.get().state == "resolved"


def test_a_silence_ends_with_its_time(east):
    east.round(DOWN, times=2)
    Incident.objects.update(
        state="silenced", silenced_until=NOW + timedelta(seconds=20), acknowledged_at=NOW
    )
    east.round(DOWN)
    assert Incident.objects.get().state == "silenced"
    east.round(DOWN, times=2)
    assert Incident.objects.get().state == "acknowledged"
    assert texts()[-1] == ("unsilenced", "The time of the silence is over.")


@pytest.mark.parametrize(
    ("of", "is_silenced"),
    [
        pytest.param("all", True, id="all clusters"),
        pytest.param("east", True, id="this cluster"),
        pytest.param("west", False, id="another cluster"),
    ],
)
def test_a_maintenance_window_silences_incidents_while_it_lasts(east, of, is_silenced):
    MaintenanceWindow.objects.create(
        title="Patches",
        cluster=None if of == "all" else make_cluster(of),
        starts_at=NOW,
        duration_s=30,
        created_at=NOW,
    )
    east.round(DOWN, times=2)
    row = Incident.objects.get()
    assert (row.state, row.window) == (("silenced", "Patches") if is_silenced else ("open", ""))
    east.round(DOWN, times=5)
    assert Incident.objects.get().state == "open"
    kinds = [kind for kind, _ in texts()]
    assert kinds == (["opened", "silenced", "unsilenced"] if is_silenced else ["opened"])


def test_another_beat_that_opened_the_incident_is_not_repeated(east):
    east.round(DOWN)
    memory = CheckRound.objects.get().memory["incidents"]
    for seconds in (10, 11):
        store.save_incidents(NOW + timedelta(seconds=seconds), 5, Settings(), memory)
    assert [kind for kind, _ in texts()] == ["opened"]


def test_findings_of_all_rooms_make_incidents():
    flow = make_flow()
    make_row(flow)
    make_row(flow.source, subject="b")
    memory = {}
    for seconds in (0, 5):
        memory = store.save_incidents(NOW + timedelta(seconds=seconds), 5, Settings(), memory)
    kinds = set(Incident.objects.values_list("subject_kind", flat=True))
    assert kinds == {"flow", "observers"}


def save_many(count):
    """Return the queries of the third round with so many open findings, all changed."""
    flow = make_flow()
    make_row(flow)
    rows = [make_row(make_cluster(f"c{n}"), subject=str(n)) for n in range(count)]
    memory = {}
    for seconds in (0, 5):
        memory = store.save_incidents(NOW + timedelta(seconds=seconds), 5, Settings(), memory)
    Finding.objects.filter(pk__in=[row.pk for row in rows]).update(sentence="It changed.")
    with CaptureQueriesContext(connection) as captured:
        store.save_incidents(NOW + timedelta(seconds=10), 5, Settings(), memory)
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_findings():
    few = save_many(3)
    ReplicationFlow.objects.all().delete()
    Cluster.objects.all().delete()
    assert save_many(30) == few


def test_incidents_are_removed_some_days_after_their_end(east, settings):
    east.round(DOWN, times=2).round(times=7)
    ended = Incident.objects.get().ended_at
    assert store.prune(ended + timedelta(days=settings.INCIDENTS_RETENTION_D)) == 0
    store.prune(ended + timedelta(days=settings.INCIDENTS_RETENTION_D, seconds=1))
    assert not Incident.objects.exists()
    assert Finding.objects.get().incident is None
