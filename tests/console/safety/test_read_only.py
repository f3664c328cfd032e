import inspect
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest

from console.accounts.models import AuditEntry, Outcome
from console.replication.control.reconcile import reconcile_flow
from console.replication.flows.models import ReplicationFlow
from console.runs.models import Run
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.read_only import ReadOnly
from tests.console.making import NOW, StubLauncher, make_flow, make_run
from tests.console.safety.needs import PUBLIC
from tests.console.safety.routes import EXPECTED, METHODS, all_routes
from tests.console.safety.walk import ask, objects_of
from tests.console.safety.world import make_person, make_world

ROOT = Path(__file__).parents[3]
# What these change, nobody asked for: crosslog itself brings about what people wanted before; or
# they only read.
NO_CHANGES = {
    "console.reports.actions": {"queue_run", "remove_old_runs"},
    "console.accounts.actions": {"create_first_admin", "subject_of"},
    "console.accounts.tokens": {"subject_of"},
    "console.checks.actions": {
        "may_change",
        "require_on",
        "scope_of",
        "shown",
        "write",
        "glob_problem",
        "take",
    },
    "console.clusters.actions": {"check_settings", "make_due", "read_settings", "settings_of"},
    "console.notifications.actions": {"shown"},
    "console.replication.flows.actions": {"settings_of", "check_settings", "refuse_watched"},
    "console.tracing.extractors.actions": {"checked_extractor"},
    "console.tracing.replays.actions": {"default_name"},
    "console.runs.actions": {
        "queue_run",
        "queue_again",
        "launch_run",
        "kept_for",
        "ask_to_end",
        "finish_run",
        "remove_old_runs",
    },
}


@pytest.fixture
def read_only(settings):
    settings.CROSSLOG_READ_ONLY = True


def action_modules() -> list[str]:
    files = sorted((ROOT / "console").rglob("*actions.py"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]


@pytest.mark.parametrize("name", action_modules())
def test_every_action_is_marked_as_a_change_or_known_as_none(name):
    module = import_module(name)
    own = {
        key
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == name and not key.startswith("_")
    }
    marked = {key for key in own if hasattr(getattr(module, key), "changes")}
    assert own - marked == NO_CHANGES.get(name, set())


@pytest.mark.django_db
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"GET"}))
def test_no_route_changes_anything(read_only, client, method):
    world = make_world()
    client.force_login(make_person("ada", "admin"))
    objects = objects_of(world, is_dark=False)
    before = snapshot()
    for route in all_routes():
        need = EXPECTED[route.name].get(method)
        if need is None or need.where == PUBLIC:
            continue
        answer = ask(client, method, route.path(objects), {})
        assert answer.status_code < 500, route.name
    assert snapshot() == before


def snapshot() -> dict[str, list]:
    """Everything in the database but the trail and its counts, sessions, and who may show what again."""
    from django.apps import apps

    left_out = {
        "auditentry",
        "signinfailures",
        "session",
        "idempotencykey",
        "permission",
        "contenttype",
    }
    models = [m for m in apps.get_models() if m._meta.model_name not in left_out]
    return {
        m._meta.label: list(m._default_manager.order_by("pk").values())
        for m in models
        if m._meta.label != "accounts.User"
    } | {"people": list(apps.get_model("accounts.User").objects.values("pk", "password", "role"))}


@pytest.mark.django_db
def test_a_refusal_is_said_and_written(read_only, client):
    flow = make_flow()
    client.force_login(make_person("ada", "admin"))
    answer = client.post(f"/api/v1/flows/{flow.pk}/start/")
    assert (answer.status_code, answer.json()["code"]) == (409, "read_only")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.outcome, entry.actor_name) == ("flow.start", Outcome.REFUSED, "ada")


@pytest.mark.django_db
def test_pages_say_it_before_and_when_something_is_tried(read_only, client):
    flow = make_flow()
    client.force_login(make_person("ada", "admin"))
    assert "Read-only: nothing can be changed" in client.get("/").content.decode()
    answer = client.post(f"/replication/{flow.pk}/stop/")
    assert answer.status_code == 409
    assert "crosslog is read-only" in answer.content.decode()


@pytest.mark.django_db
def test_people_still_sign_in_and_out(read_only, client):
    make_person("vera", "viewer")
    client.post("/login/", {"username": "vera", "password": "a password of vera"})
    assert client.get("/").status_code == 200
    client.post("/logout/")
    assert client.get("/").status_code == 302


@pytest.mark.django_db
def test_no_run_is_started(read_only):
    flow = make_flow(is_wanted=True)
    reconcile_flow(flow, NOW, StubLauncher())
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_run_that_copies_is_ended(read_only):
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    reconcile_flow(ReplicationFlow.objects.get(), NOW + timedelta(seconds=1), StubLauncher())
    run.refresh_from_db()
    assert run.cancel_requested_at is not None


@pytest.fixture
def cluster():
    with ClusterClient(
        Connection.from_mapping({"alias": "east", "bootstrap_servers": "127.0.0.1:1"})
    ) as c:
        yield c


@pytest.mark.parametrize(
    "write",
    [
        lambda c: create_topics(c, {"orders": NewTopicSpec(1, 1, {})}),
        lambda c: delete_topics(c, ["orders"]),
        lambda c: c.producer({}),
    ],
    ids=["topics are made", "topics are deleted", "records are written"],
)
@pytest.mark.parametrize("value", ["1", "true", "ON", "maybe"])
def test_the_door_to_a_cluster_refuses_every_write(cluster, monkeypatch, write, value):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", value)
    with pytest.raises(ReadOnly, match="read-only") as refusal:
        write(cluster)
    assert refusal.value.code == "read_only"


@pytest.mark.parametrize("value", ["", "0", "false", "no", "OFF"])
def test_without_the_switch_writing_goes_on(cluster, monkeypatch, value):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", value)
    cluster.producer({})
