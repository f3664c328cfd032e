import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from console.frame.models import IdempotencyKey
from console.frame.rest import idempotency
from console.frame.rest.viewset import ApiViewSet
from console.replication.flows.models import ReplicationFlow
from tests.console.making import make_cluster, make_user

FLOWS = "/api/v1/flows/"
FLOW = {"name": "f", "source": "east", "target": "west", "topics": ["orders"]}
OTHER = FLOW | {"name": "g", "topics": ["clicks"]}


@pytest.fixture
def api(sign_in, operator):
    make_cluster("east"), make_cluster("west")
    return sign_in(operator)


def post(client, values=None, key="k-1", path=FLOWS):
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(path, json.dumps(values or FLOW), "application/json", headers=headers)


@pytest.mark.django_db
def test_the_same_request_is_answered_the_same_and_done_once(api):
    first, second = post(api), post(api)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert second["Idempotent-Replayed"] == "true"
    assert ReplicationFlow.objects.count() == 1


@pytest.mark.django_db
def test_the_order_of_fields_does_not_make_another_request(api):
    post(api)
    assert post(api, dict(reversed(FLOW.items()))).status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"values": FLOW | {"name": "g"}}, id="body"),
        pytest.param({"path": f"{FLOWS}preview/"}, id="route"),
    ],
)
def test_a_key_of_another_request_is_refused(api, other):
    post(api)
    answer = post(api, **other)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.django_db
def test_without_a_key_it_is_another_request(api):
    post(api, key=None)
    assert post(api, key=None).json()["fields"]["name"]


@pytest.mark.django_db
def test_a_refused_request_may_be_tried_again_with_its_key(api):
    values = FLOW | {"target": "north"}
    assert post(api, values).status_code == 400
    make_cluster("north")
    assert post(api, values).status_code == 201


@pytest.mark.django_db
def test_another_person_has_other_keys(api, client):
    post(api)
    client.force_login(make_user())
    assert post(client, OTHER).status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_a_malformed_key_is_named(api, key):
    answer = post(api, key=key)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["Idempotency-Key"])


@pytest.mark.django_db
def test_after_a_day_the_key_is_free(api):
    post(api)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert post(api, OTHER).status_code == 201


@pytest.mark.django_db
def test_old_keys_are_forgotten(api):
    post(api), post(api, OTHER, key="k-2")
    IdempotencyKey.objects.filter(key="k-1").update(created_at=timezone.now() - timedelta(hours=25))
    assert idempotency.forget_old_keys() == 1


@pytest.mark.django_db
def test_a_request_that_was_begun_long_ago_and_never_answered_has_an_unknown_outcome(api):
    post(api)
    IdempotencyKey.objects.update(
        status=None, body=None, created_at=timezone.now() - timedelta(minutes=3)
    )
    answer = post(api)
    assert (answer.status_code, answer.json()["code"]) == (409, "outcome_unknown")


@pytest.mark.django_db
def test_a_request_that_is_still_being_done_is_waited_for_and_then_refused(api, monkeypatch):
    monkeypatch.setattr(idempotency.do_once, "__kwdefaults__", {"wait_s": 0.2})
    post(api)
    IdempotencyKey.objects.update(status=None, body=None)
    answer = post(api)
    assert (answer.status_code, answer.json()["code"]) == (409, "request_in_progress")


class Secretive(ApiViewSet):
    """A view whose answers are shown once."""

    permission_classes = authentication_classes = ()
    secret_answers = ("create",)
    done = 0

    def create(self, request):
        type(self).done += 1
        if request.data.get("break"):
            raise ZeroDivisionError
        return Response({"secret": "shown once"}, 201)


def ask(values):
    request = APIRequestFactory().post(
        "/x/", values, headers={"Idempotency-Key": "k"}, format="json"
    )
    return Secretive.as_view({"post": "create"})(request)


@pytest.mark.django_db
def test_an_answer_with_a_secret_is_not_kept():
    Secretive.done = 0
    assert [ask({}).status_code, ask({}).status_code, Secretive.done] == [201, 409, 1]
    assert "shown once" not in str(IdempotencyKey.objects.values())


@pytest.mark.django_db
def test_a_request_that_broke_may_be_tried_again():
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            ask({"break": True})
    assert not IdempotencyKey.objects.exists()


AT_THE_SAME_TIME = """
import django, json, threading
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
from django.utils import timezone
from console.accounts.models import User
from console.clusters.models import Cluster
from console.replication.flows.models import ReplicationFlow
person = User.objects.create_user("otto", role="operator")
for alias in ("east", "west"):
    Cluster.objects.create(alias=alias, bootstrap_servers="h:1", created_at=timezone.now())
clients = [Client(SERVER_NAME="localhost") for _ in range(6)]
for client in clients:
    client.force_login(person)
values = {"name": "f", "source": "east", "target": "west", "topics": ["orders"]}
answers, start = [], threading.Barrier(len(clients))
def send(client):
    start.wait()
    answer = client.post("/api/v1/flows/", values, "application/json", headers={"Idempotency-Key": "k"})
    answers.append([answer.status_code, answer.json()])
    connection.close()
threads = [threading.Thread(target=send, args=[client]) for client in clients]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps([answers, ReplicationFlow.objects.count()]))
"""


def test_requests_at_the_same_time_are_done_once(tmp_path, settings, put_database):
    """Real threads, each with its connection to a database in a file; one does the work."""
    put_database(tmp_path / "crosslog.sqlite3")
    environment = {
        **os.environ,
        "CROSSLOG_HOME": str(tmp_path),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    told = subprocess.run(
        [sys.executable, "-c", AT_THE_SAME_TIME],
        cwd=settings.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    answers, flows = json.loads(told.stdout)
    assert [status for status, _ in answers] == [201] * 6
    assert all(body == answers[0][1] for _, body in answers)
    assert flows == 1
