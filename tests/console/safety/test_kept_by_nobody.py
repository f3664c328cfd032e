"""What a person saw is not kept by the browser or a proxy, and a read writes nothing."""

import base64

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.console.safety.world import make_person, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    make_world()
    client.force_login(make_person("ada", "admin"))
    return client


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "no-store"),
        ("/clusters/", "no-store"),
        ("/clusters/?export=csv", "no-store"),
        ("/nowhere/", "no-store"),
        ("/login/", None),
        ("/api/v1/clusters/", "no-cache"),
        ("/api/v1/clusters/nowhere/", "no-store"),
    ],
)
def test_every_answer_says_how_long_it_may_be_kept(reader, path, expected):
    said = reader.get(path).headers["Cache-Control"]
    assert expected is None or expected in said
    assert "public" not in said


def test_a_read_with_a_password_writes_nothing(client):
    person = make_person("eva", "viewer")
    person.set_password("correct horse")
    person.save()
    word = base64.b64encode(b"eva:correct horse").decode()
    with CaptureQueriesContext(
        connection,
    ) as asked:
        answer = client.get("/api/v1/clusters/", headers={"Authorization": f"Basic {word}"})
    assert answer.status_code == 200
    written = [q["sql"] for q in asked if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert written == []
