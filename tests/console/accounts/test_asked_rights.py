"""What acts later acts with the rights of its request, within those of the moment, or not at all."""

import json
from importlib import import_module

import pytest
from django.apps import apps
from django.db.models import ForeignKey, Model

from console.accounts.asked_rights import acting, rights_asked
from console.accounts.models import AuditEntry, ClusterGrant, ServiceToken, User
from console.availability.promotion.models import Mode, PromotionPolicy
from console.delivery import outbox
from console.frame.errors import ActionRefused
from console.frame.security.access import can, visible
from console.replication.failover import actions as failover
from console.replication.failover import work
from console.replication.failover.models import FailoverPlan
from console.reports import actions as reports
from console.reports.making import building, store
from console.reports.models import Report, Trigger
from jobs.reports.rendering.formats import Format
from tests.console.accounts.acting_later import CASES, a_report, an_apply, now
from tests.console.availability.promotion_world import make_policy, make_short
from tests.console.making import make_cluster, make_flow
from tests.console.replication.failover_world import NAME, PaperClusters
from tests.console.safety.world import bearer, make_person, make_token

pytestmark = pytest.mark.django_db

# What these fields name did something once; nothing acts with their rights.
NAMES_ONLY = {
    "accounts.ClusterGrant.user": "whose grant it is",
    "accounts.ServiceToken.owner": "read with every request that a token makes",
    "accounts.AuditEntry.actor": "who did it",
    "availability.PromotionAction.reverted_by": "asked_with is of the last request: here the revert",
    "availability.PromotionPolicy.created_by": "who wrote it down; it acts for opted_in_by",
    "availability.PromotionStop.by": "who turned the switch",
    "findings.CheckSetting.changed_by": "who set the thresholds",
    "findings.Incident.acknowledged_by": "who acknowledged it, at that moment",
    "findings.Incident.owner": "who works on it",
    "findings.MaintenanceWindow.created_by": "who announced it",
    "findings.Objective.changed_by": "who set the target",
    "notifications.NotificationChannel.changed_by": "a channel is of the installation, like a cluster",
    "notifications.NotificationRoute.changed_by": "a route is of the installation, like a cluster",
    "replication.ReplicationFlow.created_by": "a flow is what the installation wants, like a cluster",
    "tracing.Redrive.applied_by": "who applied it last; its run acts with the rights of that request",
    "tracing.Redrive.created_by": "who created it; a run acts for the person who applied it",
    "schedules.ScheduleFiring.by": "who started it by hand, at that moment",
}


def people_of(model: type[Model]) -> list[str]:
    return [
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey) and field.related_model is User
    ]


def test_every_field_that_names_a_person_is_known_to_act_with_rights_or_only_to_name():
    found = {field for model in apps.get_models() for field in people_of(model)}
    acts = {case.field for case in CASES.values()}
    assert found == acts | set(NAMES_ONLY)
    for field in acts:
        assert apps.get_model(field.rpartition(".")[0])._meta.get_field("asked_with")


def asker_with_token() -> tuple[User, ServiceToken]:
    ada = make_person("ada", "admin")
    token, _ = make_token(ada, "operator", name="ci")
    ada.acting_token = token
    return ada, token


def revoke(ada: User, token: ServiceToken) -> None:
    ServiceToken.objects.filter(pk=token.pk).update(revoked_at=now())


def expire(ada: User, token: ServiceToken) -> None:
    ServiceToken.objects.filter(pk=token.pk).update(expires_at=now())


def disable(ada: User, token: ServiceToken) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)


def demote(ada: User, token: ServiceToken) -> None:
    User.objects.filter(pk=ada.pk).update(role="none")


ENDINGS = {
    "a revoked token": (revoke, "The token ci ("),
    "an expired token": (expire, ", which requested this, expired at"),
    "a disabled account": (disable, "The account ada, which requested this, is disabled."),
    "a lost role": (demote, "ada, who requested this, no longer has the role"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", CASES)
def test_what_acts_later_is_stopped_by(client, name, ending):
    case, (end, reason) = CASES[name], ENDINGS[ending]
    ada, token = asker_with_token()
    found = case.ask(ada)
    end(ada, token)
    assert reason in case.act(found)
    if case.page is not None:
        client.force_login(make_person("vera", "admin"))
        assert reason in client.get(case.page(found)).content.decode()


@pytest.mark.parametrize("name", ["promotion", "policy that acts", "failover run"])
def test_with_its_rights_it_acts(name):
    case = CASES[name]
    ada, _ = asker_with_token()
    found = case.ask(ada)
    with pytest.raises(AssertionError):
        case.act(found)


def test_rights_of_a_request_do_not_widen_with_those_of_its_person():
    east, dark = make_cluster("east"), make_cluster("dark")
    eva = make_person("eva", east="operator")
    asked = rights_asked(eva)
    ClusterGrant.objects.create(user=eva, cluster=dark, role="admin")
    ClusterGrant.objects.filter(user=eva, cluster=east).update(role="admin")
    later = acting(User.objects.get(pk=eva.pk), asked, "operate", [east.pk])
    assert (can(later, "administer", east.pk), can(later, "view", dark.pk)) == (False, False)
    User.objects.filter(pk=eva.pk).update(role="admin")
    later = acting(User.objects.get(pk=eva.pk), asked, "operate", [east.pk])
    clusters = visible(later, type(east).objects.all())
    assert list(clusters) == [east]


def test_a_removed_grant_narrows_what_was_asked():
    east, west = make_cluster("east"), make_cluster("west")
    eva = make_person("eva", east="operator", west="operator")
    asked = rights_asked(eva)
    eva.cluster_grants.filter(cluster=west).delete()
    later = acting(User.objects.get(pk=eva.pk), asked, "operate", [east.pk])
    assert not can(later, "view", west.pk)
    with pytest.raises(ActionRefused, match="no longer has the role operator on its clusters"):
        acting(User.objects.get(pk=eva.pk), asked, "operate", [west.pk])


def test_what_a_request_could_not_do_its_person_does_not_do_for_it_either():
    east = make_cluster("east")
    ada = make_person("ada", "admin")
    ada.acting_token, _ = make_token(ada, "viewer")
    asked = rights_asked(ada)
    with pytest.raises(ActionRefused, match="with rights that lack the role operator"):
        acting(User.objects.get(pk=ada.pk), asked, "operate", [east.pk])


def test_what_acts_asks_others_with_the_same_rights():
    make_cluster("east")
    ada, token = asker_with_token()
    later = acting(User.objects.get(pk=ada.pk), rights_asked(ada), "operate")
    assert rights_asked(later) == {"role": "operator", "clusters": {}, "token": token.pk}


def test_a_report_of_a_limited_token_tells_of_its_clusters_only(client, settings, tmp_path):
    settings.REPORT_FOLDER = str(tmp_path)
    seen, _ = make_flow("seen"), make_flow("hidden", source="dark", target="west")
    ada = make_person("ada", "admin")
    token, secret = make_token(ada, "operator", clusters=[seen.source, seen.target])
    wish = {
        "kind": "replication",
        "name": "All",
        "subjects": [],
        "formats": ["json"],
        "recipients": [{"channel": "folder", "address": "out"}],
    }
    made = client.post(
        "/api/v1/reports/", wish, content_type="application/json", headers=bearer(secret)
    )
    assert made.status_code == 201, made.content
    run = reports.queue_run(Report.objects.get(), Trigger.SCHEDULE, now())
    building.claim(run.pk, now())
    building.make(run.pk, now())
    run.refresh_from_db()
    document = json.loads(store.read_file(run, Format.JSON))
    assert document["subjects"] == ["seen"]
    assert "hidden" not in json.dumps(document)
    assert {one.alias for one in run.clusters.all()} == {"east", "west"}
    token.revoked_at = now()
    token.save()
    assert outbox.deliver_due(now()) == 0
    assert list(tmp_path.rglob("*.json")) == []


def test_a_limited_token_neither_sees_nor_changes_other_reports_of_its_owner(client):
    flow = make_flow("to west")
    ada = make_person("ada", "admin")
    report = reports.create_report({"kind": "replication", "name": "Mine"}, ada, now())
    _, secret = make_token(ada, "operator", clusters=[flow.source, flow.target])
    path, change = f"/api/v1/reports/{report.pk}/", {"name": "Other"}
    headers = bearer(secret)
    assert client.get("/api/v1/reports/", headers=headers).json()["results"] == []
    answers = [
        client.get(path, headers=headers),
        client.patch(path, change, content_type="application/json", headers=headers),
        client.post(f"{path}run/", {}, content_type="application/json", headers=headers),
        client.delete(path, headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    report.refresh_from_db()
    assert report.name == "Mine"


def test_a_report_that_was_stopped_becomes_that_of_the_person_who_saves_it():
    ada, token = asker_with_token()
    report = a_report(ada)
    revoke(ada, token)
    otto = make_person("otto", "operator")
    saved = reports.change_report(report.pk, {"name": "Weekly"}, otto)
    assert (saved.owner, saved.asked_with["token"]) == (otto, None)
    assert reports.queue_run(saved, Trigger.SCHEDULE, now()).person == otto


def test_a_change_by_a_token_leaves_the_rights_of_a_report_as_they_are():
    ada, _ = asker_with_token()
    signed_in = User.objects.get(pk=ada.pk)
    report = a_report(signed_in)
    saved = reports.change_report(report.pk, {"name": "Other"}, ada)
    assert saved.asked_with == rights_asked(signed_in)


def test_an_upgrade_gives_reports_of_tokens_the_limits_of_their_token():
    migration = import_module("console.reports.migrations.0003_narrow_what_tokens_asked")
    east = make_cluster("east")
    ada = make_person("ada", "admin")
    token, _ = make_token(ada, "operator", clusters=[east])
    wide, narrow = (
        reports.create_report({"kind": "replication", "name": name}, ada, now())
        for name in ("Mine", "Of the token")
    )
    Report.objects.update(asked_with={})
    for report, name in ((wide, ""), (narrow, f"ci ({token.prefix})")):
        AuditEntry.objects.create(
            at=now(), action="report.create", subject=f"report:{report.pk}", token_name=name
        )
    migration.narrow(apps, None)
    found = dict(Report.objects.values_list("pk", "asked_with"))
    assert found[wide.pk] == {}
    assert found[narrow.pk] == rights_asked(narrowed(ada, token))


def test_an_upgrade_gives_policies_that_a_token_switched_on_the_limits_of_their_token(client):
    migration = import_module("console.reports.migrations.0003_narrow_what_tokens_asked")
    cluster = make_short()
    own = make_policy(cluster, pattern="clicks", mode=Mode.ACT, opted_in_at=now())
    token, secret = make_token(make_person("ada", "admin"), "operator", clusters=[cluster])
    wish = {"pattern": "orders", "allowed_brokers": [3], "mode": "act", "confirm": "orders"}
    route, wish = "/api/v1/promotion-policies/", {**wish, "cluster": cluster.alias}
    made = client.post(route, wish, content_type="application/json", headers=bearer(secret))
    assert made.status_code == 201, made.content
    PromotionPolicy.objects.update(asked_with={})
    migration.narrow(apps, None)
    found = dict(PromotionPolicy.objects.values_list("pk", "asked_with"))
    assert found == {made.json()["id"]: rights_asked(narrowed(token.owner, token)), own.pk: {}}


def narrowed(person: User, token: ServiceToken) -> User:
    found = User.objects.get(pk=person.pk)
    found.acting_token = token
    return found


def test_the_trail_names_the_token_through_which_something_acts_later():
    ada, token = asker_with_token()
    run = an_apply(ada)
    work.carry_out(run.pk, now(), PaperClusters())
    entry = AuditEntry.objects.get(action="failover.ended")
    assert entry.token_name == f"ci ({token.prefix})"


def test_a_plan_whose_person_does_not_see_where_it_comes_from_any_more_is_taken_over():
    flow = make_flow("to west")
    eva = make_person("eva", east="viewer", west="operator")
    plan = failover.create_plan(flow, {"name": NAME, "groups": [".*"]}, eva, now())
    eva.cluster_grants.filter(cluster=flow.source).delete()
    otto = make_person("otto", "operator")
    failover.refresh_plan(FailoverPlan.objects.get(pk=plan.pk), otto)
    work.read_plan(plan.pk, now(), PaperClusters())
    plan.refresh_from_db()
    assert (plan.created_by, plan.state, plan.error) == (otto, "ready", "")
