"""What is wanted of a report, checked at its fields."""

import pytest

from console.reports.actions import change_report, create_report, delete_report
from console.reports.models import Report
from console.schedules.models import Schedule
from jobs.cluster.errors import InvalidFields
from tests.console.making import make_flow, make_user
from tests.console.reports.making.worlds import NOW, make_report
from tests.console.schedules.making import make_schedule

pytestmark = pytest.mark.django_db
GIVEN = {"kind": "disaster-recovery", "name": "Weekly"}


def test_what_is_left_out_has_its_default(operator):
    report = create_report(GIVEN, operator, NOW)
    told = (report.period, report.time_zone, report.formats, report.subjects, report.recipients)
    assert told == ("last-week", "UTC", ["pdf"], [], [])
    assert report.owner == operator


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param({"kind": "weather"}, "kind", id="no such kind"),
        pytest.param({"kind": "audit-trail"}, "kind", id="a kind for admins"),
        pytest.param({"name": " "}, "name", id="no name"),
        pytest.param({"name": "a\u202eb"}, "name", id="a mark that turns the direction"),
        pytest.param({"subjects": ["nowhere"]}, "subjects", id="no such flow"),
        pytest.param({"subjects": "orders"}, "subjects", id="one name instead of a list"),
        pytest.param({"period": "tomorrow"}, "period", id="no such period"),
        pytest.param({"time_zone": "Mars/Olympus"}, "time_zone", id="no such zone"),
        pytest.param({"formats": []}, "formats", id="no format"),
        pytest.param({"formats": ["docx"]}, "formats", id="another format"),
        pytest.param({"paper": "a0"}, "paper", id="another paper"),
        pytest.param({"keep_days": 0}, "keep_days", id="kept for no day"),
        pytest.param({"keep_days": 99999}, "keep_days", id="kept for ever"),
        pytest.param(
            {"recipients": [{"channel": "email", "address": "no-address"}]},
            "recipients",
            id="no mailbox",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_field(operator, changed, field):
    with pytest.raises(InvalidFields) as refused:
        create_report(GIVEN | changed, operator, NOW)
    assert list(refused.value.errors) == [field]
    assert not Report.objects.exists()


def test_a_flow_that_the_person_does_not_see_is_not_there():
    make_flow("hidden")
    with pytest.raises(InvalidFields, match="There is no flow hidden"):
        create_report(GIVEN | {"subjects": ["hidden"]}, make_user("none"), NOW)


def test_a_change_keeps_what_it_does_not_name(operator):
    flow = make_flow("orders")
    report = make_report(operator, subjects=["orders"], paper="letter")
    changed = change_report(report.pk, {"name": "Other"}, operator)
    assert (changed.name, changed.paper, changed.subjects) == ("Other", "letter", [flow.pk])


def test_a_report_without_an_owner_becomes_that_of_who_saves_it(operator, admin):
    report = make_report(operator)
    Report.objects.filter(pk=report.pk).update(owner=None)
    assert change_report(report.pk, {}, admin).owner == admin


def test_a_report_with_an_owner_keeps_it(operator, admin):
    assert change_report(make_report(operator).pk, {}, admin).owner == operator


def test_its_schedules_are_deleted_with_it(operator):
    report, other = make_report(operator), make_report(operator)
    for one in (report, other):
        make_schedule(operator, kind="report", arguments={"report": one.pk})
    delete_report(report.pk, operator)
    assert [one.arguments for one in Schedule.objects.all()] == [{"report": other.pk}]
