"""Which copy audit of a flow counts, and how it is shown."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.replication.flows.audits import audits_of
from console.replication.flows.page_context import audit_links
from console.runs.models import RunState
from jobs.severity import Severity
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_flow
from tests.console.replication.audit_runs import DIFFERS, FINDINGS, make_audit, make_audit_run

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def flow():
    return make_flow()


def audit_of(flow, now=NOW):
    return audits_of([flow], now)[flow.pk]


def test_a_flow_without_an_audit_is_not_audited(flow):
    one = audit_of(flow)
    assert (one.word, one.severity, one.href) == ("Not audited", Severity.UNKNOWN, "")


def test_the_latest_audit_counts_with_its_numbers(flow):
    make_audit(flow, age=2 * DAY, level="L1")
    run = make_audit(flow, age=DAY)
    one = audit_of(flow)
    assert (one.run, one.word, one.severity) == (run.pk, "Equal", Severity.HEALTHY)
    assert one.note.endswith("40 of 40 topics")
    assert one.sentence.startswith("No difference in 5")


def test_one_that_differs_names_its_first_differences_by_offset(flow):
    make_audit(flow, findings=FINDINGS, **DIFFERS)
    one = audit_of(flow)
    assert (one.word, one.counts) == ("Differs", {"missing": 4, "altered": 1})
    assert one.found == (
        "orders-0: 4 missing at source offset 100",
        "orders-1: 1 altered at source offset 7, target offset 9",
    )


@pytest.mark.parametrize(
    ("values", "word", "severity"),
    [
        pytest.param({"verdict": "unknown"}, "Unknown", Severity.UNKNOWN, id="not all judged"),
        pytest.param({"topics": 12}, "Equal in part", Severity.UNKNOWN, id="some topics"),
        pytest.param({"age": 8 * DAY}, "Equal", Severity.WARNING, id="old"),
        pytest.param({"verdict": "of later"}, "Unknown", Severity.UNKNOWN, id="unknown word"),
    ],
)
def test_what_is_not_judged_or_old_is_not_healthy(flow, values, word, severity):
    make_audit(flow, **values)
    one = audit_of(flow)
    assert (one.word, one.severity) == (word, severity)


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        pytest.param({}, {}, "equal", id="the same again"),
        pytest.param({}, {"topics": "orders"}, "differs", id="a part of the topics"),
        pytest.param({"topics": "orders"}, {"topics": "orders"}, "equal", id="the same part"),
        pytest.param({"topics": "orders"}, {}, "equal", id="the whole flow"),
        pytest.param({}, {"level": "L0"}, "differs", id="a lower level"),
        pytest.param({}, {"level": "L3"}, "equal", id="a higher level"),
        pytest.param({}, {"verdict": "unknown"}, "differs", id="not judged"),
    ],
)
def test_a_difference_counts_until_as_much_was_audited_again(flow, first, second, counts):
    make_audit(flow, age=2 * DAY, **DIFFERS, **first)
    make_audit(flow, age=DAY, **second)
    assert audit_of(flow).verdict == counts


def test_a_difference_that_was_repaired_does_not_come_back_with_an_audit_that_judged_nothing(flow):
    make_audit(flow, age=3 * DAY, **DIFFERS)
    make_audit(flow, age=2 * DAY)
    make_audit(flow, age=DAY, verdict="unknown")
    assert audit_of(flow).verdict == "unknown"


@pytest.mark.parametrize(
    ("state", "later"),
    [
        (RunState.RUNNING, "a later audit is queued or running"),
        (RunState.FAILED, "a later audit ended as failed"),
    ],
)
def test_a_later_audit_without_a_verdict_is_named(flow, state, later):
    run = make_audit(flow)
    make_audit_run(flow, state=state, created_at=NOW)
    one = audit_of(flow)
    assert (one.run, one.later) == (run.pk, later)


def test_a_failed_first_audit_leaves_the_flow_not_audited(flow):
    make_audit_run(flow, state=RunState.FAILED)
    one = audit_of(flow)
    assert (one.word, one.note) == ("Not audited", "an audit ended as failed")


def test_an_audit_counts_from_its_end(flow):
    make_audit(flow, age=DAY)
    assert audit_of(flow, NOW - DAY).run is None
    assert audit_of(flow, NOW - DAY + timedelta(minutes=1)).run is not None


def test_the_number_of_queries_does_not_depend_on_the_number_of_flows(flow):
    def count(flows):
        with CaptureQueriesContext(connection) as captured:
            audits_of(flows, NOW)
        return len(captured)

    others = [make_flow(f"flow {number}") for number in range(3)]
    for one in (flow, *others):
        make_audit(one, findings=FINDINGS, **DIFFERS)
    assert count([flow]) == count([flow, *others]) == 4


@pytest.mark.parametrize("page", ["", "checkpoints/"], ids=["flow", "readiness"])
def test_pages_of_a_flow_show_the_verdict_and_lead_to_the_run(sign_in, viewer, flow, page):
    path = f"/replication/{flow.pk}/{page}"
    client = sign_in(viewer)
    assert "Not audited" in client.get(path).content.decode()
    run = make_audit(flow, now=timezone.now(), findings=FINDINGS, **DIFFERS)
    text = client.get(path).content.decode()
    assert "Differs" in text
    assert f'href="/runs/{run.pk}/"' in text


def test_the_page_of_a_flow_names_the_first_differences(sign_in, viewer, flow):
    make_audit(flow, now=timezone.now(), findings=FINDINGS, **DIFFERS)
    text = sign_in(viewer).get(f"/replication/{flow.pk}/").content.decode()
    assert "orders-0: 4 missing at source offset 100" in text


def test_links_fill_in_the_flow_where_this_release_has_the_kind(flow):
    links = audit_links(flow, {"copy-audit": ANALYSES["backtest"]})
    assert links["run"] == "/runs/new/copy-audit/?flow=orders+to+west"
    assert links["schedule"].startswith("/schedules/new/?kind=analysis&arguments=")
    assert audit_links(flow, {}) == {}


def test_the_api_gives_the_audit_of_one_flow_and_of_each_in_the_list(sign_in, viewer, flow):
    client, path = sign_in(viewer), f"/api/v1/flows/{flow.pk}/"
    before = client.get(path).json()["audit"]
    assert (before["verdict"], before["topics"], before["counts"]) == ("not_audited", None, {})
    run = make_audit(flow, now=timezone.now(), findings=FINDINGS, **DIFFERS)
    after = client.get(path).json()["audit"]
    assert (after["verdict"], after["run"], after["topics"]) == ("differs", str(run.pk), 40)
    assert after["counts"] == {"missing": 4, "altered": 1}
    assert client.get("/api/v1/flows/").json()["results"][0]["audit"] == after
