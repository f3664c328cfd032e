"""Imported logs: an archive of a node's folder becomes a history of its own, or is refused with a reason."""

import io
import tarfile
from pathlib import Path

import pytest

from console.quorum.log import imports
from console.quorum.log.archives import archive_of
from console.quorum.models import MetadataChange, MetadataLog
from tests.console.making import NOW

FOLDER = Path(__file__).parents[5] / "shared/conformance/kraft_log/node-1"
needs_log = pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/conformance is not there")
pytestmark = pytest.mark.django_db
ADDRESS = "/quorum/-/import/"


@pytest.fixture(autouse=True)
def archive(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    return tmp_path


def packed(folder=FOLDER):
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


@needs_log
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
    assert MetadataChange.objects.filter(log=log, kind="topic").exists()
    assert "The 0312" in client.get("/quorum/").content.decode()
    assert (
        "CONFIG" in client.get("/quorum/_incident/state/?kind=partition").content.decode().upper()
    )
    offset = MetadataChange.objects.filter(log=log, is_dated=True).first().offset
    assert (
        "As it stands in the log"
        in client.get(f"/quorum/_incident/records/{offset}/").content.decode()
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "a b", "file": text_file()}, "Letters, digits"),
        ({"name": "notes", "file": text_file()}, "notes.txt"),
        ({"name": "nothing"}, "required"),
    ],
    ids=["a bad name", "no archive", "no file"],
)
def test_what_cannot_be_imported_is_told_and_leaves_nothing(
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
    from tests.console.making import make_cluster
    from tests.console.safety.world import make_person

    make_cluster("east")
    log = MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    assert archive_of(log).name == str(log.pk)
    client.force_login(make_person("eva", east="operator"))
    assert client.get("/quorum/_old/").status_code in {403, 404}
    assert "_old" not in client.get("/quorum/").content.decode()


API = "/api/v1/quorum/imports/"


@needs_log
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
def test_a_program_is_told_at_which_field_it_went_wrong(sign_in, operator, fields, field):
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
    from tests.console.making import make_cluster

    MetadataLog.objects.create(name="east", cluster=make_cluster("east"), created_at=NOW)
    client = sign_in(operator)
    assert client.delete(f"{API}east/").json()["code"] == "not_imported"
    assert client.post("/quorum/east/forget/")["Location"] == "/quorum/east/"
    assert client.delete(f"{API}nowhere/").status_code == 404
    assert MetadataLog.objects.filter(name="east").exists()


def test_the_page_of_an_imported_log_forgets_it(sign_in, operator):
    MetadataLog.objects.create(name="_old", title="old", source="import", created_at=NOW)
    client = sign_in(operator)
    assert "Forget old" in client.get("/quorum/_old/").content.decode()
    assert client.post("/quorum/_old/forget/")["Location"] == "/quorum/"
    assert not MetadataLog.objects.exists()
