"""Secrets that are planted everywhere come back nowhere."""

import io
import json
import logging

import pytest
from django.test import Client

from console.accounts.models import AuditEntry
from console.celery import app
from jobs.spark.contract import JobSpec
from jobs.spark.submit import submit_command
from tests.console.making import make_cluster, make_flow, make_run
from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import bearer, make_person, make_token, make_world

pytestmark = pytest.mark.slow

PLANTED = {
    "environment": "PLANTED-env-7f3a",
    "file": "PLANTED-file-91cc",
    "client secret": "PLANTED-oidc-55d0",
    "metrics token": "PLANTED-metrics-0be1",
    "typed password": "PLANTED-typed-c4d2",
    "typed as a name": "PLANTED-name-77aa",
}


@pytest.fixture
def planted(monkeypatch, settings, tmp_path):
    """Put secrets behind every reference and setting; return all texts that must not come back."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "west-password").write_text(PLANTED["file"])
    monkeypatch.setenv("CROSSLOG_SECRETS_DIR", str(folder))
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", PLANTED["environment"])
    settings.OIDC_CLIENT_SECRET = PLANTED["client secret"]
    settings.METRICS_TOKEN = PLANTED["metrics token"]
    return [*PLANTED.values(), settings.SECRET_KEY]


@pytest.fixture
def lines():
    """Everything that is logged, at every level, by everybody."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def secured(alias: str, reference: str) -> dict:
    return {
        "alias": alias,
        "bootstrap_servers": "127.0.0.1:1",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "crosslog",
        "sasl_password": reference,
    }


def leaked(text: str, secrets: list[str]) -> list[str]:
    return [secret for secret in secrets if secret in text]


def body_of(answer) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return content.decode("utf-8", "replace") + str(dict(answer.headers))


@pytest.mark.django_db
def test_no_route_no_log_line_and_no_entry_of_the_trail_has_a_secret(planted, lines):
    world, client = make_world(), Client()
    for cluster, reference in (
        (world.east, "env:CROSSLOG_SECRET_EAST"),
        (world.west, "file:west-password"),
    ):
        type(cluster).objects.filter(pk=cluster.pk).update(**secured(cluster.alias, reference))
    admin = make_person("ada", "admin")
    _, token = make_token(admin)
    password = "a password of ada"
    secrets = [*planted, token, token.split("_", 2)[2], password]

    client.post("/login/", {"username": "ada", "password": PLANTED["typed password"]})
    client.post("/login/", {"username": PLANTED["typed as a name"], "password": "x"})
    client.get("/api/v1/clusters/", headers=bearer(PLANTED["typed password"]))
    client.get("/api/v1/clusters/", headers=bearer(token))
    client.force_login(admin)
    objects, told = objects_of(world, is_dark=False), {}
    for route in all_routes():
        if "GET" in EXPECTED[route.name]:
            for query in ("", "?format=csv", f"?q={'x' * 300}"):
                path = route.path(objects) + query
                if found := leaked(body_of(client.get(path)), secrets):
                    told[path] = found
    # What tries a cluster reads the secret: its refusals must not repeat it.
    for path in ("clusters/east/check/", "clusters/west/check/"):
        answer = client.post(f"/api/v1/{path}")
        told |= {path: found} if (found := leaked(body_of(answer), secrets)) else {}
    wrong = secured("north", PLANTED["typed password"]) | {"save_unchecked": True}
    client.post("/api/v1/clusters/", wrong, content_type="application/json")
    assert told == {}
    assert leaked(lines.getvalue(), secrets) == []
    assert leaked(str([vars(entry) for entry in AuditEntry.objects.all()]), secrets) == []


@pytest.mark.django_db
def test_a_literal_password_is_refused_without_repeating_it(client, planted):
    client.force_login(make_person("ada", "admin"))
    body = secured("north", PLANTED["typed password"])
    answer = client.post("/api/v1/clusters/", body, content_type="application/json")
    assert answer.status_code == 400
    assert PLANTED["typed password"] not in answer.content.decode()


@pytest.mark.django_db
def test_arguments_of_runs_and_their_folders_hold_references_only(planted, tmp_path, settings):
    east = make_cluster("east")
    type(east).objects.filter(pk=east.pk).update(**secured("east", "env:CROSSLOG_SECRET_EAST"))
    flow = make_flow()
    run = make_run(flow)
    spec = JobSpec(run_id=str(run.pk), kind="replicate", arguments=run.arguments, lease_s=30)
    command = submit_command(spec, tmp_path)
    written = json.dumps(run.arguments) + " ".join(map(str, command)) + str(spec)
    assert "env:CROSSLOG_SECRET_EAST" in json.dumps(run.arguments)
    assert leaked(written, planted) == []


def test_arguments_of_tasks_are_numbers_only():
    """A task loads what it needs by its number, so no broker ever holds more than that."""
    import inspect

    app.loader.import_default_modules()
    for name, task in app.tasks.items():
        if name.startswith("console."):
            kinds = {p.annotation for p in inspect.signature(task.run).parameters.values()}
            assert kinds <= {int, "int", "str", str}, name
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
