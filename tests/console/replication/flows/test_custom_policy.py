"""A flow whose topics are named by templates, in the form and over the API."""

import html
import json

import pytest
from django.urls import reverse

from console.replication.flows.models import ReplicationFlow
from jobs.replication.flow.selection import policy_of
from tests.console.making import make_cluster, make_flow
from tests.console.replication.flow_form import flow_form

pytestmark = pytest.mark.django_db
TEMPLATES = {"remote_topic": "{topic}_from_{source}", "heartbeats": "beats"}


@pytest.fixture
def client_of(sign_in, operator):
    return sign_in(operator)


def form(**changes):
    templates = {f"policy_{name}": text for name, text in TEMPLATES.items()}
    return (
        flow_form(name="blue", topics=".*", policy="custom", copied_by="crosslog", **templates)
        | changes
    )


def post_json(client, path, body, method="post"):
    return getattr(client, method)(path, json.dumps(body), content_type="application/json")


def test_a_flow_is_made_with_templates(client_of):
    make_cluster("east"), make_cluster("west")
    answer = client_of.post(reverse("replication:new"), form())
    assert answer.status_code == 302, html.unescape(answer.content.decode())
    flow = ReplicationFlow.objects.get()
    assert flow.custom_policy["remote_topic"] == "{topic}_from_{source}"
    policy = policy_of(flow.spec())
    assert policy.format_remote_topic("east", "orders") == "orders_from_east"
    assert policy.checkpoints_topic("east") == "east.checkpoints.internal"
    settings = html.unescape(
        client_of.get(reverse("replication:settings", args=[flow.pk])).content.decode()
    )
    assert 'value="{topic}_from_{source}"' in settings


def test_a_template_that_leaves_a_doubt_is_refused_at_its_field(client_of):
    make_cluster("east"), make_cluster("west")
    answer = client_of.post(reverse("replication:new"), form(policy_remote_topic="{source}{topic}"))
    text = html.unescape(answer.content.decode())
    assert "is required: without it, the alias and the topic cannot be separated" in text
    assert not ReplicationFlow.objects.exists()


def test_templates_are_not_kept_for_another_policy(client_of):
    make_cluster("east"), make_cluster("west")
    client_of.post(reverse("replication:new"), form(policy="default"))
    assert ReplicationFlow.objects.get().custom_policy == {}


def test_the_api_takes_and_gives_templates(client_of):
    make_cluster("east"), make_cluster("west")
    body = {"name": "blue", "source": "east", "target": "west", "policy": "custom"}
    answer = post_json(client_of, "/api/v1/flows/", {**body, "custom_policy": TEMPLATES})
    assert answer.status_code == 201
    assert answer.json()["custom_policy"]["heartbeats"] == "beats"


def test_the_api_names_the_template_at_fault(client_of):
    flow = make_flow()
    body = {"policy": "custom", "custom_policy": {"remote_topic": "{topic}"}}
    answer = post_json(client_of, f"/api/v1/flows/{flow.pk}/", body, "patch")
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == ["custom_policy.remote_topic"]
    assert ReplicationFlow.objects.get().policy == "default"
