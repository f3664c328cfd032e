import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.replication.failover.applying import apply_group
from jobs.replication.failover.reports.report import (
    RunFacts,
    RunKind,
    build_report,
)
from jobs.replication.failover.reports.signing import (
    BadReport,
    SigningKey,
    kept_key,
    verify,
)
from tests.jobs.replication.failover.making import GROUP, PaperDoor, failover_evidence, plan_of

AT = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)


@pytest.fixture
def key(tmp_path):
    return kept_key(tmp_path / "home" / "report-key.pem")


def report(kind=RunKind.APPLY, **facts):
    plan = plan_of(failover_evidence())
    outcome = apply_group(PaperDoor(), plan.group(GROUP), None, lambda _: None)
    values = {"state": "succeeded", "plan_name": "night", "asked_by": "ana"} | facts
    run = RunFacts("4711", kind, started_at=AT, finished_at=AT + timedelta(seconds=3), **values)
    return build_report(run, plan, [outcome])


def test_a_report_has_plan_outcome_and_who_asked():
    found = report()
    assert (found["format"], found["asked_by"], found["started_at"]) == (
        "crosslog.failover-report", "ana", "2026-11-21T03:12:00.000Z",
    )  # fmt: skip
    (group,) = found["groups"]
    assert group["plan"]["items"][0]["lo"] == 41
    assert group["outcome"]["items"][0]["after"] == 41


def test_a_signature_is_verified_with_the_public_key_after_a_way_through_json(key):
    document = json.loads(json.dumps(key.sign(report())))
    assert verify(document, key.public_pem) == key.key_id
    assert verify(document) == key.key_id


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d["report"].update(asked_by="eve"), id="the report"),
        pytest.param(lambda d: d["signature"].update(value="AAAA"), id="the signature"),
        pytest.param(lambda d: d["signature"].pop("value"), id="no signature"),
        pytest.param(lambda d: d["signature"].update(algorithm="none"), id="the algorithm"),
        pytest.param(lambda d: d.pop("report"), id="no report"),
    ],
)
def test_whatever_was_changed_is_found(key, change):
    document = key.sign(report())
    change(document)
    with pytest.raises(BadReport):
        verify(document, key.public_pem)


def test_a_report_of_somebody_else_is_not_ours(key, tmp_path):
    other = kept_key(tmp_path / "other.pem")
    with pytest.raises(BadReport, match="another key"):
        verify(other.sign(report()), key.public_pem)


@pytest.mark.parametrize("document", [None, [], "x", {"report": 1, "signature": {}}, {}])
def test_what_is_no_report_is_said_to_be_none(document):
    with pytest.raises(BadReport):
        verify(document)


def test_the_key_is_made_once_and_only_for_its_owner(tmp_path):
    path = tmp_path / "report-key.pem"
    assert kept_key(path).key_id == kept_key(path).key_id
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("pem", ["", "-----BEGIN NOTHING-----"])
def test_what_is_no_key_is_refused(pem):
    with pytest.raises(ValueError, match="private key"):
        SigningKey.from_pem(pem)


def test_fractions_are_not_signed(key):
    with pytest.raises(ValueError, match="cannot be signed"):
        key.sign({"lag": 0.5})
