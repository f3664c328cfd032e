import html

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.replication.flows.models import FlowTopic, ReplicationFlow
from jobs.spark.contract import CONTROL, read_json
from tests.console.making import NOW, make_flow, make_partition, make_run

pytestmark = pytest.mark.django_db
NOTES = [{"topic": "east.orders", "key": "retention.ms", "text": "Only the target has it."}]


@pytest.fixture
def flow():
    flow = make_flow(is_wanted=True, measured_at=NOW, partition_count=2, states={"copying": 2})
    FlowTopic.objects.create(flow=flow, topic="orders", partition_count=2, updated_at=NOW)
    make_partition(flow, "orders", 0), make_partition(flow, "orders", 1)
    return flow


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def address(name, flow):
    return reverse(f"replication:{name}", args=[flow.pk])


def page(client, name, flow, **query):
    answer = client.get(address(name, flow), query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def form(**changes):
    values = {"paused": "", "priorities": "", "limit": "setting", "max_bytes_per_s": ""}
    return values | {"windows": "", "bulk_lag": ""} | changes


def stored():
    return ReplicationFlow.objects.get().control


def test_what_is_asked_for_is_saved_and_told_to_the_run(as_operator, flow, tmp_path):
    make_run(flow, folder=str(tmp_path))
    values = form(
        paused="orders:1\n", priorities="orders = -2", limit="own", max_bytes_per_s="5000",
        windows=" 01:00-05:00 ", bulk_lag="7",
    )  # fmt: skip
    answer = as_operator.post(address("control", flow), values)
    assert answer.url == address("control", flow)
    assert stored() == {
        "paused": ["orders:1"],
        "priorities": {"orders": -2},
        "windows": ["01:00-05:00"],
        "max_bytes_per_s": 5000,
        "bulk_lag": 7,
    }
    assert read_json(tmp_path / CONTROL) == stored()


def test_what_was_saved_stands_in_the_form(as_operator, flow):
    values = form(priorities="orders = 3", limit="none", windows="01:00-05:00", bulk_lag="7")
    as_operator.post(address("control", flow), values)
    text = page(as_operator, "control", flow)
    for written in ("orders = 3", "01:00-05:00", 'value="none" selected', 'value="7"'):
        assert written in text


def test_a_limit_is_given_back_to_the_settings(as_operator, flow):
    as_operator.post(address("control", flow), form(limit="none"))
    assert stored() == {"max_bytes_per_s": None}
    as_operator.post(address("control", flow), form(limit="setting", max_bytes_per_s="5000"))
    assert stored() == {}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"paused": "payments"}, "Not a topic or partition of this flow", id="topic"),
        pytest.param({"priorities": "orders 3"}, "orders 3 is not a line like", id="no equals"),
        pytest.param({"priorities": "orders = x"}, "orders = x is not a line like", id="no number"),
        pytest.param({"priorities": "orders = 11"}, "from -10 to 10", id="priority"),
        pytest.param({"limit": "own"}, "Enter a number of bytes per second.", id="no limit given"),
        pytest.param({"windows": "at night"}, "is not a window", id="window"),
        pytest.param({"bulk_lag": "-1"}, "greater than or equal to 0", id="bulk lag"),
    ],
)
def test_what_is_wrong_stands_at_the_field_and_what_was_typed_stays(
    as_operator, flow, changes, sentence
):
    answer = as_operator.post(address("control", flow), form(**changes))
    text = html.unescape(answer.content.decode())
    assert "field--wrong" in text
    assert sentence in text
    assert all(typed in text for typed in changes.values())
    assert stored() == {}


def test_a_partition_is_restarted_by_its_name(as_operator, flow, tmp_path):
    make_run(flow, folder=str(tmp_path))
    as_operator.post(address("restart", flow), {"names": "orders:1"})
    assert read_json(tmp_path / CONTROL)["restart"]["topics"] == ["orders:1"]


@pytest.mark.parametrize(
    ("has_run", "names", "sentence"),
    [
        (True, "payments", "Not a topic or partition of this flow: payments"),
        (True, "", "Name a topic"),
        (False, "orders", "is not running"),
    ],
)
def test_a_restart_that_cannot_be_says_why(as_operator, flow, has_run, names, sentence):
    if has_run:
        make_run(flow)
    answer = as_operator.post(address("restart", flow), {"names": names})
    text = html.unescape(answer.content.decode())
    assert sentence in text
    assert names in text


def test_what_the_run_cannot_obey_is_said(as_operator, flow):
    ReplicationFlow.objects.update(control_problem="windows: no")
    assert "windows: no" in page(as_operator, "control", flow)
    assert "windows: no" in page(as_operator, "detail", flow)


@pytest.mark.parametrize(("name", "part"), [("detail", "orders"), ("partitions", "orders:1")])
def test_rows_are_paused_and_resumed_by_their_buttons(as_operator, flow, name, part):
    button = 'aria-label="{} {}"'
    assert button.format("Pause", part) in page(as_operator, name, flow)
    as_operator.post(address("pause", flow), {"names": part})
    assert stored() == {"paused": [part]}
    text = page(as_operator, name, flow)
    assert button.format("Resume", part) in text
    assert button.format("Pause", part) not in text
    as_operator.post(address("resume", flow), {"names": part})
    assert stored() == {}


def test_a_topic_of_which_a_part_is_paused_can_be_paused_and_resumed(as_operator, flow):
    as_operator.post(address("pause", flow), {"names": "orders:1"})
    text = page(as_operator, "detail", flow)
    assert 'aria-label="Pause orders"' in text
    assert 'aria-label="Resume orders"' in text


def test_a_button_leads_back_to_the_rows_that_were_shown(as_operator, flow):
    text = page(as_operator, "partitions", flow, topic="orders", state="copying")
    assert 'name="query" value="topic=orders&state=copying"' in text
    values = {"names": "orders:1", "back": "partitions", "query": "topic=orders&state=copying"}
    answer = as_operator.post(address("pause", flow), values)
    assert answer.url == f"{address('partitions', flow)}?topic=orders&state=copying"


@pytest.mark.parametrize("back", ["https://elsewhere.example/", "settings", ""])
def test_a_button_leads_nowhere_else(as_operator, flow, back):
    answer = as_operator.post(address("pause", flow), {"names": "orders", "back": back})
    assert answer.url == address("detail", flow)


def test_a_button_is_accepted_with_its_token(operator, flow):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    text = page(client, "partitions", flow)
    token = (
        text[text.index('<form id="steer"') :]
        .partition('name="csrfmiddlewaretoken" value="')[2]
        .partition('"')[0]
    )
    values = {"names": "orders:1", "csrfmiddlewaretoken": token}
    assert client.post(address("pause", flow), {"names": "orders:1"}).status_code == 403
    assert client.post(address("pause", flow), values).status_code == 302


def test_a_name_that_is_nothing_of_the_flow_is_said(as_operator, flow):
    answer = as_operator.post(address("pause", flow), {"names": "payments"}, follow=True)
    assert "Not a topic or partition of this flow: payments" in answer.content.decode()


@pytest.mark.parametrize("name", ["detail", "partitions"])
def test_a_viewer_sees_no_buttons(as_viewer, flow, name):
    text = page(as_viewer, name, flow)
    assert "Pause orders" not in text
    assert 'id="steer"' not in text


def test_a_viewer_gets_no_form(as_viewer, flow):
    assert as_viewer.get(address("control", flow)).status_code == 403


@pytest.mark.parametrize("name", ["control", "pause", "resume", "restart"])
def test_a_viewer_steers_nothing(as_viewer, flow, name):
    assert as_viewer.post(address(name, flow), {"names": "orders"}).status_code == 403


def catching_up(flow, **fields):
    make_run(flow, started_at=NOW, reported_at=timezone.now())
    now = {"measured_at": timezone.now(), "lag": 5, "rate_per_s": 0.0}
    ReplicationFlow.objects.update(**now | fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"eta_s": 300.0}, "total · ETA about 5 min"),
        ({"eta_s": 8000.0}, "total · ETA about 2 h"),
        ({"eta_s": 300_000.0}, "total · ETA about 3 days"),
        ({"eta_s": 3.0}, "total · ETA less than a minute"),
        ({"eta_s": None}, "total · ETA unknown"),
    ],
)
def test_a_flow_that_catches_up_says_for_how_long(as_viewer, flow, fields, words):
    catching_up(flow, **fields)
    assert words in page(as_viewer, "detail", flow)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"lag": 0, "eta_s": 0.0}, id="nothing is left"),
        pytest.param({"is_wanted": False, "eta_s": 300.0}, id="it does not run"),
        pytest.param({"lag": 900, "rate_per_s": 100.0, "eta_s": None}, id="it keeps up"),
        pytest.param({"measured_at": NOW, "eta_s": 300.0}, id="what is known is old"),
    ],
)
def test_a_flow_that_does_not_catch_up_says_nothing_about_it(as_viewer, flow, fields):
    catching_up(flow, **fields)
    text = page(as_viewer, "detail", flow)
    assert "ETA " not in text.replace("ETA: ", "")


def test_changes_and_findings_of_topics_on_the_target_are_shown(as_viewer, flow):
    at = NOW.isoformat()
    why = "The source topic orders has 3 partitions."
    change = {"topic": "east.orders", "key": "partitions", "from": "1", "to": "3", "why": why}
    failures = [
        {"topic": "east.clicks", "key": "acl", "text": "No right. Grant ALTER on the cluster."}
    ]
    sync = {"at": at, "changed_at": at, "changes": [change], "notes": NOTES, "failures": failures}
    ReplicationFlow.objects.update(topic_sync=sync)
    text = page(as_viewer, "detail", flow)
    for words in (
        "Remote topics",
        "Unchanged (1)",
        why,
        "Only the target has it.",
        "Grant ALTER",
        "Failed",
    ):
        assert words in text


@pytest.mark.parametrize("notes", [None, []])
def test_without_news_of_topics_on_the_target_nothing_is_shown(as_viewer, flow, notes):
    sync = {"at": NOW.isoformat(), "changes": [], "notes": [], "failures": []}
    ReplicationFlow.objects.update(topic_sync={} if notes is None else sync)
    assert "Remote topics" not in page(as_viewer, "detail", flow)


def written(**values) -> dict:
    return {
        "at_ms": int(NOW.timestamp() * 1000),
        "groups": 12,
        "told": 340,
        "exact": 338,
        "written": 3,
        "written_total": 9021,
        "without": {"no_sync": 7},
        "stale_groups": 2,
        "errors": {},
        "findings": [],
        "fault": "",
        "group_sync": None,
    } | values


SYNCED = {
    "at_ms": 1,
    "groups": 12,
    "active": 5,
    "written": 1,
    "written_total": 77,
    "moved_back": 0,
    "errors": {"billing": "It has members."},
    "ahead": ["Group stock is at 9."],
}


def test_the_checkpoints_of_a_flow_are_counted_with_what_has_none_and_why(as_viewer, flow):
    ReplicationFlow.objects.update(checkpoint_writing=written())
    text = page(as_viewer, "detail", flow)
    for words in (
        "Consumer group checkpoints",
        "340",
        "338 exact",
        "9,021 written",
        "no offset sync",
    ):
        assert words in text
    assert "active groups unchanged" not in text


@pytest.mark.parametrize(
    ("more", "is_shown"),
    [({"corrected": 783}, True), ({"corrected": 0}, False), ({}, False)],
    ids=["some", "none", "a run of an earlier version"],
)
def test_wrong_checkpoints_that_were_replaced_are_told(as_viewer, flow, more, is_shown):
    ReplicationFlow.objects.update(checkpoint_writing=written(**more))
    assert ("783 wrong checkpoints replaced" in page(as_viewer, "detail", flow)) == is_shown


def test_groups_that_are_set_on_the_target_are_told_with_what_went_wrong(as_viewer, flow):
    told = written(
        group_sync=SYNCED, fault="west: No broker answers.", errors={"audit": "no right"}
    )
    ReplicationFlow.objects.update(checkpoint_writing=told, sync_group_offsets=True)
    text = page(as_viewer, "detail", flow)
    for words in (
        "5 active groups unchanged",
        "77 offsets written",
        "It has members.",
        "Group stock is at 9.",
        "west: No broker answers.",
        "Group audit",
    ):
        assert words in text


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"checkpoint_writing": {}}, id="nothing told yet"),
        pytest.param(
            {"checkpoint_writing": written(), "emit_checkpoints_interval_s": 0}, id="not wanted"
        ),
    ],
)
def test_without_checkpoints_the_page_says_nothing_of_them(as_viewer, flow, fields):
    ReplicationFlow.objects.update(**fields)
    assert "Consumer group checkpoints" not in page(as_viewer, "detail", flow)
