"""Whatever is sent to a route: never a 500, always an answer that the schema describes."""

import json
import os
from base64 import b64encode

import pytest
import schemathesis
from confluent_kafka import KafkaError, KafkaException
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from rest_framework.renderers import JSONRenderer
from schemathesis.checks import not_a_server_error
from schemathesis.config import (
    GenerationConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)  # fmt: skip
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)  # fmt: skip

from jobs.cluster import client as kafka_client
from tests.console.making import make_flow, make_partition, make_run, make_topic

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seeded", "no_kafka")]
# More of everything: SCHEMATHESIS_EXAMPLES=500 pytest tests/console/api
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "8"))
# The WSGI transport does not unpack what is compressed.
CREDENTIALS = {
    "Authorization": "Basic " + b64encode(b"ada:a password of ada").decode(),
    "Accept-Encoding": "identity",
}
ERROR_SHAPE = {"code", "detail", "fields"}


def live_schema():
    """The schema as the route serves it, bound to the application itself: no server, no port."""
    document = JSONRenderer().render(SchemaGenerator().get_schema(request=None, public=True))
    config = SchemathesisConfig(
        seed=1,
        projects=ProjectsConfig(
            default=ProjectConfig(
                generation=GenerationConfig(max_examples=EXAMPLES, deterministic=True),
            )
        ),
    )
    schema = schemathesis.openapi.from_dict(json.loads(document), config=config)
    schema.app = get_wsgi_application()
    return schema


schema = live_schema()


@pytest.fixture
def seeded(admin):
    flow = make_flow()
    make_topic(flow.source, "orders")
    make_partition(flow)
    make_run(flow)


@pytest.fixture
def no_kafka(monkeypatch):
    """A Kafka client library that reaches nobody, at once."""

    def refuse(*_, **__):
        raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    monkeypatch.setattr(kafka_client, "AdminClient", refuse)


def error_shape(ctx, response, case):
    if response.status_code >= 400:
        body = response.json()
        assert set(body) == ERROR_SHAPE, body
        assert body["code"]
        assert body["detail"]


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_described(case):
    with transaction.atomic():
        case.call_and_validate(
            headers=CREDENTIALS,
            checks=[
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
                error_shape,
            ],
        )
        transaction.set_rollback(True)
