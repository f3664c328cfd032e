"""Rows that fill every page: two clusters, one of them unwell, flows in several states, their runs."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth import get_user_model

from console.clusters.models import (
    Broker,
    Cluster,
    CollectionRound,
    Group,
    GroupOffset,
    Noun,
    Partition,
    Topic,
)
from console.replication.checkpoints.rounds.collect import collect_readiness
from console.replication.findings.models import FlowWatch
from console.replication.flows.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowPartition,
    FlowRound,
    FlowTopic,
    LagSample,
    ReadinessChange,
    ReplicationFlow,
)
from console.reports.models import Report
from console.runs.models import RunState
from console.schedules.firing import Time, write_firing
from console.schedules.models import Outcome
from console.schedules.starters import Started
from console.streams.models import StreamsApplication
from jobs.availability.status.severity import Severity
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.topic import GroupPartition
from jobs.replication.translation.translator import Translator
from tests.console.availability.making import make_available
from tests.console.availability.placed_world import document, make_rule
from tests.console.availability.promotion_world import fill_promotion_pages
from tests.console.checks.making import make_objectives, make_setting, make_window
from tests.console.delivery.making import make_delivery, make_report_run
from tests.console.findings.incident_rows import make_incident
from tests.console.making import make_cluster, make_flow, make_partition, make_run, progress
from tests.console.notifications.making import make_route
from tests.console.quorum.making import make_quorum
from tests.console.replication.failover_world import make_rehearsed, two_groups
from tests.console.replication.finding import make_finding
from tests.console.replication.readiness_world import StubCheckpoints
from tests.console.runs.engine_rows import make_engine, report
from tests.console.schedules.making import make_schedule
from tests.console.streams import making as streams
from tests.console.tracing.making import make_extractor
from tests.console.tracing.replays.making import make_redrive
from tests.jobs.cluster.capabilities.recorded import recorded, recorded_cluster
from tests.jobs.reports.rendering.sample import document as document_of_all_blocks

PASSWORD = "a password of ana"
RUN = UUID("8d3f0c55-7a51-4a5e-9d0e-2f6b7d1c9a01")
TOPICS = ("orders", "payments", "clicks", "customers", "a.topic-with_a.very-long.name." + "x" * 60)
GROUPS = ("billing", "search indexer/eu", "reports-nightly", "fraud-scoring")


def make_person(role: str = "admin", name: str = "ana"):
    return get_user_model().objects.create_user(name, password=PASSWORD, role=role)


def make_world(now: datetime) -> ReplicationFlow:
    """Make everything and return the flow that is degraded."""
    east = fill_cluster("east", now, is_well=False)
    west = fill_cluster("west", now, is_well=True)
    fill_unreachable("north", now)
    make_quorum(east, now), make_available(east, now)
    observed = document({"dc-a": 1, "dc-b": 1}, {"dc-c": 1}, "under-min-isr")
    make_rule(east, "orders", observed, changed_at=now, changed_by="ana")
    make_rule(east, "c.*", document({"dc-a": 2}), kind="regex", changed_at=now, note="Old ones.")
    fill_promotion_pages(east), fill_schedules(now)
    fill_streams(east, west, now), make_redrive(east)
    flow = fill_flows(east, west, now)
    fill_incidents(flow, now), make_engine(seen_at=now, progress=report(str(RUN)))
    return flow


# In the middle of a rolling upgrade, one of the brokers behind a proxy.
UPGRADED = ClusterVersions(
    {
        1: recorded("3.9.1-kraft"),
        2: recorded("4.3.1-kraft"),
        3: recorded("3.9.1-kraft", hides=(66,)),
    },
    silent={4: "Broker 4 did not answer in time."},
    has_topic_ids=True,
)


def fill_cluster(alias: str, now: datetime, *, is_well: bool) -> Cluster:
    cluster = make_cluster(
        alias,
        bootstrap_servers=f"{alias}-1.example:9092,{alias}-2.example:9092",
        cluster_id=f"{alias.title()}QkVzT3B2dU9qZ3c",
        checked_at=now,
        created_at=now - timedelta(days=3),
        operations=["DESCRIBE", "ALTER_CONFIGS"],
        versions=None if is_well else UPGRADED.to_mapping(),
        versions_at=None if is_well else now,
        findings=[] if is_well else ["DESCRIBE on groups is not allowed: groups stay unknown."],
    )
    for noun in Noun.values:
        CollectionRound.objects.create(
            cluster=cluster, noun=noun, succeeded_at=now, finished_at=now, duration_ms=41
        )
    for number in (1, 2, 3):
        Broker.objects.create(
            cluster=cluster, broker_id=number, host=f"{alias}-{number}.example", port=9092,
            rack=f"dc-{'abc'[number - 1]}", is_live=is_well or number != 2,
            leader_count=4, replica_count=12, seen_at=now, changed_at=now,
        )  # fmt: skip
    for topic in TOPICS:
        fill_topic(cluster, topic, now, is_well=is_well or topic != "payments")
    for number, group_id in enumerate(GROUPS):
        fill_group(cluster, group_id, number, now)
    return cluster


def fill_topic(cluster: Cluster, name: str, now: datetime, *, is_well: bool) -> None:
    severity = Severity.OK if is_well else Severity.AT_MIN_ISR
    topic = Topic.objects.create(
        cluster=cluster, name=name, topic_id="vR3Xh0c1TxW2Yb7Qk5d9Zw", partition_count=6,
        replication_factor=3, min_insync_replicas=2, severity=severity.value,
        under_replicated_count=0 if is_well else 2, record_count=1_234_567,
        configs={"cleanup.policy": "delete", "min.insync.replicas": "2"}, configs_read_at=now,
        changed_at=now,
    )  # fmt: skip
    Partition.objects.bulk_create(
        Partition(
            cluster=cluster, topic=topic, partition=number, leader=1 + number % 3,
            replicas=[1, 2, 3], isr=[1, 2, 3] if is_well else [1, 3],
            isr_count=3 if is_well else 2, severity=severity.value, log_start_offset=0,
            end_offset=184_201_992 + number, high_watermark=184_201_992 + number,
            max_timestamp_ms=int(now.timestamp() * 1000), changed_at=now,
        )
        for number in range(6)
    )  # fmt: skip


def fill_group(cluster: Cluster, group_id: str, number: int, now: datetime) -> None:
    group = Group.objects.create(
        cluster=cluster, group_id=group_id, state=("Stable", "Empty")[number % 2], type="consumer",
        assignor="uniform", member_count=(number + 1) % 3, coordinator=1, topic_count=1,
        partition_count=3, lag=number * 1204, lag_ms=number * 4100, changed_at=now,
    )  # fmt: skip
    GroupOffset.objects.bulk_create(
        GroupOffset(
            group=group, topic="orders", partition=partition, is_assigned=number % 2 == 0,
            committed_offset=184_201_000 if partition else None, end_offset=184_201_992,
            lag=number * 401 if partition else None, lag_ms=number * 1300 if partition else None,
            lag_status="ok" if partition else "no_commit", changed_at=now,
        )
        for partition in range(3)
    )  # fmt: skip


def fill_streams(east: Cluster, west: Cluster, now: datetime) -> None:
    """Two applications that route wrongly, one with many tasks, one that rebalances, one never seen whole."""
    streams.make_finding(streams.make_rebalances(east, now, streams.without_endpoint()))
    StreamsApplication.objects.filter(cluster=east).update(
        cautions=["1 of 2 members has not taken over the assignment yet."], caution_count=1
    )
    threads = [streams.member(n, range(n * 10, n * 10 + 10)) for n in range(20)]
    streams.make_streams(west, streams.group(*threads, group_id="clicks"), now, partitions=200)
    streams.make_streams(west, streams.two_instances(), now)
    shops = StreamsApplication.objects.filter(cluster=west, application_id="shop")
    shops.update(state="PreparingRebalance", instances=None, tasks_without_thread=None)
    streams.make_streams(
        west, streams.group(group_id="new", state="NotReady", subtopologies=None), now
    )


def fill_schedules(now: datetime) -> None:
    schedule = make_schedule(None, time_zone="Europe/Berlin", next_at=now + timedelta(minutes=4))
    texts = {
        Outcome.FAILED: "There is no paper.",
        Outcome.LEFT_OUT: "The run of Sat 21 Nov 2026 13:00 Europe/Berlin is still running.",
    }
    for minutes, outcome in ((11, Outcome.STARTED), (6, Outcome.FAILED), (1, Outcome.LEFT_OUT)):
        at = now - timedelta(minutes=minutes)
        is_started = outcome == Outcome.STARTED
        told = Started("letter-1") if is_started else Started("", texts[outcome])
        write_firing(schedule, Time(at, at), outcome, told)
    make_schedule(None, name="Letter to Bob", is_enabled=False, next_at=None)
    fill_reports(now)


def fill_reports(now: datetime) -> None:
    report = Report.objects.create(
        name="Weekly", kind="availability", period="last-week", formats=["pdf"], created_at=now
    )
    make_report_run(report=report, document=document_of_all_blocks(), created_at=now)
    failed = {"state": "failed", "error": "There is no cluster that ana may see."}
    make_report_run(report=report, created_at=now - timedelta(days=7), **failed)
    make_delivery()
    make_delivery(channel="folder", address="weekly", state="delivered", log=[])
    make_route(checks=["broker_*"])


def fill_unreachable(alias: str, now: datetime) -> None:
    old = recorded_cluster("2.8.2-zookeeper", brokers=(1, 2, 3)).to_mapping()
    cluster = make_cluster(alias, versions=old, versions_at=now - timedelta(minutes=13))
    for noun in Noun.values:
        CollectionRound.objects.create(
            cluster=cluster, noun=noun, finished_at=now, failing_since=now - timedelta(minutes=12),
            succeeded_at=now - timedelta(minutes=13) if noun == Noun.BROKERS else None,
            error_code="unreachable", error=f"{alias}: no broker answered within 10 s.",
            hint="Check that host and port are right and that a firewall lets crosslog through.",
        )  # fmt: skip


def fill_flows(east: Cluster, west: Cluster, now: datetime) -> ReplicationFlow:
    aliases = {"source": east.alias, "target": west.alias}
    flow = make_flow(
        "orders to west", **aliases, topics=list(TOPICS[:3]), groups=[".*"],
        is_wanted=True, measured_at=now,
        partition_count=9, states={"copying": 8, "failed": 1}, lag=1204, lag_ms=4100,
        rate_per_s=12_480.5, worst_since=now - timedelta(minutes=7),
        worst_reason="orders-2 stopped at offset 184,201: the record has 1.5 MiB, the target takes 1 MiB.",
    )  # fmt: skip
    make_flow("quiet flow", **aliases, created_at=now, topics=["customers"])
    make_flow(
        "back again", source="west", target="east", topics=["clicks"], is_wanted=True, failures=3,
        failing_since=now - timedelta(minutes=3), failure="The keeper was killed.", created_at=now,
        next_try_at=now + timedelta(seconds=9),
    )  # fmt: skip
    for noun in FlowRound.Noun.values:
        FlowRound.objects.create(flow=flow, noun=noun, succeeded_at=now, duration_ms=12)
    for topic in TOPICS[:3]:
        fill_flow_topic(flow, topic, now)
    fill_samples(flow, now)
    fill_findings(flow, now)
    fill_answers(flow, now)
    fill_runs(flow, now)
    make_rehearsed(flow, "drill of november", two_groups)
    return flow


def fill_findings(flow: ReplicationFlow, now: datetime) -> None:
    """Make open findings of every severity, one that ended, and a look that could not ask everything."""
    make_finding(flow, opened_at=now - timedelta(minutes=90), last_seen_at=now)
    make_finding(
        flow, "stuck_partition", "critical", subject="orders-2", opened_at=now - timedelta(minutes=20),
        sentence="orders-2 is stuck at offset 184,202 while other partitions of the flow move.",
        todo="Check the log of the flow's run; restart the flow if the log shows no error.",
        evidence={"position_offset": 184_202, "records_waiting": 198, "still_for_s": 1200},
    )  # fmt: skip
    make_finding(
        flow, "topic_left_out", "warning", subject="west.invoices", opened_at=now - timedelta(days=2),
        sentence="west.invoices: Left out: its name says that it came from west.", evidence={},
        todo="If it is to be copied under another rule, give the topic another name.",
    )  # fmt: skip
    make_finding(
        flow, "replication_factor_differs", "info", subject="clicks", opened_at=now,
        sentence="east.clicks has RF 1 on west, clicks has RF 3 on east.",
        todo="Add replicas with kafka-reassign-partitions.sh.",
        evidence={"source_replicas": 3, "target_replicas": 1},
    )  # fmt: skip
    make_finding(
        flow, "not_moving", "critical", subject="", opened_at=now - timedelta(hours=5),
        sentence="The flow replicates no records: 9 partitions wait with 4,711 records.",
        closed_at=now - timedelta(hours=4),
    )  # fmt: skip
    FlowWatch.objects.create(
        flow=flow, finished_at=now, drift_at=now, duration_ms=812,
        faults={"heartbeats": "west: Reading heartbeats: not allowed."},
    )  # fmt: skip


def fill_flow_topic(flow: ReplicationFlow, topic: str, now: datetime) -> None:
    is_failed = topic == "orders"
    FlowTopic.objects.create(
        flow=flow, topic=topic, remote_topic=f"east.{topic}", partition_count=3,
        state="failed" if is_failed else "copying", failed_count=int(is_failed), lag=401,
        lag_ms=1300, rate_per_s=4160.2, updated_at=now,
        reason="The record at offset 184,201 has 1.5 MiB, the target takes 1 MiB." * is_failed,
    )  # fmt: skip
    for number in range(3):
        make_partition(
            flow, topic, number, remote_topic=f"east.{topic}", position=184_200 + number,
            state="failed" if is_failed and number == 2 else "copying", end_offset=184_400,
            log_start_offset=0, lag=200, lag_ms=1300, rate_per_s=1386.7, path="batch",
            findings=["3 records may have been written twice."] * (number == 1), since=now,
            updated_at=now,
        )  # fmt: skip


def fill_samples(flow: ReplicationFlow, now: datetime) -> None:
    """Write six hours of samples, with a wave and a gap."""
    end = int(now.timestamp())
    LagSample.objects.bulk_create(
        LagSample(
            flow=flow, topic="", at_s=at, lag=round(900 + 800 * math.sin(at / 900)),
            lag_ms=round(2500 + 2200 * math.sin(at / 900)), rate_per_s=12_000 + at % 700,
        )
        for at in range(end - 6 * 3600, end, 20)
        if not end - 2400 < at < end - 1800
    )  # fmt: skip


# Commits on the source, and offsets of the groups themselves on the target: one of them is too far ahead.
COMMITS = {"billing": 184_150, "search indexer/eu": 184_100, "fraud-scoring": 184_203}
SYNCED = {"fraud-scoring": 180_420}


def fill_answers(flow: ReplicationFlow, now: datetime) -> None:
    """Run a real round over the rows: groups that are ready, that repeat, that would skip, and six hours."""
    FlowPartition.objects.filter(flow=flow, topic="orders").update(
        position=184_400, lag=0, lag_ms=0, log_start_offset=0
    )
    flow.groups, flow.groups_exclude = [".*"], ["reports-.*"]
    flow.save(update_fields=["groups", "groups_exclude"])
    where = {n: TopicPartition("orders", n) for n in range(3)}
    kept = {}
    for group, offset in COMMITS.items():
        rows = GroupOffset.objects.filter(group__group_id=group, topic="orders")
        rows.filter(group__cluster=flow.source).update(committed_offset=offset)
        rows.filter(group__cluster=flow.target).update(
            topic="east.orders", committed_offset=SYNCED.get(group)
        )
        for number in range(3):
            key = GroupPartition(group, TopicPartition("east.orders", number))
            at_ms = int(now.timestamp() * 1000) - 41_000
            kept[key] = SeenCheckpoint(offset - 50 * number, offset - 3900 - 50 * number, at_ms)
    Group.objects.filter(cluster=flow.target).update(member_count=0, state="Empty")
    syncs = [(n, n - 3900) for n in (184_000, 184_100, 184_150, 184_203, 184_390)]
    translator = Translator(dict.fromkeys(where.values(), syncs))
    queries = replace(StubCheckpoints(kept).queries, translator=lambda _: translator)
    collect_readiness(flow.pk, lambda: now, queries)
    series = CheckpointSeries.objects.filter(flow=flow, topic="")
    end = int(now.timestamp())
    CheckpointSample.objects.bulk_create(
        CheckpointSample(
            series=one, step_s=step_s, at_s=at - at % 60, age_ms=30_000 + at % 41_000,
            behind=round(120 + 100 * math.sin(at / 900)), reread=round(300 + 90 * math.sin(at / 700)),
            at_risk=round(40 + 39 * math.sin(at / 500)), at_risk_ms=900, rank=1,
        )
        for one in series
        for step_s in (0, 60)
        for at in range(end - 6 * 3600, end - 120, 60)
        if not end - 2400 < at < end - 1800
    )  # fmt: skip
    for hours, word in ((200, "ready"), (30, "blocked"), (29, "ready"), (2, "warning")):
        ReadinessChange.objects.create(flow=flow, at=now - timedelta(hours=hours), readiness=word)


def fill_runs(flow: ReplicationFlow, now: datetime) -> None:
    """Make one live run after three that ended: well, badly, and asked to."""
    minutes = timedelta(minutes=1)
    for before, after, state, error in (
        (200, 121, RunState.SUCCEEDED, ""),
        (120, 44, RunState.CRASHED, "The driver was killed.\nKilled"),
        (43, 31, RunState.STOPPED, ""),
    ):
        make_run(
            flow, title=f"Replicate {flow.name}", state=state, error=error,
            created_at=now - before * minutes, started_at=now - before * minutes,
            finished_at=now - after * minutes,
        )  # fmt: skip
    make_run(
        flow, id=RUN, title=f"Replicate {flow.name}", created_at=now - 30 * minutes,
        started_at=now - 30 * minutes, heartbeat_at=now, reported_at=now,
        progress=progress(at=now), summary={"records": 1_234_567},
    )  # fmt: skip


def fill_incidents(flow: ReplicationFlow, now: datetime) -> None:
    """Make an incident in each state, with findings and events, settings of checks and windows."""
    hour, east = timedelta(hours=1), flow.source
    times = {"began_at": now - hour, "opened_at": now - hour, "last_seen_at": now}
    acknowledged = {"state": "acknowledged", "acknowledged_at": now}
    down = make_incident(
        cluster=east, subject="2", brokers=[2], title="Broker 2 of east is down",
        sentence="Broker 2 of east is down: 2 partitions below min ISR.", **times,
    )  # fmt: skip
    make_finding(flow, subject="orders-1", incident=down)
    make_incident("group", "billing", "warning", cluster=east, **times | acknowledged)
    make_incident(
        "flow", flow.name, flow=flow, cluster=east, title=f"Flow {flow.name} stopped",
        check_id="flow_stopped", state="silenced", silenced_until=now + hour, **times,
    )  # fmt: skip
    make_incident("partitions", "", cluster=east, state="resolved", ended_at=now, **times)
    make_setting(cluster=east, is_excluded=True, note="Its disk is replaced.", changed_at=now)
    make_setting("group_lag_time", group_pattern="a*", thresholds={"warning_s": 60}, changed_at=now)
    make_window(starts_at=now, created_at=now, cluster=east), make_extractor(east)
    make_objectives(east, flow, now)
