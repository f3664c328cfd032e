"""The metrics that alerts are about: incidents, findings, rounds of checks and deliveries."""

from datetime import timedelta

import pytest

from console.checks.models import CheckRound
from console.delivery.models import Delivery
from console.metrics.incidents import alert_samples
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.findings.rows import make_row
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db


def samples(name):
    found = list(alert_samples(lambda rows: rows, NOW))
    given = [(labels, value) for known, labels, value in found if known.name == f"crosslog_{name}"]
    assert len(dict(given)) == len(given), "two samples have the same labels"
    return dict(given)


def open_incidents():
    return {labels: value for labels, value in samples("open_incidents").items() if labels[0]}


def test_without_an_incident_there_is_a_zero_for_each_severity():
    assert samples("open_incidents") == {
        ("", severity, "open", "", ""): 0 for severity in ("info", "warning", "critical")
    }


def test_open_incidents_are_counted_by_check_severity_state_and_place():
    east, flow = make_cluster("east"), make_flow()
    make_incident(cluster=east)
    make_incident(subject="4", cluster=east)
    make_incident(subject="5", cluster=east, state="acknowledged")
    make_incident("flow", "", "warning", flow=flow, check_id="flow_lag", state="silenced")
    make_incident("quorum", "", log=make_log(east), check_id="no_leader")
    make_incident("crosslog", "", "warning", check_id="rounds_late")
    make_incident(subject="6", cluster=east, **resolved())
    assert open_incidents() == {
        ("broker_down", "critical", "open", "east", ""): 2,
        ("broker_down", "critical", "acknowledged", "east", ""): 1,
        ("flow_lag", "warning", "silenced", "", "orders to west"): 1,
        ("no_leader", "critical", "open", "east", ""): 1,
        ("rounds_late", "warning", "open", "", ""): 1,
    }


def test_checks_that_the_catalogue_does_not_have_share_one_label():
    east = make_cluster("east")
    make_incident(cluster=east, check_id="of_another_release")
    make_incident(subject="4", cluster=east, check_id="of_an_older_release")
    assert open_incidents() == {("other", "critical", "open", "east", ""): 2}


@pytest.mark.parametrize(
    ("incident", "state"),
    [
        pytest.param(None, "open", id="of no incident yet"),
        pytest.param({}, "open", id="of an open incident"),
        pytest.param({"state": "acknowledged"}, "acknowledged", id="of an acknowledged incident"),
        pytest.param({"state": "silenced"}, "silenced", id="of a silenced incident"),
        pytest.param(resolved(), "open", id="of an incident that was resolved"),
    ],
)
def test_an_open_finding_has_the_state_of_its_incident(incident, state):
    east = make_cluster("east")
    owner = None if incident is None else make_incident(cluster=east, **incident)
    make_row(east, kind="checks", code="broker_down", incident=owner)
    assert samples("open_findings") == {("broker_down", "critical", state, "east", ""): 1}


def test_a_finding_that_is_over_is_not_counted():
    make_row(make_cluster("east"), closed_at=NOW)
    assert samples("open_findings") == {}


def test_the_age_of_the_checks_is_known_after_their_first_round():
    assert samples("checks_age_seconds") == {}
    CheckRound.objects.create(succeeded_at=NOW - timedelta(seconds=7))
    assert samples("checks_age_seconds") == {(): 7}


def test_deliveries_are_counted_by_channel_with_zeros_for_the_other_states():
    for state in ("pending", "pending", "gave_up"):
        Delivery.objects.create(channel="slack", state=state, address="#kafka", created_at=NOW)
    assert samples("deliveries") == {
        ("slack", "pending"): 2,
        ("slack", "delivered"): 0,
        ("slack", "refused"): 0,
        ("slack", "gave_up"): 1,
    }


def test_the_number_of_queries_is_fixed(django_assert_num_queries):
    east = make_cluster("east")
    for number in range(20):
        make_row(
            east, subject=f"{number}", incident=make_incident(subject=f"{number}", cluster=east)
        )
    with django_assert_num_queries(4):
        samples("open_incidents")


def test_a_viewer_of_one_cluster_scrapes_only_its_incidents_and_no_deliveries(sign_in):
    east, west = make_cluster("east"), make_cluster("west")
    person = make_user("none")
    person.cluster_grants.create(cluster=east, role="viewer")
    flow = make_flow()
    make_incident(cluster=east), make_incident(subject="9", cluster=west)
    make_incident("flow", "", flow=flow, check_id="flow_lag")
    make_incident("crosslog", "", check_id="rounds_late")
    make_row(east), make_row(west), make_row(flow)
    Delivery.objects.create(channel="slack", address="#kafka", created_at=NOW)
    CheckRound.objects.create(succeeded_at=NOW)
    lines = sign_in(person).get("/metrics").content.decode().splitlines()
    names = ('open_incidents{check="', "open_findings{", "deliveries{", "checks_age_seconds ")
    told = [one for one in lines if one.startswith(tuple(f"crosslog_{name}" for name in names))]
    assert [one for one in told if 'check=""' not in one] == [
        'crosslog_open_incidents{check="broker_down",cluster="east",flow="",severity="critical",state="open"} 1.0',
        'crosslog_open_findings{check="promotion_wanted",cluster="east",flow="",severity="critical",state="open"} 1.0',
    ]
