"""Reading changes nothing: a link, a prefetch or a crawler with a person's session does no harm."""

import pytest
from django.db import connection
from django.test import Client

from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person, make_world
from tests.console.safety.writes import noting_writes

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_no_read_of_any_address_writes_to_the_database(method):
    client = Client(enforce_csrf_checks=True)
    objects = objects_of(make_world(), is_dark=False)
    client.force_login(make_person("ada", "admin"))
    wrong = []
    for route in all_routes():
        path = route.path(objects)
        for asked in {path, f"{path}?format=csv"} if "GET" in EXPECTED[route.name] else {path}:
            with noting_writes(connection) as written:
                answer = client.generic(method, asked)
                b"".join(answer.streaming_content if answer.streaming else ())
            # Whether something can be written shows only by writing.
            if written and route.name != "readyz":
                wrong.append(f"{method} {asked} ({route.name}): {written}")
    assert wrong == []
