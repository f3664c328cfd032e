"""What `report_data` writes of clusters: their metadata logs, spans of partitions, elections, settings.

Each out-of-sync span is two changes of the metadata log.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import availability_pages as partitions

CLUSTERS = ("east", "west")
MONTH = timedelta(days=30)
MONTHS = 2
ELECTIONS = 100
CONFIGS = 2000
FENCINGS = 100


@dataclass(frozen=True)
class Size:
    """How much there is: flows, topics of 50 partitions in each cluster, spans of each kind in a month.

    `step_s` is how far apart samples of lag are.
    """

    flows: int
    topics: int
    spans: int
    step_s: int


def insert(model: Any, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of the values of these columns, the others by their defaults, without objects."""
    from django.db import connection, transaction

    fields = {one.attname: one for one in model._meta.concrete_fields if not one.primary_key}
    rest = [name for name in fields if name not in names]
    same = [fields[name].get_db_prep_save(fields[name].get_default(), connection) for name in rest]
    columns = ", ".join(f'"{fields[name].column}"' for name in (*names, *rest))
    marks = ", ".join(["%s"] * len(fields))
    sql = f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({marks})'
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(sql, ((*row, *same) for row in rows))


def stored(at: datetime) -> str:
    """Return a moment as SQLite holds it."""
    return at.replace(tzinfo=None).isoformat(sep=" ")


def fill_cluster(cluster: Any, size: Size, end: datetime, now: datetime, chance: Any) -> None:
    """Write the metadata log of a cluster, what was taken in of it, and what happened in the months."""
    from console.availability.collection import collect
    from console.quorum.models import MetadataLog

    start = end - MONTHS * MONTH
    log = MetadataLog.objects.create(
        cluster=cluster, name=cluster.alias, created_at=start, start_offset=0, heard_at=now,
        last_at=now,
    )  # fmt: skip
    subjects = partitions.write_history(log, size.topics, start - timedelta(days=3))
    partitions.read_all(collect, cluster, now)
    spans = MONTHS * size.spans // len(CLUSTERS)
    begins = sorted(chance.uniform(0, MONTHS * MONTH.total_seconds()) for _ in range(spans))
    at = [start + timedelta(seconds=seconds) for seconds in begins]
    add_severities(cluster, subjects, at, chance)
    offsets = count(2_000_000)
    add_absences(cluster, log, subjects, at, offsets, chance)
    add_quorum(log, start, offsets, chance)
    add_counts(cluster, start, end, chance)
    MetadataLog.objects.filter(pk=log.pk).update(next_offset=next(offsets))


def add_severities(cluster: Any, subjects: Sequence[Any], at: Sequence[datetime], chance: Any):
    """Write spans of all severities, one as often as the other."""
    from console.availability.status.models import SeveritySpan

    names = (
        "cluster_id", "key", "topic", "partition", "source", "began_at", "ended_at", "cause",
        "cause_broker", "severity",
    )  # fmt: skip
    insert(
        SeveritySpan,
        names,
        (
            (
                cluster.pk, one.key, one.topic, one.partition, "log", stored(begin),
                stored(begin + timedelta(seconds=chance.expovariate(1 / 90))), "broker_fenced",
                1 + number % partitions.BROKERS, 1 + number % 4,
            )
            for number, begin in enumerate(at)
            for one in (chance.choice(subjects),)
        ),
    )  # fmt: skip


def add_absences(
    cluster: Any,
    log: Any,
    subjects: Sequence[Any],
    at: Sequence[datetime],
    offsets: Any,
    chance: Any,
) -> None:
    """Write out-of-sync spans, and the two changes of each in the metadata log."""
    from console.availability.status.models import OutOfSyncSpan

    absences, changes = [], []
    for begin in at:
        one = chance.choice(subjects)
        replicas = partitions.replicas_of(one.partition)
        gone = chance.choice(replicas)
        over = begin + timedelta(seconds=chance.expovariate(1 / 90))
        absences.append(
            (
                cluster.pk,
                one.key,
                one.topic,
                one.partition,
                "log",
                stored(begin),
                stored(over),
                gone,
            )
        )
        left = [broker for broker in replicas if broker != gone]
        changes.append((begin, one, partitions.partition_state(one, left), "isr_shrink", gone))
        changes.append((over, one, partitions.partition_state(one, replicas), "isr_expand", gone))
    names = (
        "cluster_id", "key", "topic", "partition", "source", "began_at", "ended_at", "broker",
    )  # fmt: skip
    insert(OutOfSyncSpan, names, absences)
    write_changes(log, changes, offsets)


def write_changes(log: Any, changes: list[Any], offsets: Any) -> None:
    """Write changes of the metadata log: moment, subject, state, cause, broker."""
    from console.quorum.models import MetadataChange

    changes.sort(key=lambda one: one[0])
    names = (
        "log_id", "offset", "effective_offset", "subject_id", "kind", "type", "epoch", "at", "topic",
        "topic_id", "partition", "broker", "cause", "state",
    )  # fmt: skip
    insert(
        MetadataChange,
        names,
        (
            (
                log.pk, offset, offset, one.pk, one.kind, "RECORD", 1, stored(at), one.topic,
                one.topic_id, one.partition, broker, cause, json.dumps(state),
            )
            for at, one, state, cause, broker in changes
            for offset in (next(offsets),)
        ),
    )  # fmt: skip


def add_quorum(log: Any, start: datetime, offsets: Any, chance: Any) -> None:
    """Write elections, voter sets, fenced brokers and settings of the months."""
    from console.quorum.models import Election, Kind, MetadataSubject, VoterSetEntry

    def moments(how_many: int) -> list[datetime]:
        seconds = MONTHS * MONTH.total_seconds()
        found = sorted(chance.uniform(0, seconds) for _ in range(MONTHS * how_many))
        return [start + timedelta(seconds=one) for one in found]

    voters = [{"id": one, "directory_id": f"directory-{one}"} for one in (1, 2, 3)]
    VoterSetEntry.objects.bulk_create(
        VoterSetEntry(log=log, offset=next(offsets), epoch=1, at=at, voters=voters)
        for at in [start - timedelta(days=1), *moments(2)]
    )
    Election.objects.bulk_create(
        Election(
            log=log, offset=next(offsets), epoch=number, at=at, leader_id=1 + number % 3,
            voters=voters, gap_ms=chance.randint(20, 2000),
        )
        for number, at in enumerate(moments(ELECTIONS))
    )  # fmt: skip
    brokers = list(MetadataSubject.objects.filter(log=log, kind=Kind.BROKER))
    settings = MetadataSubject.objects.bulk_create(
        MetadataSubject(
            log=log, kind=Kind.CONFIG, key=f"topic:topic-{number:04}:retention.ms", first_offset=1
        )
        for number in range(50)
    )
    changes = []
    for at in moments(FENCINGS):
        one = chance.choice(brokers)
        state = partitions.broker_state(one)
        back = at + timedelta(seconds=chance.expovariate(1 / 90))
        changes.append((at, one, state | {"is_fenced": True}, "broker_fenced", one.broker))
        changes.append((back, one, state, "broker_unfenced", one.broker))
    for number, at in enumerate(moments(CONFIGS)):
        value = {"value": str(3_600_000 + number)}
        changes.append((at, chance.choice(settings), value, "", None))
    write_changes(log, changes, offsets)


def add_counts(cluster: Any, start: datetime, end: datetime, chance: Any) -> None:
    """Write the worst counts of each hour, of the cluster as a whole and of each broker."""
    from console.availability.status.broker_models import CountSample

    hours = range(int(start.timestamp()), int(end.timestamp()), 3600)
    scopes = [("cluster", ""), *(("broker", str(one + 1)) for one in range(partitions.BROKERS))]
    names = ("cluster_id", "kind", "name", "step_s", "at_s", "under_min_isr", "offline")
    insert(
        CountSample,
        names,
        (
            (cluster.pk, *scope, 3600, at_s, chance.randint(0, 90), chance.randint(0, 9))
            for scope in scopes
            for at_s in hours
        ),
    )
