"""Rows written in bulk are what the ORM itself would have written."""

from datetime import timedelta

import pytest

from console.availability.status.broker_models import Source
from console.availability.status.models import PartitionStatus
from console.clusters.collection.rows import insert, update, update_changed
from jobs.availability.status.severity import Severity
from tests.console.making import NOW, make_cluster

pytestmark = pytest.mark.django_db
VALUES = {
    "topic": "orders", "topic_id": "id", "leader": None, "leader_epoch": 7, "replicas": [1, 2, 3],
    "isr": [], "elr": None, "adding": [4], "observers": [], "min_insync_replicas": 2,
    "severity": Severity.OFFLINE, "is_rf_below_min": True, "missing_count": 3, "source": Source.LOG,
    "since": NOW, "seen_at": NOW, "known_since": NOW, "cause": "é 🎉", "offset": 2**40,
}  # fmt: skip


def status(cluster, number: int, **values) -> PartitionStatus:
    named = {"cluster": cluster, "key": f"id:{number}", "partition": number}
    return PartitionStatus(**VALUES | named | values)


def stored(number: int) -> dict:
    values = PartitionStatus.objects.values().get(partition=number)
    return {n: value for n, value in values.items() if n not in {"id", "key", "partition"}}


def test_new_rows_are_as_the_orm_writes_them():
    cluster = make_cluster("east")
    PartitionStatus.objects.bulk_create([status(cluster, 1)])
    insert(PartitionStatus, [status(cluster, 2)])
    assert stored(1) == stored(2)


def test_changed_rows_are_as_the_orm_writes_them():
    cluster = make_cluster("east")
    later = {"isr": [2], "leader": 2, "severity": Severity.OK, "since": NOW + timedelta(seconds=5)}
    for number in (1, 2):
        status(cluster, number).save()
    one, other = PartitionStatus.objects.order_by("partition")
    for row in (one, other):
        for name, value in later.items():
            setattr(row, name, value)
    one.save()
    update(PartitionStatus, [other], list(later))
    assert stored(1) == stored(2)


def test_of_each_row_only_the_named_fields_are_written():
    cluster = make_cluster("east")
    for number in (1, 2):
        status(cluster, number).save()
    rows = list(PartitionStatus.objects.order_by("partition"))
    for row in rows:
        row.leader, row.cause = 3, "other"
    update_changed(PartitionStatus, [(rows[0], {"leader"}), (rows[1], {"cause"})])
    told = PartitionStatus.objects.order_by("partition").values_list("leader", "cause")
    assert list(told) == [(3, "é 🎉"), (None, "other")]
