from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied

from console.accounts.asked_rights import rights_asked
from console.accounts.models import AuditEntry, ClusterGrant, Role, User
from console.frame.errors import ActionRefused
from console.runs.actions import launch_run
from console.runs.analyses.actions import ask, start_scheduled
from console.runs.analyses.questions import read_question, scheduled_question
from console.runs.models import Run, RunState
from jobs.cluster.errors import InvalidFields
from jobs.spark import contract
from tests.console.making import NOW, make_user
from tests.console.runs.analyses.making import KIND, make_queued, make_source, question

pytestmark = pytest.mark.django_db


@pytest.fixture
def otto():
    make_source()
    return make_user(Role.OPERATOR)


def test_a_question_is_checked_and_is_about_its_log(otto):
    log = make_source()
    asked = read_question(KIND, {"log": "east", "most": "7"}, otto)
    assert (asked.subject, asked.title) == (f"log:{log.pk}", "Leaders: east")
    assert (asked.arguments["most"], asked.arguments["by"]) == (7, "leader")


@pytest.mark.parametrize(
    ("kind", "given", "name"),
    [
        ("nothing", {}, "kind"),
        (KIND, {}, "log"),
        (KIND, {"log": "nowhere"}, "log"),
        (KIND, {"log": "east", "most": 101}, "most"),
        (KIND, {"log": "east", "by": "rack"}, "by"),
        (KIND, {"log": "east", "speed": 1}, "speed"),
        (KIND, {"log": "east", "from": "2026-02-01", "to": "2026-01-01"}, "to"),
    ],
    ids=["kind", "missing", "unknown log", "too many", "no choice", "unknown", "window"],
)
def test_what_is_wrong_is_reported_at_its_argument(otto, kind, given, name):
    with pytest.raises(InvalidFields) as wrong:
        read_question(kind, given, otto)
    assert list(wrong.value.errors) == [name]


def test_a_log_that_is_not_visible_looks_like_one_that_does_not_exist():
    make_source()
    with pytest.raises(InvalidFields, match="There is no metadata log east"):
        read_question(KIND, {"log": "east"}, make_user(Role.NONE))


def test_a_person_who_may_only_look_asks_nothing():
    make_source()
    with pytest.raises(PermissionDenied):
        read_question(KIND, {"log": "east"}, make_user(Role.VIEWER))


def test_a_grant_on_the_cluster_is_enough():
    log, person = make_source(), make_user(Role.NONE)
    ClusterGrant.objects.create(user=person, cluster=log.cluster, role=Role.OPERATOR)
    assert read_question(KIND, {"log": "east"}, person).subject == f"log:{log.pk}"


def test_an_imported_log_needs_the_right_everywhere():
    log, person = make_source(), make_user(Role.NONE)
    ClusterGrant.objects.create(user=person, cluster=log.cluster, role=Role.ADMIN)
    log.name, log.cluster = "_incident", None
    log.save()
    with pytest.raises(InvalidFields, match="There is no metadata log _incident"):
        read_question(KIND, {"log": "_incident"}, person)


def test_asking_queues_a_run_and_is_audited(otto):
    done = ask(question(topic="orders"), otto, NOW)
    assert (done.is_new, done.run.state, done.run.kind) == (True, RunState.QUEUED, KIND)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.after["topic"]) == ("run.start", "orders")


def test_the_same_question_has_one_live_run(otto):
    first = ask(question(), otto, NOW)
    second = ask(question(), otto, NOW)
    assert (second.is_new, second.run) == (False, first.run)
    assert Run.objects.count() == 1


def test_a_question_that_its_own_person_may_not_ask_any_more_becomes_that_of_the_next(otto):
    left = make_user(Role.OPERATOR, "left")
    run = ask(question(), left, NOW).run
    User.objects.filter(pk=left.pk).update(is_active=False)
    again = ask(question(), otto, NOW)
    assert (again.is_new, again.run.pk, again.run.requested_by) == (False, run.pk, otto)
    assert again.run.asked_with == rights_asked(otto)


def test_another_question_about_the_same_log_waits_beside_it(otto):
    assert ask(question(), otto, NOW).is_new
    assert ask(question(most=3), otto, NOW).is_new


def test_an_ended_question_can_be_asked_again(otto):
    make_queued(state=RunState.SUCCEEDED)
    assert ask(question(), otto, NOW).is_new


def test_a_read_only_console_asks_nothing(otto, settings):
    settings.CROSSLOG_READ_ONLY = True
    with pytest.raises(ActionRefused, match="read-only"):
        ask(question(), otto, NOW)


def test_a_schedule_asks_in_the_name_of_a_person(otto):
    run = start_scheduled({"kind": KIND, "arguments": {"log": "east"}}, otto, NOW)
    assert (run.requested_by, run.state) == (otto, RunState.QUEUED)


def test_what_a_schedule_keeps_can_be_asked_again(otto):
    given = {"log": "east", "from": "2026-01-01", "most": "3"}
    kept = scheduled_question({"kind": KIND, "arguments": given})
    assert (kept["arguments"]["from"], kept["arguments"]["most"]) == ("2026-01-01T00:00:00Z", 3)
    assert scheduled_question(kept) == kept
    assert (
        start_scheduled(kept, otto, NOW).question_key
        == question(**{n: v for n, v in given.items() if n != "log"}).key
    )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "kind"),
        ({"kind": KIND, "arguments": [1]}, "arguments"),
        ({"kind": KIND, "arguments": {"log": "east", "most": 0}}, "most"),
    ],
    ids=["no kind", "no object", "out of bounds"],
)
def test_a_schedule_of_a_wrong_question_is_refused(given, name):
    with pytest.raises(InvalidFields) as wrong:
        scheduled_question(given)
    assert list(wrong.value.errors) == [name]


def test_the_job_gets_the_folders_of_log_and_tables(otto, launcher, settings):
    run = ask(question(most=3), otto, NOW).run
    assert launch_run(run.pk, NOW, launcher)
    spec = contract.read_spec(launcher.started[0])
    log = make_source()
    assert spec.arguments["arguments"]["log"] == str(
        settings.CROSSLOG_ARCHIVE / "metadata" / str(log.pk)
    )
    assert spec.arguments["tables"] == str(settings.CROSSLOG_ARCHIVE / "analyses" / str(run.pk))
    assert spec.arguments["arguments"]["most"] == 3


def test_a_log_that_was_removed_meanwhile_ends_the_run_with_a_reason(otto, launcher):
    run = ask(question(), otto, NOW).run
    make_source().cluster.delete()
    assert not launch_run(run.pk, NOW, launcher)
    run.refresh_from_db()
    assert (run.state, launcher.started) == (RunState.FAILED, [])
    assert "The metadata log east was removed" in run.error


def test_a_new_log_of_the_same_name_is_another_one(otto, launcher):
    run = ask(question(), otto, NOW).run
    make_source("west")
    make_source().cluster.delete()
    make_source()
    launch_run(run.pk, NOW + timedelta(seconds=1), launcher)
    run.refresh_from_db()
    assert run.state == RunState.FAILED


def test_without_redis_a_question_is_queued_all_the_same(
    otto, django_capture_on_commit_callbacks, caplog
):
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(question(), otto, NOW).is_new
    assert "Redis is away" in caplog.text


def test_a_person_has_a_few_live_analyses_and_the_same_question_is_still_found(otto):
    first = ask(question(), otto, NOW, at_most=2).run
    ask(question(most=3), otto, NOW, at_most=2)
    with pytest.raises(ActionRefused, match="You have 2 queued or running analyses already"):
        ask(question(most=4), otto, NOW, at_most=2)
    assert ask(question(), otto, NOW, at_most=2).run == first
    assert ask(question(most=4), make_user(Role.OPERATOR, "bo"), NOW, at_most=2).is_new
    Run.objects.filter(pk=first.pk).update(state=RunState.STOPPED)
    assert ask(question(most=5), otto, NOW, at_most=2).is_new


def test_what_reports_and_schedules_ask_has_no_limit_of_number(otto):
    ask(question(), otto, NOW, at_most=1)
    assert ask(question(most=3), otto, NOW).is_new
