"""Path and query of a webhook are kept where they are needed to call it, and nowhere else."""

import io
import logging

import pytest
from django.apps import apps

from console.accounts.models import AuditEntry
from console.delivery.models import Delivery
from console.delivery.outbox import deliver_due
from console.frame.security.masking import shown_address
from console.reports.models import Report
from tests.console.delivery.making import NOW, make_report_run
from tests.console.delivery.receiver import Receiver
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
PLANTED = "PLANTED-4f1b-token"
REPORTS = "/api/v1/reports/"
NEEDED = {("Report", "recipients"), ("ReportRun", "recipients"), ("Delivery", "address")}


@pytest.fixture
def url(settings, tmp_path):
    receiver = Receiver()
    receiver.status, receiver.answer = 404, f"no route /in/{PLANTED}".encode()
    settings.CROSSLOG_HOME = tmp_path
    settings.WEBHOOK_KEY = "a key of twenty letters"
    settings.OUTBOUND_SCHEMES, settings.OUTBOUND_HOSTS = ["http"], ["127.0.0.1"]
    settings.OUTBOUND_NETWORKS = ["127.0.0.0/8"]
    yield receiver.url.replace("in?token=abc", f"in/{PLANTED}?{PLANTED}=1")
    receiver.end()


@pytest.fixture
def lines():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def places_of(text: str) -> set[tuple[str, str]]:
    """Model and field of every row of the database that holds a text."""
    found = set()
    for model in apps.get_models():
        for row in model._default_manager.values():
            found |= {(model.__name__, name) for name, value in row.items() if text in str(value)}
    return found


def body_of(answer) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return content.decode() + str(dict(answer.headers))


def use(client, url: str) -> Report:
    """Do all that is done with the address of a webhook, and let the receiver refuse it."""
    to = [{"channel": "webhook", "address": url}]
    given = {"kind": "replication", "name": "Weekly", "recipients": to}
    made = client.post(REPORTS, given, "application/json")
    assert made.status_code == 201, made.content
    report = Report.objects.get()
    for change in ({"recipients": []}, {"recipients": to}):
        client.patch(f"{REPORTS}{report.pk}/", change, "application/json")
    refused = {
        "recipients": [{"channel": "webhook", "address": url.replace("127.0.0.1", "127.0.0.2")}]
    }
    answer = client.patch(f"{REPORTS}{report.pk}/", refused, "application/json")
    assert (answer.status_code, PLANTED in body_of(answer)) == (400, False)
    run = make_report_run(("webhook", url), report=report)
    Delivery.objects.create(run=run, channel="webhook", address=url, created_at=NOW, next_at=NOW)
    deliver_due(NOW)
    delivery = Delivery.objects.get()
    assert "answered 404" in delivery.sentence
    client.post(f"/api/v1/deliveries/{delivery.pk}/retry/", {}, "application/json")
    tested = {"channel": "webhook", "address": url}
    answer = client.post("/api/v1/deliveries/test/", tested, "application/json")
    assert (answer.status_code, PLANTED in body_of(answer)) == (409, False)
    answer = client.post("/deliveries/test/", {"channel": "webhook", "address": url})
    return report


def test_only_what_sends_keeps_the_path_of_a_webhook(client, url, lines):
    client.force_login(make_person("ada", "admin"))
    report = use(client, url)
    assert places_of(PLANTED) == NEEDED
    assert PLANTED not in lines.getvalue()
    client.delete(f"{REPORTS}{report.pk}/")
    kept = str([*AuditEntry.objects.values()])
    assert kept.count(shown_address(url)) >= 5
    assert PLANTED not in kept


PATHS = (
    "/reports/", "/reports/?format=csv", "/reports/{report}/", "/reports/made/", "/reports/made/{run}/",
    "/api/v1/reports/", "/api/v1/reports/{report}/", "/api/v1/report-runs/{run}/",
    "/api/v1/deliveries/", "/schedules/", "/audit/", "/audit/?format=csv", "/api/v1/audit-trail/",
    "/deliveries/", "/deliveries/?format=csv",
)  # fmt: skip


@pytest.mark.parametrize(
    ("role", "may_change"), [("viewer", False), ("operator", True), ("admin", True)]
)
def test_only_those_who_may_change_a_report_read_the_path_of_its_webhook(
    client, url, role, may_change
):
    client.force_login(make_person("ada", "admin"))
    report = use(client, url)
    client.force_login(make_person("vera", role))
    names = {"report": report.pk, "run": report.runs.get().pk}
    answers = {path: client.get(path.format(**names)) for path in PATHS}
    assert {answer.status_code for answer in answers.values()} <= {200, 403}
    shown = {path for path, answer in answers.items() if PLANTED in body_of(answer)}
    assert shown == (set(PATHS[5:7]) if may_change else set())
