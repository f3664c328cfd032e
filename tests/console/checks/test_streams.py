"""What the round reads of Kafka Streams applications, and when it does not judge them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.checks.areas import streams
from console.checks.areas.area import Given
from console.streams.models import StreamsApplication, StreamsRound
from jobs.checks.settings import Setting, Settings
from jobs.streams.audit.running import CHECKS
from tests.console.making import NOW, make_cluster
from tests.console.streams.making import (
    group,
    make_round,
    make_streams,
    member,
    two_instances,
    without_endpoint,
)

pytestmark = pytest.mark.django_db
ALL = {one.id for one in CHECKS}
AT_ONCE = Settings.of(Setting(code, {"for_s": 0}) for code in ALL)


def judge(memory=None, now=NOW, passed_s=5.0):
    given = Given(now, AT_ONCE, passed_s, memory or {})
    return list(streams.judge(given)), given.memory


def codes():
    return {one.code for row in judge()[0] for one in row.found}


def test_an_application_that_runs_has_no_finding():
    make_streams(make_cluster(), two_instances())
    (row,), memory = judge()
    assert (row.codes, row.found) == (ALL, ())
    assert memory == {}


@pytest.mark.parametrize(
    ("found", "code"),
    [
        pytest.param(group(state="Empty"), "streams_not_running", id="no members"),
        pytest.param(
            two_instances(state="Reconciling"), "streams_rebalancing", id="rebalancing"
        ),
        pytest.param(
            group(member(1, (0, 1)), member(2, (2,))), "streams_tasks_unassigned", id="task without thread"
        ),
    ],
)  # fmt: skip
def test_the_recorded_state_leads_to_its_finding(found, code):
    make_streams(make_cluster(), found)
    assert code in codes()


def test_a_deleted_group_has_no_finding():
    make_streams(make_cluster(), group(state="Empty"))
    StreamsApplication.objects.update(state="Gone", last_seen_at=NOW - timedelta(days=2))
    ((row,), _) = judge()
    assert (row.codes, row.found) == (ALL, ())


def test_a_cluster_without_a_fresh_round_is_not_judged_and_keeps_what_was_waited():
    row = make_streams(make_cluster(), group(state="Empty"))
    StreamsRound.objects.update(succeeded_at=NOW - timedelta(hours=1))
    known = {str(row.pk): {"streams_not_running": 30.0}}
    (judged,), memory = judge(known)
    assert (set(judged.codes), judged.found, memory) == (set(), (), known)


def test_an_application_that_was_not_described_leaves_open_what_was_found_of_it():
    cluster = make_cluster()
    row = make_streams(cluster, group(state="Empty"))
    StreamsApplication.objects.filter(pk=row.pk).update(problem="Not authorized.")
    make_streams(cluster, group(state="Empty", group_id="billing"))
    known = {str(row.pk): {"streams_not_running": 90.0}}
    (judged,), _ = judge(known)
    assert set(judged.codes) == ALL
    assert {key for key in judged.unjudged if key[1] == "shop"} == {(code, "shop") for code in ALL}
    assert [one.subject for one in judged.found] == ["billing"]


@pytest.mark.parametrize("told", [{"form": 0}, {"form": None, "conditions": {"gone": [1, 2]}}])
def test_an_audit_of_another_version_does_not_tell(told):
    row = make_streams(make_cluster(), without_endpoint())
    StreamsApplication.objects.filter(pk=row.pk).update(audit={"conditions": {}, **told})
    ((judged,), _) = judge()
    assert (judged.found, ("streams_keys_misrouted", "shop") in judged.unjudged) == ((), True)


def test_keys_that_the_application_sends_to_the_wrong_instance_are_a_finding():
    make_streams(make_cluster(), without_endpoint())
    assert "streams_keys_misrouted" in codes()


def test_members_that_do_not_take_over_their_tasks_are_found_while_the_group_reconciles():
    behind = member(2, (2, 3), member_epoch=4)
    make_streams(make_cluster(), group(member(1, (0, 1)), behind, state="Reconciling"))
    assert codes() == {"streams_rebalancing", "streams_members_behind"}


def test_an_instance_without_endpoint_is_the_cause_beside_misrouted_keys():
    make_streams(make_cluster(), without_endpoint())
    found = {one.code: one for row in judge()[0] for one in row.found}
    assert set(found) == {"streams_keys_misrouted", "streams_endpoint_missing"}
    cause = found["streams_endpoint_missing"]
    assert "2 of 4 source partitions are visible. It sends 50 % of the keys" in cause.sentence


def test_an_application_that_rebalances_keeps_the_findings_of_its_last_audit():
    row = make_streams(make_cluster(), without_endpoint())
    StreamsApplication.objects.filter(pk=row.pk).update(state="Reconciling")
    ((judged,), _) = judge()
    assert ("streams_keys_misrouted", "shop") in judged.unjudged


def test_more_applications_take_no_more_queries():
    def count():
        with CaptureQueriesContext(connection) as captured:
            judge()
        return len(captured)

    make_streams(make_cluster())
    before = count()
    for number in range(5):
        cluster = make_cluster(f"west-{number}")
        make_round(cluster)
        make_streams(cluster, two_instances(group_id=f"app-{number}"))
    assert count() == before
