"""Whatever is sent to a route: never a 500, always an answer that the schema describes."""

import functools
import json
import os
from base64 import b64encode

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from rest_framework.renderers import JSONRenderer

from tests.console.api.operations import OPERATIONS, live_schema
from tests.console.making import make_flow, make_partition, make_run, make_topic

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.usefixtures("seeded"),
]
# More of everything: SCHEMATHESIS_EXAMPLES=500 pytest tests/console/api
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "8"))
# The WSGI transport does not unpack what is compressed.
CREDENTIALS = {
    "Authorization": "Basic " + b64encode(b"ada:a password of ada").decode(),
    "Accept-Encoding": "identity",
}
ERROR_SHAPE = {"code", "detail", "fields"}


@functools.cache
def operations():
    """The operations by method and path, bound to the application itself: no server, no port."""
    import schemathesis
    from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig
    from schemathesis.config import SchemathesisConfig as Config

    generation = GenerationConfig(max_examples=EXAMPLES, deterministic=True)
    project = ProjectConfig(generation=generation)
    document = json.loads(JSONRenderer().render(live_schema()))
    config = Config(seed=1, projects=ProjectsConfig(default=project))
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema.app = get_wsgi_application()
    found = [one.ok() for one in schema.get_all_operations()]
    return {(one.method, one.path): one for one in found}


@pytest.fixture
def seeded(admin):
    flow = make_flow()
    make_topic(flow.source, "orders")
    make_partition(flow)
    make_run(flow)


def error_shape(ctx, response, case):
    if response.status_code >= 400:
        body = response.json()
        assert set(body) == ERROR_SHAPE, body
        assert body["code"]
        assert body["detail"]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_described(method, path):
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        error_shape,
    ]

    @given(case=operations()[method, path].as_strategy())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case):
        with transaction.atomic():
            case.call_and_validate(headers=CREDENTIALS, checks=wanted)
            transaction.set_rollback(True)

    ask()
