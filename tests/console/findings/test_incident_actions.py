"""What people do with incidents: state, timeline, audit log, refusals."""

from datetime import timedelta

import pytest

from console.accounts.models import AuditEntry
from console.findings.incidents import actions
from console.findings.incidents.models import State
from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.making import NOW, make_cluster, make_user

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def ada():
    return make_user(name="ada")


@pytest.fixture
def incident():
    return make_incident(cluster=make_cluster())


def done(row):
    return [(one.kind, one.by, one.text) for one in row.events.all()[1:]]


def test_an_acknowledged_incident_says_by_whom(incident, ada):
    row = actions.acknowledge(incident, ada, NOW)
    assert (row.state, row.acknowledged_by, row.acknowledged_at) == ("acknowledged", ada, NOW)
    assert done(row) == [("acknowledged", "ada", "")]


def test_each_action_is_in_the_audit_log_with_what_it_changed(incident, ada):
    actions.set_owner(incident, "ada", ada, NOW)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject) == ("incident.set_owner", f"incident:{incident.pk}")
    assert (entry.cluster, entry.before, entry.after) == ("east", {"owner": ""}, {"owner": "ada"})


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda row, user: actions.acknowledge(row, user, NOW), id="acknowledge"),
        pytest.param(lambda row, user: actions.silence(row, NOW + HOUR, user, NOW), id="silence"),
        pytest.param(lambda row, user: actions.set_owner(row, "ada", user, NOW), id="owner"),
        pytest.param(lambda row, user: actions.set_note(row, "Disk.", user, NOW), id="note"),
    ],
)
def test_the_second_time_changes_nothing(incident, ada, act):
    act(incident, ada)
    act(incident, ada)
    assert len(done(incident)) == 1


def test_silenced_counts_before_acknowledged_and_ends_with_the_silence(incident, ada):
    actions.acknowledge(incident, ada, NOW)
    assert actions.silence(incident, NOW + HOUR, ada, NOW).state == State.SILENCED
    assert actions.unsilence(incident, ada, NOW).state == State.ACKNOWLEDGED
    assert actions.unacknowledge(incident, ada, NOW).state == State.OPEN
    assert [kind for kind, *_ in done(incident)] == [
        "acknowledged",
        "silenced",
        "unsilenced",
        "unacknowledged",
    ]


def test_in_a_maintenance_window_it_stays_silenced(ada):
    row = make_incident(cluster=make_cluster(), window="Upgrade", state="silenced")
    assert actions.acknowledge(row, ada, NOW).state == State.SILENCED


@pytest.mark.parametrize(
    "until", [NOW, NOW - HOUR, NOW + timedelta(days=30, seconds=1)], ids=["now", "past", "far"]
)
def test_a_silence_ends_in_the_next_thirty_days(incident, ada, until):
    with pytest.raises(InvalidFields) as wrong:
        actions.silence(incident, until, ada, NOW)
    assert set(wrong.value.errors) == {"until"}


def test_the_owner_is_removed(incident, ada):
    actions.set_owner(incident, "ada", ada, NOW)
    assert actions.set_owner(incident, "", ada, NOW).owner is None
    assert done(incident)[-1] == ("owner", "ada", "No owner.")


@pytest.mark.parametrize("name", ["nemo", "outsider", "gone"])
def test_the_owner_is_a_user_who_may_see_it(incident, ada, name):
    make_user("none", "outsider")
    gone = make_user("admin", "gone")
    gone.is_active = False
    gone.save()
    with pytest.raises(InvalidFields) as wrong:
        actions.set_owner(incident, name, ada, NOW)
    assert wrong.value.errors == {"owner": f"No user {name} may see this incident."}


def test_an_owner_whose_account_is_removed_leaves_no_owner(incident, ada):
    actions.set_owner(incident, "ada", ada, NOW)
    ada.delete()
    incident.refresh_from_db()
    assert incident.owner is None


def test_of_a_resolved_incident_only_the_note_changes(ada):
    row = make_incident(cluster=make_cluster(), **resolved())
    for act in (actions.acknowledge, actions.unacknowledge, actions.unsilence):
        with pytest.raises(ActionRefused):
            act(row, ada, NOW)
    with pytest.raises(ActionRefused):
        actions.silence(row, NOW + HOUR, ada, NOW)
    with pytest.raises(ActionRefused):
        actions.set_owner(row, "ada", ada, NOW)
    assert actions.set_note(row, "A disk was full.", ada, NOW).state == State.RESOLVED


def test_a_note_has_a_limit(incident, ada):
    with pytest.raises(InvalidFields):
        actions.set_note(incident, "x" * 5001, ada, NOW)
