"""Imported logs: an archive of a node's folder becomes a history of its own, or is refused with a reason."""

import io
import shutil
import tarfile
from datetime import timedelta

import pytest

from console.quorum.log import imports
from console.quorum.log.archives import archive_of
from console.quorum.log.log_fold import LogFold
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataChange, MetadataLog
from console.runs.actions import finish_run, launch_run
from console.runs.analyses.spec import tables_of
from console.runs.models import Run, RunState
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log_tables.writing import write_partitions
from jobs.spark.analyses.analysis import Answer
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.metadata import metadata_history
from tests.console.making import NOW, StubLauncher, make_cluster
from tests.console.quorum.making import make_log
from tests.support import KRAFT_LOG, METADATA_FOLDER

pytestmark = pytest.mark.django_db
ADDRESS = "/quorum/-/import/"


@pytest.fixture(autouse=True)
def archive(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    return tmp_path


def packed(folder=KRAFT_LOG):
    """A tar.gz of a folder, as a browser sends it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(folder, "node-1")
    file.seek(0)
    file.name = "node-1.tar.gz"
    return file


def text_file(content=b"no archive at all"):
    file = io.BytesIO(content)
    file.name = "notes.txt"
    return file


def test_an_archive_becomes_a_log_with_a_history(
    sign_in, operator, django_capture_on_commit_callbacks
):
    client = sign_in(operator)
    with django_capture_on_commit_callbacks(execute=False) as later:
        answer = client.post(ADDRESS, {"name": "incident", "title": "The 0312", "file": packed()})
    assert answer["Location"] == "/quorum/_incident/"
    assert len(later) == 1
    log = MetadataLog.objects.get(name="_incident")
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    assert log.next_offset > 1000
    asked = Run.objects.get()
    assert (asked.kind, asked.arguments, asked.requested_by) == (
        "metadata-history",
        {"log": "_incident"},
        operator,
    )
    assert "Spark is reading" in client.get("/quorum/_incident/").content.decode()
    assert MetadataChange.objects.filter(log=log, kind="topic").exists()
    assert "The 0312" in client.get("/quorum/").content.decode()
    assert (
        "CONFIG" in client.get("/quorum/_incident/state/?kind=partition").content.decode().upper()
    )
    offset = MetadataChange.objects.filter(log=log, is_dated=True).first().offset
    assert "Raw record" in client.get(f"/quorum/_incident/records/{offset}/").content.decode()


def rows_of(log):
    fields = ("offset", "kind", "type", "subject__key", "cause", "election", "is_removed", "state")
    found = MetadataChange.objects.filter(log=log).values_list(*fields, "at", "is_dated", "broker")
    return sorted(found, key=str)


def answered(run, folder):
    """End the run as Spark does: its tables are written, its document is there."""
    launch_run(run.pk, NOW, StubLauncher())
    run.refresh_from_db()
    tables = tables_of(run)
    write_partitions(read_folder(folder), tables, 0, 1)
    document = document_of(metadata_history.ANALYSIS, run.arguments, Answer(), tables, 1.0)
    finish_run(run.pk, RunState.SUCCEEDED, NOW, summary=document)


def test_what_spark_made_of_the_partitions_is_what_the_live_fold_makes(
    settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.CROSSLOG_RUNS_DIR = tmp_path / "runs"
    folder = METADATA_FOLDER
    folded = make_log(make_cluster("east"), start_offset=None, next_offset=0)
    for portion in LogFold().begin(folder):
        save_portion(folded, portion, NOW)
    log = MetadataLog.objects.create(name="_it", source="import", created_at=NOW)
    shutil.copytree(folder, archive_of(log))
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    assert log.lost == imports.READING
    run = Run.objects.get()
    with django_capture_on_commit_callbacks() as later:
        answered(run, folder)
    assert len(later) == 1
    imports.take_run(run.pk, NOW)
    assert rows_of(log) == rows_of(folded)
    log.refresh_from_db()
    assert (log.lost, log.next_offset) == ("", folded.next_offset)


def test_a_run_that_failed_is_reported_on_the_page_of_its_log():
    log = MetadataLog.objects.create(name="_it", source="import", created_at=NOW)
    run = Run.objects.create(
        kind="metadata-history",
        question_key="x",
        arguments={"log": "_it"},
        state=RunState.FAILED,
        error="no room left in /archive",
        created_at=NOW,
    )
    imports.take_run(run.pk, NOW)
    log.refresh_from_db()
    assert log.lost == "The partition changes were not read: no room left in /archive"


def test_more_changes_of_partitions_than_pages_can_show_stay_in_parquet(tmp_path):
    log = MetadataLog.objects.create(name="_it", source="import", created_at=NOW)
    imports.take_partitions(log, tmp_path, imports.MOST_ROWS + 1, NOW)
    log.refresh_from_db()
    assert "50,001 partition changes, too many" in log.lost


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "a b", "file": text_file()}, "Letters, digits"),
        ({"name": "notes", "file": text_file()}, "notes.txt"),
        ({"name": "nothing"}, "required"),
    ],
    ids=["a bad name", "no archive", "no file"],
)
def test_what_cannot_be_imported_is_reported_and_leaves_nothing(
    sign_in, operator, archive, fields, told
):
    page = sign_in(operator).post(ADDRESS, fields)
    assert page.status_code == 200
    assert told in page.content.decode() or "archive" in page.content.decode()
    assert not MetadataLog.objects.exists()
    assert not list(archive.glob("metadata/*"))


def test_an_upload_that_is_too_large_is_not_taken(sign_in, operator, settings):
    settings.METADATA_UPLOAD_MB = 1
    file = text_file(b"x" * (2 * 1024 * 1024))
    page = sign_in(operator).post(ADDRESS, {"name": "large", "file": file})
    assert page.status_code in {200, 400}
    assert not MetadataLog.objects.exists()


def test_viewers_do_not_import(sign_in, viewer):
    assert sign_in(viewer).post(ADDRESS, {"name": "x", "file": text_file()}).status_code == 403


def test_nothing_is_imported_while_crosslog_is_read_only(sign_in, operator, settings):
    settings.CROSSLOG_READ_ONLY = True
    page = sign_in(operator).post(ADDRESS, {"name": "x", "file": text_file()}).content.decode()
    assert "read-only" in page
    assert not MetadataLog.objects.exists()


def test_an_imported_log_is_seen_only_with_a_role_everywhere(client):
    from tests.console.safety.world import make_person

    make_cluster("east")
    log = MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    assert archive_of(log).name == str(log.pk)
    client.force_login(make_person("eva", east="operator"))
    assert client.get("/quorum/_old/").status_code in {403, 404}
    assert "_old" not in client.get("/quorum/").content.decode()


API = "/api/v1/quorum/imports/"
REMOVED = {"remove-confirm": "_old"}


def test_a_program_imports_once_however_often_it_sends(sign_in, operator):
    client, file, sent = sign_in(operator), packed(), []
    for _ in range(2):
        file.seek(0)
        fields = {"name": "incident", "file": file}
        sent.append(client.post(API, fields, headers={"Idempotency-Key": "a"}))
    assert [answer.status_code for answer in sent] == [201, 201]
    assert sent[1].headers["Idempotent-Replayed"] == "true"
    assert [one["cluster"] for one in client.get(API).json()["results"]] == ["_incident"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "a b", "file": text_file()}, "name"),
        ({"name": "notes", "file": text_file()}, "file"),
        ({"name": "nothing"}, "file"),
    ],
    ids=["a bad name", "no archive", "no file"],
)
def test_a_program_learns_at_which_field_it_went_wrong(sign_in, operator, fields, field):
    answer = sign_in(operator).post(API, fields)
    assert answer.status_code in {400, 409}
    assert field in answer.json()["fields"]
    assert not MetadataLog.objects.exists()


def test_a_forgotten_log_takes_its_archive_with_it(
    sign_in, operator, archive, django_capture_on_commit_callbacks
):
    log = MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    archive_of(log).mkdir(parents=True)
    with django_capture_on_commit_callbacks(execute=True):
        answer = sign_in(operator).delete(f"{API}_old/")
    assert answer.status_code == 204
    assert not MetadataLog.objects.exists()
    assert not archive_of(log).exists()


def test_the_log_of_a_cluster_is_not_forgotten_so(sign_in, operator):
    MetadataLog.objects.create(name="east", cluster=make_cluster("east"), created_at=NOW)
    client = sign_in(operator)
    assert client.delete(f"{API}east/").json()["code"] == "not_imported"
    assert client.post("/quorum/east/forget/")["Location"] == "/quorum/east/"
    assert client.delete(f"{API}nowhere/").status_code == 404
    assert MetadataLog.objects.filter(name="east").exists()


def test_the_page_of_an_imported_log_forgets_it(sign_in, operator):
    MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    client = sign_in(operator)
    assert "Remove old (imported)" in client.get("/quorum/_old/").content.decode()
    assert client.post("/quorum/_old/forget/", REMOVED)["Location"] == "/quorum/"
    assert not MetadataLog.objects.exists()


@pytest.mark.parametrize("typed", [{}, {"remove-confirm": "old"}], ids=["nothing", "the title"])
def test_an_imported_log_stays_until_its_name_is_typed(sign_in, operator, typed):
    MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    page = sign_in(operator).post("/quorum/_old/forget/", typed, follow=True).content.decode()
    assert "was not removed. Type its name to confirm: _old" in page
    assert MetadataLog.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "east"}, "name"),
        ({"name": "East"}, "name"),
        ({"name": "x", "title": "east"}, "title"),
        ({"name": "x", "title": "Incident"}, "title"),
        ({"name": "incident"}, "name"),
    ],
    ids=["cluster", "cluster in capitals", "title of a cluster", "title", "title of another"],
)
def test_an_import_is_called_like_nothing_else(sign_in, operator, fields, field):
    make_cluster("east")
    MetadataLog.objects.create(name="_old", title="Incident", source="import", created_at=NOW)
    answer = sign_in(operator).post(API, {**fields, "file": text_file()})
    assert (answer.json()["code"], list(answer.json()["fields"])) == ("name_taken", [field])


def test_a_log_that_was_imported_says_so_wherever_it_is_named():
    log = MetadataLog.objects.create(name="_old", title="east", source="import", created_at=NOW)
    assert log.label == "east (imported)"
    assert make_log(make_cluster("east")).label == "east"


def test_a_refusal_names_the_file_as_its_owner_calls_it(sign_in, operator, tmp_path):
    (tmp_path / "empty").mkdir()
    page = sign_in(operator).post(ADDRESS, {"name": "x", "file": packed(tmp_path / "empty")})
    assert "node-1.tar.gz has no segment" in page.content.decode()
    assert str(tmp_path) not in page.content.decode()


def test_the_page_says_how_far_a_log_is_read_and_reads_it_again(
    sign_in, operator, django_capture_on_commit_callbacks
):
    client = sign_in(operator)
    client.post(ADDRESS, {"name": "incident", "file": packed()})
    log = MetadataLog.objects.get()
    page = client.get("/quorum/_incident/").content.decode()
    assert imports.WAITING in page
    with django_capture_on_commit_callbacks() as later:
        client.post("/quorum/_incident/read/")
    assert len(later) == 1
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    imports.tell_failure(log, "no room left")
    page = client.get("/quorum/_incident/").content.decode()
    assert "no room left" in page
    assert "Read again" in page
    assert client.post(f"{API}_incident/read/").json()["lost"] == imports.WAITING


def test_the_log_of_a_cluster_is_not_read_like_an_import(sign_in, operator):
    make_log(make_cluster("east"))
    assert sign_in(operator).post(f"{API}east/read/").json()["code"] == "not_imported"


def test_pages_of_an_imported_log_show_its_own_time(sign_in, operator):
    client = sign_in(operator)
    client.post(ADDRESS, {"name": "incident", "file": packed()})
    log = MetadataLog.objects.get()
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    first = MetadataChange.objects.order_by("at").first().at
    for name in ("voters", "brokers", "settings", "log", "partitions"):
        shown = client.get(f"/quorum/_incident/{name}/").context["time_range"]
        assert (shown.start, shown.end) == (first, log.last_at + timedelta(seconds=1))
    for other in ("range=5m", "from=now-6h&to=now", "from=2001-01-01&to=2001-01-02", "range=x"):
        shown = client.get(f"/quorum/_incident/voters/?{other}").context["time_range"]
        assert (shown.start, shown.end) == (first, log.last_at + timedelta(seconds=1))
    within = client.get(f"/quorum/_incident/voters/?from={first:%Y-%m-%dT%H:%M:%S}Z")
    assert within.context["time_range"].start == first.replace(microsecond=0)
    assert within.context["time_range"].end == log.last_at
    lanes = client.get("/quorum/_incident/voters/").context["lanes"]
    assert "Voter change planner" not in client.get("/quorum/_incident/voters/").content.decode()
    assert lanes is not None
    assert client.get("/quorum/_incident/advisor/").status_code == 404
