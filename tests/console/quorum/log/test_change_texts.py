"""Texts of changes of a metadata log: bounded per row and per day, and said."""

import pytest

from console.findings.models import Finding
from console.quorum.log.change_rows import row_of
from console.quorum.log.change_texts import TextLimit
from console.quorum.log.log_fold import Portion
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataChange, MetadataSubject
from jobs import limits
from jobs.quorum.history.changes import AclChange, Cause, ConfigChange
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
COMMON = {"epoch": 1, "timestamp_ms": int(NOW.timestamp() * 1000), "batch_offset": 0}


@pytest.fixture
def log():
    return make_log(make_cluster("east"))


def setting(offset, value, topic="orders"):
    return ConfigChange(
        offset=offset,
        cause=Cause.BROKER_REGISTERED,
        resource_type="TOPIC",
        resource_name=topic,
        name="retention.ms",
        value=value,
        previous_value=None,
        **COMMON,
    )


def acl(offset, principal, resource="orders"):
    codes = {"resource_type": 2, "pattern_type": 3, "operation": 3, "permission_type": 3}
    return AclChange(
        offset=offset,
        cause=Cause.BROKER_REGISTERED,
        acl_id=f"acl-{offset}",
        resource_name=resource,
        principal=principal,
        host="*",
        **codes,
        **COMMON,
    )


def save(log, *changes):
    save_portion(log, Portion([(one, 0, None) for one in changes]), NOW)


def texts(name):
    return [row.state[name] for row in MetadataChange.objects.order_by("offset")]


def test_a_setting_as_long_as_a_reassignment_writes_it_is_kept_whole(log):
    save(log, setting(1, "1:2," * 2_250))
    assert len(texts("value")[0]) == 9_000
    assert not Finding.objects.exists()


def test_longer_settings_are_cut_stay_different_and_are_said(log):
    save(log, setting(1, "x" * 60_000 + "a"), setting(2, "x" * 60_000 + "b"))
    one, other = texts("value")
    assert len(one) == len(other) == limits.VALUE
    assert one != other
    finding = Finding.objects.get()
    assert (finding.code, finding.evidence["texts"]) == ("texts_cut", 2)
    assert finding.closed_at == NOW
    assert "At least 2 texts of changes were cut" in finding.sentence
    save(log, setting(3, "x" * 60_000 + "c"))
    assert Finding.objects.count() == 1


@pytest.mark.parametrize("text", ["p" * 32_000, "User:a\0b"], ids=["long", "NUL"])
def test_a_principal_that_no_database_takes_is_cut(log, text):
    save(log, acl(1, text), acl(2, "User:b", text))
    assert all(
        len(row.name) <= 600 and "\0" not in row.name for row in MetadataSubject.objects.all()
    )
    assert "\0" not in "".join([*texts("principal"), *texts("resource_name")])


def test_subjects_whose_names_begin_alike_stay_two(log):
    save(log, setting(1, "1", "t" * 700 + "a"), setting(2, "2", "t" * 700 + "b"))
    assert MetadataSubject.objects.count() == 2


def test_when_a_day_has_its_characters_texts_are_cut_to_a_line(log):
    save(log, *(setting(number, "x" * 9_000) for number in range(20)))
    limit = TextLimit(log, NOW, per_day=150_000)
    rows = [limit.within(row_of(setting(number, "y" * 9_000))) for number in range(20, 50)]
    longest = [len(one.state["value"]) for one in rows]
    assert longest[-1] == limits.TEXT
    assert sum(longest) < 150_000
