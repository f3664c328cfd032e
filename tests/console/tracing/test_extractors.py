"""Extractors of a cluster: rights, errors at their fields, samples, use in analyses."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.template.loader import render_to_string
from django.utils import timezone

from console.accounts.models import AuditEntry, ClusterGrant
from console.frame.errors import ActionRefused
from console.runs.analyses.questions import read_question
from console.tracing.extractors import actions, analysis_extractors
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.pages import around_sample, around_trial
from console.tracing.extractors.trial import show_record, try_extractor
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields, Unreachable
from jobs.cluster.topic_reader import Newest, TopicRecord
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType
from tests.console.making import make_cluster, make_user
from tests.console.tracing.making import SLIPS, make_extractor
from tests.console.tracing.replays.making import make_plan, record

pytestmark = pytest.mark.django_db
API = "/api/v1/extractors/"
PAGE = "/clusters/east/extractors/"
KIND = Analysis(
    kind="events",
    title="Events",
    question="Which?",
    arguments=(
        Argument("cluster", ArgumentType.CLUSTER, "Cluster", is_required=True),
        Argument("extractor", ArgumentType.EXTRACTOR, "Extractor", is_required=True),
    ),
    tables=(),
    run=lambda task: None,
)


@pytest.fixture
def east(db):
    return make_cluster("east")


def grant(person, cluster, role):
    ClusterGrant.objects.create(user=person, cluster=cluster, role=role)
    return person


def records(*values, headers=()):
    found = [
        TopicRecord(0, n, 1_700_000_000_000, None, v, list(headers)) for n, v in enumerate(values)
    ]
    return lambda _connection, _topic: Newest(found, is_cut=False)


def unreachable(connection, _topic):
    raise Unreachable("No broker answered.", cluster=connection.alias)


def ask(client, method, path, body):
    return getattr(client, method)(path, body, content_type="application/json")


def test_an_administrator_of_the_cluster_creates_changes_and_removes_one(client, east):
    person = grant(make_user("none", "eve"), east, "admin")
    client.force_login(person)
    created = ask(client, "post", API, {"cluster": "east", "name": "slips", "definition": SLIPS})
    assert created.status_code == 201, created.content
    row = created.json()
    assert row["definition"]["fields"] == SLIPS["fields"]
    assert row["changed_by"] == "eve"
    changed = ask(
        client,
        "put",
        f"{API}{row['id']}/",
        {"name": "slips 2", "definition": {"preset": "masstransit"}},
    )
    assert changed.json()["definition"] == {"preset": "masstransit", "stuck_after_s": 900}
    assert client.delete(f"{API}{row['id']}/").status_code == 204
    entries = AuditEntry.objects.filter(action__startswith="extractor.").order_by("pk")
    assert [one.action for one in entries] == [
        "extractor.create",
        "extractor.change",
        "extractor.remove",
    ]
    assert {one.cluster for one in entries} == {"east"}


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_who_does_not_administer_the_cluster_sees_extractors_and_changes_none(client, east, role):
    row = make_extractor(east)
    client.force_login(make_user(role))
    assert [one["name"] for one in client.get(API).json()["results"]] == ["slips"]
    assert "slips" in client.get(PAGE).content.decode()
    body = {"cluster": "east", "name": "x", "definition": SLIPS}
    assert ask(client, "post", API, body).status_code == 403
    assert (
        ask(client, "put", f"{API}{row.pk}/", {"name": "x", "definition": SLIPS}).status_code == 403
    )
    assert client.delete(f"{API}{row.pk}/").status_code == 403
    assert ask(client, "post", f"{API}try/", {"cluster": "east", "topic": "t"}).status_code == 403
    assert client.get(f"{PAGE}new/").status_code == 403
    assert client.get(f"{PAGE}{row.pk}/").status_code == 403
    assert client.post(f"{PAGE}{row.pk}/remove/").status_code == 403


def test_an_administrator_of_another_cluster_does_not_see_it(client, east):
    row = make_extractor(east)
    client.force_login(grant(make_user("none"), make_cluster("west"), "admin"))
    assert client.get(API).json()["results"] == []
    assert client.get(f"{API}{row.pk}/").status_code == 404
    body = {"cluster": "east", "name": "x", "definition": SLIPS}
    assert ask(client, "post", API, body).status_code == 404
    assert client.get(PAGE).status_code == 404


@pytest.mark.parametrize(
    ("name", "definition", "field"),
    [
        pytest.param("x", {"fields": {"id": "heder:a"}}, "definition.fields.id", id="a-field"),
        pytest.param("x", {}, "definition.fields", id="no-field"),
        pytest.param("x", {"preset": "camel"}, "definition.preset", id="preset"),
        pytest.param("x", {**SLIPS, "registry": "main"}, "definition.registry", id="registry"),
        pytest.param("x", {**SLIPS, "redact": ["card"]}, "definition.redact", id="redact"),
        pytest.param("x", {**SLIPS, "nonsense": 1}, "definition.nonsense", id="unknown"),
        pytest.param("masstransit", SLIPS, "name", id="name-of-a-preset"),
        pytest.param("taken", SLIPS, "name", id="name-of-another-cluster"),
    ],
)
def test_an_error_is_at_its_field(client, east, admin, name, definition, field):
    make_extractor(make_cluster("west"), "taken")
    client.force_login(admin)
    body = {"cluster": "east", "name": name, "definition": definition}
    answer = ask(client, "post", API, body)
    assert answer.status_code == 400
    assert [*answer.json()["fields"]] == [field]


def test_the_page_saves_what_its_form_says_and_shows_it_again(client, east, admin):
    client.force_login(admin)
    told = {
        "step": "save", "name": "slips", "fields.id": "header:slip", "fields.uri": "value:/uri",
        "topic_steps": "orders = pay\nparcels = ship", "stuck_steps": "pay = 60", "redact": "value:/card",
    }  # fmt: skip
    assert client.post(f"{PAGE}new/", told).status_code == 302
    row = StoredExtractor.objects.get()
    assert row.definition == {
        "fields": {"id": "header:slip", "uri": "value:/uri"},
        "topic_steps": {"orders": "pay", "parcels": "ship"},
        "stuck_steps": {"pay": 60},
        "stuck_after_s": 900,
        "redact": ["value:/card"],
    }
    shown = client.get(f"{PAGE}{row.pk}/").context["form"].initial
    assert shown["topic_steps"] == told["topic_steps"]
    assert shown["fields.uri"] == "value:/uri"


@pytest.mark.parametrize("step", ["save", "try"])
def test_a_refused_form_loses_nothing(client, east, admin, step):
    client.force_login(admin)
    told = {
        "step": step, "name": "slips", "topic": "orders", "fields.id": "heder:slip",
        "fields.uri": "value:/uri", "groups": "pay", "redact": "value:/card",
    }  # fmt: skip
    answer = client.post(f"{PAGE}new/", told)
    form = answer.context["form"]
    assert "groups" in form.errors
    assert {name: form[name].value() for name in told if name != "step"} == {
        name: text for name, text in told.items() if name != "step"
    }
    told["groups"] = "pay = payers"
    assert "fields.id" in client.post(f"{PAGE}new/", told).context["form"].errors


def test_a_preset_is_taken_over_by_one_click(client, east, admin):
    client.force_login(admin)
    form = client.post(
        f"{PAGE}new/", {"take": "spring-dlt", "topic": "", "fields.id": "key"}
    ).context["form"]
    assert form["preset"].value() == "spring-dlt"
    assert form["fields.id"].value() == "key"
    assert (
        form["fields.error"].field.widget.attrs["placeholder"] == "header:kafka_dlt-exception-fqcn"
    )


def test_a_trial_shows_what_is_found_and_writes_who_read(east, admin):
    read = records(b'{"card":1}', b"{}", headers=[("slip", b"7")])
    trial = try_extractor(east, "orders", {**SLIPS, "redact": ["value:/card"]}, admin, read)
    assert trial.found == {"id": 2, "step": 2}
    assert trial.samples[0].value == '{"card":"(redacted)"}'
    assert trial.headers == {"slip": 2}
    entry = AuditEntry.objects.get(action="extractor.read_records")
    assert (entry.cluster, entry.subject) == ("east", "orders")
    assert entry.after == {"topic": "orders", "records": 2}
    assert not StoredExtractor.objects.exists()


def test_a_trial_without_fields_shows_samples_redacted_and_presets(east, admin):
    read = records(
        b'{"no":1}',
        headers=[("__connect.errors.stage", b"S"), ("__connect.errors.exception.class.name", b"X")],
    )
    trial = try_extractor(east, "dlq", {"redact": ["value"]}, admin, read)
    assert trial.samples[0].value == "(redacted)"
    assert trial.found == {}
    assert [one.preset for one in trial.presets] == ["connect-dlq"]


def test_the_page_of_a_trial_shows_records_values_problems_and_presets(east, admin):
    read = records(b'{"card":1,"at":"noon"}', headers=[("kafka_dlt-exception-fqcn", b"java.X")])
    told = {"fields": {"error": "header:kafka_dlt-exception-fqcn", "time": "value:/at as iso"}}
    trial = try_extractor(east, "dlt", {**told, "redact": ["value:/card"]}, admin, read)
    page = render_to_string("tracing/extractors/_trial.html", around_trial(trial))
    for text in ("0:0", "java.X", "It is no time as ISO 8601 writes it.", "Use spring-dlt"):
        assert text in page
    assert "(redacted)" in page
    assert "&quot;card&quot;:1" not in page


WHERE = TopicPartition("orders", 0)


def one_record(**values):
    record = TopicRecord(0, 7, 1_700_000_000_000, None, b'{"card":1}', [])
    return lambda _connection: Newest(
        [record] if values.get("is_there", True) else [], is_cut=False
    )


def test_the_record_at_an_offset_is_shown_redacted_and_the_audit_log_has_who_read(east, admin):
    make_extractor(east, **SLIPS, redact=["value:/card"])
    shown = show_record(east, WHERE, 7, "slips", admin, one_record())
    assert shown.value == '{"card":"(redacted)"}'
    page = render_to_string("tracing/extractors/_record.html", {"sample": around_sample(shown)})
    assert "(redacted)" in page
    entry = AuditEntry.objects.get(action="extractor.read_records")
    assert entry.after == {"topic": "orders", "partition": 0, "offset": 7, "records": 1}


@pytest.mark.parametrize(
    ("name", "read", "text"),
    [
        pytest.param("slips", one_record(is_there=False), "no record at offset 7", id="gone"),
        pytest.param("slips", lambda _: None, "no partition orders-0", id="no-partition"),
        pytest.param("removed", one_record(), "no extractor removed", id="no-extractor"),
        pytest.param("far", one_record(), "no extractor far", id="of-another-cluster"),
    ],
)
def test_a_record_that_cannot_be_shown_is_refused_with_the_reason(east, admin, name, read, text):
    make_extractor(east), make_extractor(make_cluster("west"), "far")
    with pytest.raises(ActionRefused, match=text):
        show_record(east, WHERE, 7, name, admin, read)
    assert not AuditEntry.objects.filter(action="extractor.read_records").exists()


@pytest.mark.parametrize(("role", "status"), [("operator", 403), ("admin", 200)])
def test_the_page_of_a_record_is_for_administrators_and_reads_on_a_click_only(client, role, status):
    make_cluster("gone", bootstrap_servers="127.0.0.1:1")
    client.force_login(make_user(role))
    path = "/clusters/gone/records/orders/0/7/?extractor=spring-dlt"
    assert client.get(path).status_code == status
    answer = client.post(path)
    assert answer.status_code == status
    assert ("Not shown" in answer.content.decode()) == (status == 200)


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_offsets_of_an_answer_lead_to_their_records_for_those_who_may_read_them(
    client, east, settings, tmp_path, role
):
    settings.CROSSLOG_ARCHIVE = tmp_path
    rows = [record(4), record(5, from_topic="a/b"), record(6, from_offset=None)]
    told = {"cluster": "east", "topics": "orders.DLT", "extractor": "spring-dlt"}
    run = make_plan(east, rows, arguments=told, folder=str(tmp_path / "run"))
    client.force_login(make_user(role))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    path = "/clusters/east/records/orders.DLT/0/{}/?extractor=spring-dlt"
    count = 1 if role == "admin" else 0
    assert [page.count(path.format(n)) for n in (4, 5, 6)] == [2 * count, count, count]


def test_nothing_is_read_for_a_definition_that_is_wrong(east, admin):
    asked = []
    with pytest.raises(InvalidFields) as wrong:
        try_extractor(east, "t", {"fields": {"id": "x"}}, admin, lambda *a: asked.append(a))
    assert [*wrong.value.errors] == ["fields.id"]
    assert asked == []


@pytest.mark.parametrize(
    ("read", "error"),
    [
        pytest.param(lambda *_: None, InvalidFields, id="no-topic"),
        pytest.param(unreachable, ActionRefused, id="away"),
    ],
)
def test_a_topic_that_cannot_be_read_is_refused_and_no_reading_is_written(east, admin, read, error):
    with pytest.raises(error):
        try_extractor(east, "t", SLIPS, admin, read)
    assert not AuditEntry.objects.filter(action="extractor.read_records").exists()


def test_a_trial_needs_the_administrator_of_the_cluster(east, operator):
    with pytest.raises(PermissionDenied):
        try_extractor(east, "t", SLIPS, operator, records(b"{}"))


def test_the_route_of_a_trial_tells_that_the_cluster_is_away(client, admin):
    make_cluster("gone", bootstrap_servers="127.0.0.1:1")
    client.force_login(admin)
    answer = ask(
        client, "post", f"{API}try/", {"cluster": "gone", "topic": "t", "definition": SLIPS}
    )
    assert answer.status_code == 409, answer.content
    assert answer.json()["code"] == "unreachable"


def test_the_route_of_a_record_says_why_it_is_not_shown(client, east, admin):
    client.force_login(admin)
    told = {"cluster": "east", "topic": "orders", "partition": 0, "offset": 7}
    answer = ask(client, "post", f"{API}record/", {**told, "extractor": "removed"})
    assert (answer.status_code, answer.json()["code"]) == (409, "no_extractor")


def test_an_analysis_uses_a_stored_extractor_of_its_cluster(east, operator):
    row = make_extractor(east)
    question = ask_events(operator, "east", "slips")
    assert question.subject == f"cluster:{east.pk}"
    resource = analysis_extractors.get_source(row.name).resource()
    assert resource["extractor"]["fields"] == SLIPS["fields"]


def test_an_analysis_does_not_use_the_extractor_of_another_cluster(east, operator):
    make_extractor(make_cluster("west"), "far")
    with pytest.raises(InvalidFields) as wrong:
        ask_events(operator, "east", "far")
    assert wrong.value.errors == {"extractor": "far (west) is for another cluster."}


def test_an_analysis_needs_the_right_to_operate_on_the_cluster_of_the_extractor(east, viewer):
    make_extractor(east)
    with pytest.raises(PermissionDenied):
        ask_events(viewer, "east", "slips")


def test_an_extractor_that_may_not_be_seen_is_not_there(east):
    make_extractor(make_cluster("west"), "far")
    person = grant(make_user("none"), east, "operator")
    assert "far" not in [one.name for one in analysis_extractors.list_sources(person)]
    with pytest.raises(InvalidFields) as wrong:
        ask_events(person, "east", "far")
    assert wrong.value.errors == {"extractor": "There is no extractor far."}


def test_a_preset_needs_no_right_of_its_own(east):
    person = grant(make_user("none"), east, "operator")
    assert ask_events(person, "east", "spring-dlt").arguments["extractor"] == "spring-dlt"


def test_saving_needs_the_administrator_also_below_the_pages(east, operator):
    with pytest.raises((PermissionDenied, Http404)):
        actions.save(StoredExtractor(cluster=east), "x", SLIPS, operator, timezone.now())


def ask_events(person, cluster, extractor):
    return read_question(
        "events", {"cluster": cluster, "extractor": extractor}, person, {"events": KIND}
    )
