"""Arguments that name a flow, a cluster or an uploaded list: who may use them, and what the job gets."""

import io
from datetime import timedelta
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from console.accounts.models import ClusterGrant, Role
from console.runs import uploads
from console.runs.actions import launch_run
from console.runs.analyses.actions import ask, start_scheduled
from console.runs.analyses.questions import read_question
from console.runs.models import Run, RunState
from jobs.cluster.errors import InvalidFields
from jobs.spark import contract
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.console.runs.analyses.asking import ASKING, KIND

pytestmark = pytest.mark.django_db
FORM = f"/runs/new/{KIND}/"
FLOW = "orders to west"
ROWS = b"topic,partition,offset\norders,0,12\n"


@pytest.fixture(autouse=True)
def registered_beside():
    ANALYSES[KIND] = ASKING
    yield
    del ANALYSES[KIND]


@pytest.fixture
def flow():
    return make_flow(FLOW)


@pytest.fixture
def otto():
    return make_user(Role.OPERATOR)


@pytest.fixture
def as_operator(client, otto):
    client.force_login(otto)
    return client


def kept(content=ROWS, name="offsets.csv", now=NOW):
    return uploads.store("file", SimpleUploadedFile(name, content), now)


def granted(**roles):
    person = make_user(Role.NONE)
    for alias, role in roles.items():
        ClusterGrant.objects.create(user=person, cluster=make_cluster(alias), role=role)
    return person


def test_a_question_about_a_flow_is_about_its_offset_syncs_and_not_about_its_run(flow, otto):
    asked = read_question(KIND, {"flow": FLOW}, otto)
    assert (asked.subject, asked.title) == (
        f"syncs:{flow.pk}", "Offsets: orders to west (east \N{RIGHTWARDS ARROW} west)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("roles", "error"),
    [
        pytest.param({"east": Role.OPERATOR, "west": Role.OPERATOR}, None, id="both clusters"),
        pytest.param({"east": Role.OPERATOR, "west": Role.VIEWER}, PermissionDenied, id="one of two"),
        pytest.param({"east": Role.OPERATOR}, InvalidFields, id="the other is not seen"),
    ],
)  # fmt: skip
def test_a_flow_needs_the_right_on_both_of_its_clusters(flow, roles, error):
    person = granted(**roles)
    if error is None:
        assert read_question(KIND, {"flow": FLOW}, person).subject == f"syncs:{flow.pk}"
        return
    with pytest.raises(error):
        read_question(KIND, {"flow": FLOW}, person)


def test_a_cluster_needs_the_right_on_it():
    cluster = make_cluster("east")
    assert (
        read_question(KIND, {"cluster": "east"}, granted(east=Role.OPERATOR)).subject
        == f"cluster:{cluster.pk}"
    )
    with pytest.raises(InvalidFields, match="There is no cluster east"):
        read_question(KIND, {"cluster": "east"}, make_user(Role.NONE, "other"))


@pytest.mark.parametrize(
    ("target", "is_granted"),
    [pytest.param("west", True, id="same clusters"), pytest.param("south", False, id="others")],
)
def test_two_flows_are_one_subject_where_the_same_clusters_count(flow, target, is_granted):
    make_flow("beside", target=target)
    person = granted(east=Role.OPERATOR, west=Role.OPERATOR, south=Role.OPERATOR)
    given = {"flow": FLOW, "beside": "beside"}
    if is_granted:
        assert read_question(KIND, given, person).subject == f"syncs:{flow.pk}"
        return
    with pytest.raises(PermissionDenied):
        read_question(KIND, given, person)


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"flow": "nothing"}, "flow", "There is no flow nothing"),
        ({"cluster": "nothing"}, "cluster", "There is no cluster nothing"),
        ({"offsets": "../../etc/passwd"}, "offsets", "Upload it again"),
        ({"offsets": f"{'0' * 64}.csv"}, "offsets", "Upload it again"),
    ],
    ids=["flow", "cluster", "path", "file"],
)
def test_what_is_not_there_is_reported_at_its_argument(otto, given, field, text):
    with pytest.raises(InvalidFields) as wrong:
        read_question(KIND, given, otto)
    assert list(wrong.value.errors) == [field]
    assert text in wrong.value.errors[field]


def test_the_job_gets_what_names_stand_for(flow, otto, launcher, settings):
    name = kept().name
    given = {"flow": FLOW, "cluster": "east", "offsets": name}
    run = ask(read_question(KIND, given, otto), otto, NOW).run
    assert launch_run(run.pk, NOW, launcher)
    told = contract.read_spec(launcher.started[0]).arguments
    assert (told["arguments"]["flow"], told["arguments"]["offsets"]) == (FLOW, name)
    assert told["resources"] == {
        "flow": {
            "flow": flow.spec().to_mapping(),
            "archive": str(settings.CROSSLOG_ARCHIVE / "syncs" / str(flow.pk)),
        },
        "cluster": {"connection": flow.source.connection().to_mapping()},
        "offsets": {
            "path": str(settings.CROSSLOG_ARCHIVE / "uploads" / name),
            "most_rows": settings.ANALYSIS_UPLOAD_ROWS,
        },
    }


def test_an_analysis_of_a_flow_runs_beside_the_run_of_the_flow(flow, otto, launcher):
    Run.objects.create(
        kind="replicate", subject=flow.subject, title="r", state=RunState.RUNNING, created_at=NOW
    )
    run = ask(read_question(KIND, {"flow": FLOW}, otto), otto, NOW).run
    assert launch_run(run.pk, NOW, launcher)


def test_another_question_about_a_flow_waits_for_the_first(flow, otto, launcher):
    runs = [
        ask(read_question(KIND, {"flow": FLOW, "most": most}, otto), otto, NOW).run
        for most in (1, 2)
    ]
    assert [launch_run(run.pk, NOW, launcher) for run in runs] == [True, False]


@pytest.mark.parametrize(
    ("given", "remove"),
    [
        pytest.param({"flow": FLOW}, lambda flow: flow.delete(), id="flow"),
        pytest.param({}, lambda flow: uploads.remove_unused(NOW + timedelta(days=8)), id="file"),
    ],
)
def test_what_was_removed_before_the_start_ends_the_run_with_a_reason(
    flow, otto, launcher, given, remove
):
    given = given or {"offsets": kept().name}
    run = ask(read_question(KIND, given, otto), otto, NOW).run
    remove(flow)
    assert not launch_run(run.pk, NOW, launcher)
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert "removed" in run.error


def test_a_schedule_asks_about_a_flow_and_refuses_a_list_that_is_gone(flow, otto):
    assert start_scheduled({"kind": KIND, "arguments": {"flow": FLOW}}, otto, NOW).is_live
    given = {"kind": KIND, "arguments": {"offsets": kept().name}}
    assert start_scheduled(given, otto, NOW).is_live
    uploads.remove_unused(NOW + timedelta(days=8))
    with pytest.raises(InvalidFields, match="7 days unused"):
        start_scheduled(given, otto, NOW)


def test_a_person_who_sees_both_clusters_sees_the_run_of_a_flow(client, flow, otto):
    run = ask(read_question(KIND, {"flow": FLOW}, otto), otto, NOW).run
    page, listed = reverse("runs:detail", args=[run.pk]), "/api/v1/runs/"
    for roles, code in (({"east": Role.VIEWER, "west": Role.VIEWER}, 200), ({}, 404)):
        person = make_user(Role.NONE, f"p{code}")
        for alias, role in roles.items() or {"south": Role.VIEWER}.items():
            person.cluster_grants.create(cluster=make_cluster(alias), role=role)
        client.force_login(person)
        assert client.get(page).status_code == code
        assert len(client.get(listed).json()["results"]) == (code == 200)


def test_the_form_offers_what_may_be_operated_and_takes_a_file(as_operator, flow):
    text = as_operator.get(f"{FORM}?flow={quote_plus(FLOW)}").content.decode()
    assert f'<option value="{FLOW}" selected>' in text
    assert '<option value="west">west</option>' in text
    assert 'enctype="multipart/form-data"' in text
    assert 'type="file" name="offsets"' in text


def test_a_file_of_the_form_is_kept_and_asked_about(as_operator):
    answer = as_operator.post(FORM, {"offsets": SimpleUploadedFile("list.csv", ROWS), "most": "5"})
    run = Run.objects.get()
    assert answer["Location"] == reverse("runs:detail", args=[run.pk])
    assert uploads.find(run.arguments["offsets"]).path.read_bytes() == ROWS
    text = as_operator.get(answer["Location"]).content.decode()
    assert "CSV, 35\N{NO-BREAK SPACE}B (SHA-256" in text
    assert "crosslog offsets-of --offsets PATH_OF_OFFSETS" in text


def test_a_fault_elsewhere_in_the_form_does_not_lose_the_file(as_operator):
    given = {"offsets": SimpleUploadedFile("list.csv", ROWS), "most": "999"}
    text = as_operator.post(FORM, given).content.decode()
    assert "From 1 to 100." in text
    name = kept().name
    assert f'<input type="hidden" name="offsets" value="{name}">' in text
    as_operator.post(FORM, {"offsets": name, "most": "9"})
    assert Run.objects.get().arguments["offsets"] == name


def test_a_file_that_is_too_large_is_refused_at_its_field(as_operator, settings):
    settings.ANALYSIS_UPLOAD_MB = 1
    given = {"offsets": SimpleUploadedFile("list.csv", b"x" * 2**21), "most": "77"}
    text = as_operator.post(FORM, given).content.decode()
    assert "It is larger than 1 MiB" in text
    assert 'value="77"' in text
    assert not Run.objects.exists()


def test_the_run_of_a_flow_tells_its_command(as_operator, flow, otto, settings):
    run = ask(read_question(KIND, {"flow": FLOW, "cluster": "east"}, otto), otto, NOW).run
    text = as_operator.get(reverse("runs:detail", args=[run.pk])).content.decode()
    assert (
        f"crosslog offsets-of &#x27;{FLOW}.yaml&#x27; --archive PATH_OF_OFFSET_SYNCS --cluster east.yaml"
        in text
    )


def parquet():
    out = io.BytesIO()
    pq.write_table(pa.table({"topic": ["orders"], "partition": [0], "offset": [1]}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "ending"),
    [pytest.param(ROWS, ".csv", id="csv"), pytest.param(parquet(), ".parquet", id="parquet")],
)
def test_the_api_keeps_a_list_and_names_it(as_operator, content, ending):
    answer = as_operator.post("/api/v1/runs/files/", {"file": SimpleUploadedFile("x", content)})
    told = answer.json()
    assert (answer.status_code, told["bytes"]) == (201, len(content))
    assert told["name"].endswith(ending)
    asked = {"kind": KIND, "arguments": {"offsets": told["name"]}}
    answer = as_operator.post("/api/v1/runs/", asked, content_type="application/json")
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"\x00\x01" * 10, "neither Parquet nor CSV", id="binary"),
        pytest.param(b"PAR1" + b"x" * 20, "its end is missing", id="half a parquet file"),
        pytest.param(b"\xe9" * 9, "neither Parquet nor CSV", id="another encoding"),
        pytest.param(b"x" * 2**21, "larger than 1 MiB", id="too large"),
    ],
)
def test_the_api_refuses_what_is_no_list(as_operator, settings, content, text):
    settings.ANALYSIS_UPLOAD_MB = 1
    answer = as_operator.post("/api/v1/runs/files/", {"file": SimpleUploadedFile("x", content)})
    assert answer.status_code == 400
    assert text in " ".join(answer.json()["fields"]["file"])
    assert not list((settings.CROSSLOG_ARCHIVE / "uploads").glob("*"))


def test_a_person_who_may_only_look_uploads_nothing(client):
    client.force_login(make_user(Role.VIEWER))
    answer = client.post("/api/v1/runs/files/", {"file": SimpleUploadedFile("x", ROWS)})
    assert answer.status_code == 403


def test_a_list_is_kept_for_a_week_after_its_last_use():
    first, second = kept(), kept(ROWS + b"orders,1,5\n")
    uploads.use(second.name, NOW + timedelta(days=5))
    assert uploads.remove_unused(NOW + timedelta(days=7, seconds=1)) == 1
    assert (uploads.find(first.name), uploads.find(second.name) is None) == (None, False)
    assert "removed" in uploads.label_of(first.name)


def test_the_same_content_is_kept_once():
    assert kept().name == kept(name="other.csv", now=NOW + timedelta(days=1)).name
