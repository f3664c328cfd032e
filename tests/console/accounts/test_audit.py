from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from console.accounts.audit import (
    COUNTED,
    MINUTE,
    MOST_OF_STRANGERS,
    MOST_PER_MINUTE,
    audit,
    write_counts,
)
from console.accounts.models import AuditEntry, Outcome, SignInFailures, User
from console.frame.security.masking import mark_of
from tests.console.making import make_cluster, make_flow, make_run
from tests.console.safety.world import AWAY, bearer, make_person, make_token

pytestmark = pytest.mark.django_db


def test_only_what_differs_is_kept():
    entry = audit("flow.change", "flow:a", before={"x": 1, "y": 2}, after={"x": 1, "y": 3})
    assert (entry.before, entry.after) == ({"y": 2}, {"y": 3})


def test_an_entry_cannot_be_changed_or_removed_by_the_application():
    entry = audit("sign-in", "person:vera")
    with pytest.raises(TypeError, match="append-only"):
        entry.save()
    with pytest.raises(TypeError, match="append-only"):
        entry.delete()


def test_the_database_itself_refuses_a_change():
    audit("sign-in", "person:vera")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEntry.objects.update(actor_name="somebody else")
    assert AuditEntry.objects.get().actor_name == ""


def test_the_entry_says_who_from_where_and_in_which_request(client):
    make_cluster("east")
    owner = make_person("ada", "admin")
    token, secret = make_token(owner)
    answer = client.delete("/api/v1/clusters/east/", headers=bearer(secret))
    assert answer.status_code == 204
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject, entry.cluster) == (
        owner,
        "cluster.delete",
        "cluster:east",
        "east",
    )
    assert entry.token_name == f"report ({token.prefix})"
    assert (entry.address, entry.request_id) == ("127.0.0.1", answer["X-Request-ID"])


def settings(**more):
    return {"alias": "north", "bootstrap_servers": "n:9092", "save_unchecked": True} | AWAY | more


ACTIONS = {
    "cluster.create": ("post", "clusters/", settings()),
    "cluster.change": ("patch", "clusters/east/", {"sasl_username": "x", "save_unchecked": True}),
    "cluster.delete": ("delete", "clusters/away/", {}),
    "flow.create": (
        "post",
        "flows/",
        {"name": "n", "source": "west", "target": "east", "topics": ["z"]},
    ),
    "flow.change": ("patch", "flows/{flow}/", {"tasks": 2}),
    "flow.start": ("post", "flows/{flow}/start/", {}),
    "flow.stop": ("post", "flows/{flow}/stop/", {}),
    "flow.delete": ("delete", "flows/{flow}/", {}),
    "run.cancel": ("post", "runs/{run}/cancel/", {}),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_what_people_do_is_written(client, action):
    client.force_login(make_person("ada", "admin"))
    for alias in ("east", "west", "away"):
        make_cluster(alias, **AWAY)
    flow = make_flow()
    run = make_run(flow)
    method, path, body = ACTIONS[action]
    path = f"/api/v1/{path.format(flow=flow.pk, run=run.pk)}"
    answer = getattr(client, method)(path, body, content_type="application/json")
    assert answer.status_code < 300, answer.json()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor_name, entry.outcome) == (action, "ada", "done")


def test_confirming_another_cluster_is_written(client):
    client.force_login(make_person("ada", "admin"))
    make_cluster("east", cluster_id="old", seen_cluster_id="new")
    body = {"cluster_id": "new"}
    client.post("/api/v1/clusters/east/confirm-cluster-id/", body, content_type="application/json")
    entry = AuditEntry.objects.get()
    assert (entry.before, entry.after) == ({"cluster_id": "old"}, {"cluster_id": "new"})


def test_what_was_refused_is_not_written_as_done(client):
    client.force_login(make_person("ada", "admin"))
    make_flow()
    assert client.delete("/api/v1/clusters/east/").status_code == 409
    assert not AuditEntry.objects.exists()


def test_page_export_and_route_show_the_trail(client):
    client.force_login(make_person("ada", "admin"))
    audit("flow.start", "flow:=HYPERLINK(1)")
    audit("sign-in", "person:vera", outcome="failed")
    assert "flow.start" in client.get("/audit/").content.decode()
    rows = b"".join(client.get("/audit/?format=csv&outcome=done").streaming_content).decode()
    assert "flow:=HYPERLINK(1)" in rows
    assert "person:vera" not in rows
    found = client.get("/api/v1/audit-trail/?outcome=failed").json()["results"]
    assert [entry["subject"] for entry in found] == ["person:vera"]


def test_values_are_shown_as_people_write_them(client):
    client.force_login(make_person("ada", "admin"))
    after = {"formats": ["pdf", "csv"], "with_before": False, "none": [], "name": "weekly"}
    audit("report.create", "report:weekly", after=after)
    page = client.get("/audit/").content.decode()
    assert "pdf, csv" in page
    assert "</span> no" in page
    assert "[&#x27;pdf" not in page


def test_an_entry_of_a_background_task_has_no_person():
    entry = audit("flow.start", "flow:a")
    assert (entry.actor, entry.actor_name, entry.address) == (None, "", "")


def test_who_did_it_can_be_said():
    vera = make_person("vera")
    assert audit("sign-in", "person:vera", by=vera).actor == vera
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")
    assert audit("sign-in", "person:vera", by=request).address == "192.0.2.1"


def run_0008() -> None:
    """Mask what is there, as the migration does."""
    connection.check_constraints()
    with connection.cursor() as cursor:
        editor = SimpleNamespace(connection=connection, execute=cursor.execute)
        import_module("console.accounts.migrations.0008_mask_addresses_in_old_entries").mask(
            apps, editor
        )


def test_entries_of_before_are_masked_and_stay_guarded():
    """What older releases wrote: the trail is released for the migration only."""
    hook = "https://hooks.example/PLANTED?PLANTED"
    recipients = [
        {"channel": "webhook", "address": hook},
        {"channel": "email", "address": "ops@a.example"},
    ]
    old = AuditEntry(
        at=timezone.now(), action="report.change", subject=f"to {hook}", actor=make_person("ada")
    )
    old.before, old.after = {"recipients": recipients}, {"recipients": [], "name": "Weekly"}
    old.save()
    for masked_before in (False, True):
        entries = AuditEntry.objects.values("subject", "before", "after")
        before = entries.get()
        assert ("PLANTED" not in str(before)) is masked_before
        run_0008()
    assert entries.get() == before
    assert (
        before["before"]["recipients"][0]["address"] == f"https://hooks.example/… {mark_of(hook)}"
    )
    assert before["after"] == {"recipients": [], "name": "Weekly"}
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEntry.objects.update(actor_name="somebody else")


def test_the_mailbox_of_a_test_of_before_is_masked():
    sentence = "mail:25 refused ops@a.example: 550 no such user ops@a.example."
    row = AuditEntry(
        at=timezone.now(), action="report.test_delivery", subject="email ops@a.example"
    )
    row.after = {"sentence": sentence}
    row.save()
    run_0008()
    shown = f"o…@a.example {mark_of('ops@a.example')}"
    kept = AuditEntry.objects.get()
    assert kept.subject == f"email {shown}"
    assert kept.after == {"sentence": sentence.replace("ops@a.example", shown)}


def test_the_address_of_a_webhook_is_not_kept():
    hook = "https://hooks.example/PLANTED"
    entry = audit("report.create", "report:1", after={"recipients": [{"address": hook}]})
    assert entry.after == {"recipients": [{"address": f"https://hooks.example/… {mark_of(hook)}"}]}


def refuse(times: int, client=None, **headers) -> None:
    """Ask for what is not allowed, so many times within a minute."""
    client = client or Client()
    for _ in range(times):
        answer = client.delete("/api/v1/promotion-policies/4711/", **headers)
        assert answer.status_code in {401, 403, 404}


def test_of_many_refused_requests_of_a_person_the_trail_keeps_some_and_one_count(client):
    vera = make_person("vera")
    client.force_login(vera)
    refuse(MOST_PER_MINUTE + 30, client)
    assert AuditEntry.objects.count() == MOST_PER_MINUTE
    assert write_counts(timezone.now()) == 0
    assert write_counts(timezone.now() + MINUTE) == 1
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor, entry.outcome, entry.subject) == (
        COUNTED, vera, "refused", "person:vera"
    )  # fmt: skip
    assert entry.after["attempts"] == 30
    assert write_counts(timezone.now() + 2 * MINUTE) == 0


def test_the_first_refused_request_after_a_minute_writes_the_count_of_the_one_before(client):
    client.force_login(make_person("vera"))
    refuse(MOST_PER_MINUTE + 5, client)
    SignInFailures.objects.update(since=timezone.now() - MINUTE)
    refuse(1, client)
    kept = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert [one == COUNTED for one in kept] == [False] * MOST_PER_MINUTE + [True, False]


def test_one_person_does_not_use_up_what_is_written_of_another():
    for name in ("vera", "ada"):
        client = Client()
        client.force_login(make_person(name))
        refuse(MOST_PER_MINUTE + 1, client)
    assert AuditEntry.objects.filter(actor_name="ada").count() == MOST_PER_MINUTE


def test_what_was_done_is_always_written(client):
    client.force_login(make_person("ada", "admin"))
    refuse(MOST_PER_MINUTE + 1, client)
    audit("sign-out", "person:ada", by=User.objects.get())
    assert AuditEntry.objects.latest("pk").action == "sign-out"


def fail(address: str) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=address)
    audit("sign-in", "person:(unknown)", outcome=Outcome.FAILED, by=request)


@pytest.mark.parametrize("addresses", [["192.0.2.1"] * 30, [f"2001:db8::{n:x}" for n in range(30)]])
def test_an_address_or_a_network_of_ipv6_is_counted_like_a_person(addresses):
    for address in addresses:
        fail(address)
    assert AuditEntry.objects.count() == MOST_PER_MINUTE
    assert write_counts(timezone.now() + MINUTE) == 1
    assert AuditEntry.objects.latest("pk").after["attempts"] == 10


def test_all_addresses_together_are_bounded_too():
    for number in range(MOST_OF_STRANGERS + 50):
        fail(f"10.0.{number // 250}.{number % 250}")
    assert AuditEntry.objects.count() == MOST_OF_STRANGERS
    assert write_counts(timezone.now() + MINUTE) == 1
    entry = AuditEntry.objects.latest("pk")
    assert (entry.subject, entry.after["attempts"]) == ("addresses", 50)


def test_an_address_that_is_none_is_counted_as_it_is():
    fail("proxy:8080:x")
    assert AuditEntry.objects.count() == 1
