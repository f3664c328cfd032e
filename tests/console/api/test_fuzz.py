"""Requests of a program with faults: never a 5xx, and each refusal in the shape of all others."""

import json
import random

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.utils import timezone

from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import make_cluster, make_flow
from tests.console.reports.making.worlds import make_report
from tests.console.runs.analyses.making import ANALYSIS, KIND
from tests.console.schedules.making import make_schedule
from tests.console.streams.making import DESCRIPTION, SHOP, make_streams

pytestmark = pytest.mark.django_db
REQUESTS = 150
SHAPE = {"code", "detail", "fields"}
BODIES = {
    "POST /api/v1/reports/": {
        "kind": "replication", "name": "Weekly", "subjects": ["orders"], "period": "last-week",
        "time_zone": "Europe/Berlin", "with_before": True, "formats": ["pdf", "csv"], "paper": "a4",
        "recipients": [{"channel": "webhook", "address": "https://hooks.example/in"}], "keep_days": 7,
    },
    "PATCH /api/v1/reports/{report}/": {"name": "Daily", "subjects": [], "recipients": [], "keep_days": 1},
    "POST /api/v1/reports/{report}/runs/": {"from": "2026-11-02", "to": "2026-11-09T00:00:00Z"},
    "POST /api/v1/report-runs/": {"kind": "availability", "period": "yesterday", "time_zone": "UTC"},
    "POST /api/v1/deliveries/test/": {"channel": "webhook", "address": "https://hooks.example/in"},
    "POST /api/v1/runs/": {
        "kind": KIND,
        "arguments": {"log": "east", "from": "2026-01-01T00:00:00Z", "to": "", "by": "leader", "most": 7},
    },
    "POST /api/v1/schedules/": {
        "name": "Nightly", "kind": "report", "arguments": {"report": 1}, "cron": "0 3 * * *",
        "time_zone": "UTC", "is_enabled": True,
    },
    "PATCH /api/v1/schedules/{schedule}/": {"cron": "*/5 * * * *", "arguments": {}, "is_enabled": False},
    "POST /api/v1/streams/{shop}/key-lookup/": {"store": "totals", "key": "customer-1"},
    "PUT /api/v1/streams/{shop}/description/": {"description": DESCRIPTION},
    "POST /api/v1/quorum/imports/": {"name": "incident", "title": "The 0312", "file": "x"},
    "POST /api/v1/runs/files/": {"kind": KIND, "file": "x"},
}  # fmt: skip
LISTS = (
    "reports",
    "report-runs",
    "deliveries",
    "runs",
    "schedules",
    "streams",
    "quorum/imports",
)
QUERIES = (
    "limit",
    "cursor",
    "kind",
    "state",
    "run",
    "channel",
    "cluster",
    "protocol",
    "is_enabled",
    "x",
)
TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "x" * 70_000, "-1", "0", "1e400", "9" * 400, "NaN", "null", "[]", "../..",
    "%00", "é" * 300, "\u202e", "2026-02-30", "9999-12-31T23:59:59Z", "0001-01-01", "* * * * *", "@reboot",
    "0 0 31 2 *", "https://[", "http://[::ffff:1.2.3.4%25a]/", "https://hooks.example:99999/", "a@b", "@", "=1+1",
)  # fmt: skip
NUMBERS = (-1, 0, 2**31, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0, 0.1)


def hostile(chance: random.Random, depth: int = 0):
    """Return a value of any kind of JSON, small or large."""
    kinds = [
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice((None, True, False, [], {})),
        lambda: [hostile(chance, depth + 1) for _ in range(chance.choice((1, 3, 60)))],
        lambda: {chance.choice(TEXTS): hostile(chance, depth + 1) for _ in range(3)},
        lambda: [[[[]]]] * chance.choice((1, 2000)),
    ]
    return chance.choice(kinds[: 6 if depth < 2 else 3])()


def changed(chance: random.Random, value):
    """Return a good value with one hostile one in it, at any depth."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice([*value, "extra"])
        return {**value, name: changed(chance, value.get(name))}
    if isinstance(value, list) and value and chance.random() < 0.6:
        at = chance.randrange(len(value))
        return [*value[:at], changed(chance, value[at]), *value[at + 1 :]]
    return hostile(chance)


def body_of(chance: random.Random, good: dict) -> bytes:
    body = good
    for _ in range(chance.choice((1, 1, 2, 4))):
        body = changed(chance, body)
    text = json.dumps(body)
    match chance.randrange(12):
        case 0:
            text = text.replace(":", ":" + "[" * 50_000, 1)
        case 1:
            text = text[: chance.randrange(len(text) + 1)]
        case 2:
            return text.encode("utf-16")
    return text.encode()


@pytest.fixture
def client_of_all(admin, settings, tmp_path):
    """Everything that the addresses name, and a person who may do all."""
    settings.CROSSLOG_RUNS_DIR = settings.CROSSLOG_ARCHIVE = settings.CROSSLOG_HOME = tmp_path
    settings.API_WRITES_PER_MIN = settings.API_READS_PER_MIN = 0
    settings.WEBHOOK_KEY, settings.OUTBOUND_HOSTS = "a key of twenty letters", ["hooks.example"]
    make_flow("orders", source="east", target="west")
    make_streams(make_cluster("shops"), now=timezone.now())
    ANALYSES[KIND] = ANALYSIS
    client = Client(raise_request_exception=False)
    client.force_login(admin)
    names = {"report": make_report(admin).pk, "schedule": make_schedule(admin).pk, "shop": SHOP}
    yield client, names
    del ANALYSES[KIND]


def send(chance: random.Random, client: Client, names: dict):
    """Send one request; return what was sent and the answer."""
    if chance.random() < 0.2:
        path = f"/api/v1/{chance.choice(LISTS)}/"
        query = {name: chance.choice(TEXTS) for name in chance.sample(QUERIES, 2)}
        query = {name: value.encode("utf-8", "surrogatepass") for name, value in query.items()}
        return f"GET {path} {query}"[:300], client.get(path, query)
    route = chance.choice([*BODIES])
    method, path = route.format(**names).split()
    good = BODIES[route]
    if "file" in good and chance.random() < 0.7:
        content = chance.choice(
            (b"", b"x\n" * 50_000, b"PK\x03\x04", b"PAR1" * 4, b"\x1f\x8b\x08", b"\0" * 5000)
        )
        file = SimpleUploadedFile(
            chance.choice(("a.zip", "../../a", "\u202e.csv", "x" * 300)), content
        )
        fields = {"name": chance.choice(TEXTS), "kind": chance.choice((KIND, "x")), "file": file}
        fields["name"] = fields["name"].encode("utf-8", "replace").decode()
        return f"{route} {fields}"[:300], client.post(path, fields)
    body = body_of(chance, good)
    return f"{route} {body[:300]!r}", client.generic(method, path, body, "application/json")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_is_sent_is_answered_in_the_shape_of_the_api(client_of_all, seed):
    chance = random.Random(seed)
    statuses = set()
    for _ in range(REQUESTS):
        with transaction.atomic():
            sent, answer = send(chance, *client_of_all)
            transaction.set_rollback(True)
        assert answer.status_code < 500, sent
        if answer.status_code >= 400:
            assert set(answer.json()) == SHAPE, sent
        statuses.add(answer.status_code)
    assert {200, 201, 400} <= statuses
