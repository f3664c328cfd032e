"""Names that a broker or a client of Kafka chooses, as bad as can be, on every page and in every export."""

import csv
import io
import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.console.safety.hostile_names import PAYLOADS, Page, make_hostile
from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@pytest.fixture(params=PAYLOADS)
def payload(request, client):
    """Fill the world with one payload, and return it."""
    world = make_world()
    objects = objects_of(world, is_dark=False)
    found = PAYLOADS[request.param]
    make_hostile(found)
    hostile = {name: f"{found}{objects[name]}" for name in ("name", "group_id", "topic")}
    client.force_login(make_person("ada", "admin"))
    return found, [
        route.path(objects | hostile) for route in all_routes() if "GET" in EXPECTED[route.name]
    ]


def text_of(answer) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return content.decode()


def test_no_page_and_no_export_does_what_a_name_says(client, payload):
    _, paths = payload
    client.raise_request_exception = False
    wrong, seen = [], {"pages": 0, "json": 0, "csv": 0}
    for path in paths:
        tables = () if path.startswith(("/api/", "/metrics")) else (f"{path}?format=csv",)
        for asked in (path, *tables):
            answer = client.get(asked)
            text = text_of(answer)
            kind = answer.headers.get("Content-Type", "")
            if answer.status_code >= 500 and not path.startswith("/readyz"):
                wrong.append(f"{asked}: {answer.status_code}")
            elif kind.startswith("text/html"):
                seen["pages"] += 1
                wrong += [f"{asked}: {problem}" for problem in Page(text).problems]
            elif kind.startswith("application/json"):
                seen["json"] += 1
                json.loads(text)
            elif kind.startswith("text/csv"):
                seen["csv"] += 1
                wrong += [f"{asked}: {problem}" for problem in csv_problems(text)]
    assert wrong == []
    assert min(seen.values()) > 20, seen


def csv_problems(text: str):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    for row in rows:
        if len(row) != len(rows[0]):
            yield f"{len(row)} cells instead of {len(rows[0])}"
        formulas = (cell for cell in row if cell.startswith(FORMULA) and not is_number(cell))
        yield from (f"a formula: {cell[:20]!r}" for cell in formulas)


def is_number(cell: str) -> bool:
    return cell.removeprefix("-").replace(".", "", 1).isdecimal()


def test_metrics_hold_each_name_as_it_is(client, payload):
    found, _ = payload
    text = text_of(client.get("/metrics"))
    labels = {
        value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for value in sample.labels.values()
    }
    assert any(value.startswith(found) for value in labels)
    assert not any(line.startswith(("x{", "Set-Cookie")) for line in text.split("\n"))
