"""A metadata log is judged by the same rules, followed or imported: at its own end, with begin and end."""

import shutil
from datetime import UTC, datetime

import pytest

from console.findings.models import Finding
from console.findings.queries import open_findings
from console.quorum import queries
from console.quorum.facts import quorum_facts
from console.quorum.log import imports
from console.quorum.log.archives import archive_of
from console.quorum.log.log_fold import LogFold
from console.quorum.log.store import save_portion
from console.quorum.models import ControllerSilence, Election, MetadataLog
from console.quorum.voters.evaluation import judge_log
from console.quorum.voters.verdict import verdict_of
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_log, make_status
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log, voters

pytestmark = pytest.mark.django_db
THREE = voters(1, 2, 3)
BEGAN_MS = 1_800_000_000_000


def started() -> Log:
    log = Log(epoch=0, at_ms=BEGAN_MS).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE)
    return log.together(3).noop(30)


def at(ms):
    return datetime.fromtimestamp(ms / 1000, UTC)


def incident() -> Log:
    """Two epochs without a leader, 6.8 s without a controller, then a pause of the leader of 3 s."""
    log = started().leader(2, [1, 2, 3], epoch=4, after_ms=6_800).noop(10)
    return log.wait(2_500).noop(10)


@pytest.fixture(autouse=True)
def archive(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    return tmp_path


def imported(log, archive):
    row = MetadataLog.objects.create(name="_it", source="import", created_at=NOW)
    shutil.copytree(write_folder(archive / "uploaded", log), archive_of(row))
    imports.fold_import(row.pk, NOW)
    return queries.list_logs().get(pk=row.pk)


def followed(log, archive, now_ms=None):
    row = make_log(make_cluster("east"), start_offset=None, next_offset=0)
    folder = write_folder(archive / "followed", log)
    fold = LogFold()
    for portion in fold.begin(folder):
        save_portion(row, portion, NOW)
    judge_log(row, fold.timeline(None), at(now_ms or log.at_ms))
    return row


def findings_of(log):
    fields = ("code", "subject", "sentence", "opened_at", "closed_at")
    return sorted(Finding.objects.filter(log=log).values_list(*fields), key=str)


def test_an_imported_log_has_the_findings_of_a_followed_one(archive):
    told = incident()
    one = imported(told, archive)
    assert findings_of(one) == findings_of(followed(told, archive))
    assert {code for code, *_ in findings_of(one)} == {"epoch_jump", "no_active_controller"}
    assert (one.verdict.severity, one.verdict.word) == ("warning", "2 findings")
    assert one.judged_at == one.last_at


def test_what_is_over_by_the_end_of_an_imported_log_is_found_all_the_same(archive):
    one = imported(incident().noop(3_000), archive)
    assert all(closed for *_, closed in findings_of(one))
    assert one.verdict.word == "2 findings"


def test_an_imported_log_in_which_nothing_happened_was_judged(archive, sign_in, viewer):
    one = imported(started(), archive)
    assert (one.verdict.severity, one.verdict.word) == ("healthy", "Healthy")
    page = sign_in(viewer).get("/quorum/_it/").content.decode()
    assert "No findings at the end of the log" in page


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "crosslog is reading the log"),
        ({"heard_at": NOW, "last_at": NOW}, "an earlier version of crosslog imported it"),
        ({"heard_at": NOW, "judged_at": NOW}, "none of its records has a time"),
        ({"failing_since": NOW, "error": "It cannot be read: no segment"}, "no segment"),
    ],
    ids=["not read yet", "read by an earlier version", "without times", "not readable"],
)
def test_an_imported_log_that_was_not_judged_is_unknown_everywhere(sign_in, viewer, fields, why):
    MetadataLog.objects.create(name="_it", source="import", created_at=NOW, **fields)
    verdict = queries.list_logs().get().verdict
    assert (verdict.severity, verdict.word) == ("unknown", "Unknown")
    assert why in verdict.why
    client = sign_in(viewer)
    for path in ("/quorum/", "/quorum/_it/"):
        page = client.get(path).content.decode()
        assert "Unknown" in page
        assert why in page
    told = client.get("/api/v1/quorum/_it/").json()["verdict"]
    assert (told["word"], why in told["why"]) == ("Unknown", True)


def test_an_archive_that_is_damaged_is_reported_and_waits_for_nothing(archive):
    row = MetadataLog.objects.create(name="_it", source="import", created_at=NOW)
    folder = archive_of(row)
    shutil.copytree(write_folder(archive / "uploaded", started()), folder)
    (folder / "manifest.json").write_text("{")
    imports.fold_import(row.pk, NOW)
    told = queries.list_logs().get().verdict
    assert (told.word, "is damaged" in told.why) == ("Unknown", True)


def test_a_cluster_that_was_never_described_is_unknown():
    make_cluster("east")
    assert verdict_of(queries.get_log("east"), NOW).word == "Unknown"


def test_findings_of_an_imported_log_are_no_news_of_now(archive):
    imported(incident(), archive)
    assert not open_findings().exists()


def test_the_rows_of_elections_say_their_anomalies(archive):
    log = followed(incident(), archive)
    told = [one.oddities for one in Election.objects.filter(log=log)]
    assert told == [[], ["2 epochs without a leader", "no controller for 6.8\N{NO-BREAK SPACE}s"]]
    (pause,) = ControllerSilence.objects.filter(log=log)
    assert round((pause.to_at - pause.from_at).total_seconds() * 1000) == 3_000


def storm() -> Log:
    log = started()
    for number in range(6):
        log.leader(number % 3 + 1, [1, 2, 3]).noop(3)
    return log


def test_each_election_of_a_storm_is_marked_also_the_first_ones(archive):
    log = followed(storm(), archive)
    assert [one.oddities for one in Election.objects.filter(log=log)] == [["election storm"]] * 7


def test_a_storm_ends_with_its_last_election(archive):
    told = storm()
    log = followed(told, archive)
    assert Finding.objects.get(code="election_storm").closed_at is None
    first, last = (
        Election.objects.filter(log=log).order_by("offset").values_list("at", flat=True)[0:7:6]
    )
    fold = LogFold()
    list(fold.begin(archive / "followed" / "__cluster_metadata-0"))
    for minutes in (11, 12, 13):
        judge_log(log, fold.timeline(None), at(told.at_ms + minutes * 60_000))
    found = Finding.objects.get(code="election_storm")
    assert (found.opened_at, found.closed_at) == (first, last)
    assert found.duration_ms == round((last - first).total_seconds() * 1000)


def test_an_ended_finding_shows_the_times_and_how_long_it_lasted(archive, sign_in, viewer):
    told = storm()
    make_status(followed(told, archive, told.at_ms + 11 * 60_000))
    page = sign_in(viewer).get("/quorum/east/").content.decode()
    assert "15 Jan 08:00:00" in page
    assert "Duration" in page


def test_what_was_over_before_it_was_seen_is_kept_once(archive):
    told = storm()
    log = followed(told, archive, told.at_ms + 11 * 60_000)
    fold = LogFold()
    list(fold.begin(archive / "followed" / "__cluster_metadata-0"))
    judge_log(log, fold.timeline(None), at(told.at_ms + 12 * 60_000))
    assert Finding.objects.get(code="election_storm").closed_at is not None


def test_an_imported_log_shows_what_there_was_at_its_end(archive):
    told = {one["label"]: one["value"] for one in quorum_facts(imported(incident(), archive))}
    assert told["Leader at its end"] == "2"
    assert told["Voters at its end"] == "3"
    assert told["Elections"] == "2"
    assert told["Longest leaderless time"].replace("\N{NO-BREAK SPACE}", " ") == "6.8 s"
