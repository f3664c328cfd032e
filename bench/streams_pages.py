"""Kafka Streams: one application of 200 threads and 5,000 partitions, decoded, stored, shown, asked for keys.

`decode`: from the bytes of its 200 members (17 MB) to the application; `audits`: a hundred applications of
that size audited after they are counted, and what unpacking and counting one costs beside; `history`: its
rebalances taken in, one per minute; `round`: a hundred applications taken in by a round of the console, the
largest among them, with the answers of the cluster given from memory; `lookup`: a key of the largest one,
from the database and again; `rows`: the pages over real HTTP, with 200 changes, findings and a flow.
"""

import base64
import copy
import struct
import tempfile
import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pages

THREADS_OF_EACH, PROCESSES, PARTITIONS, APPLICATIONS = 4, 50, 5000, 100
LIMITS = {"decode_s": 3, "audits_s": 3, "lookup_ms": 50, "page_p95_ms": 150}
KEYS, REBALANCES, CHANGES = 200, 30, 200
ADDRESS = "/streams/large/app/"
PAGES = (
    "/streams/",
    ADDRESS,
    f"{ADDRESS}rebalances/",
    f"{ADDRESS}balance/",
    f"{ADDRESS}key-lookup/",
    "/api/v1/streams/",
    "/api/v1/streams/app/",
)


def measure(say: pages.Say, *, quick: bool) -> dict[str, object]:
    """Measure decoding, a round, lookups and pages; returns JSON values."""
    partitions = PARTITIONS // 10 if quick else PARTITIONS
    seen = observed(partitions)
    found: dict[str, object] = {"decode": decoded(say, seen)}
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        found["audits"] = audited(say, seen)
        found["history"] = measure_history(
            say, partitions, REBALANCES // 10 if quick else REBALANCES
        )
        found["round"] = measure_round(say, seen)
        add_changes(CHANGES)
        add_findings_and_flow(partitions)
        found["lookup"] = measure_lookups(say)
        queries = {path: pages.count_queries(path, ("any",))["queries_any"] for path in PAGES}
        with pages.served(Path(folder)) as (visitor, pid):
            requests = 10 if quick else pages.REQUESTS
            found["rows"] = [
                {
                    "page": path,
                    **pages.timing(visitor, pid, path, requests),
                    "queries": queries[path],
                }
                for path in PAGES
            ]
    for row in found["rows"]:  # type: ignore[attr-defined]
        say(
            f"{row['p50_ms']:6.1f} ms p50, {row['p95_ms']:6.1f} ms p95, {row['cpu_ms']:5.1f} ms CPU  "
            f"{row['page']}"
        )
    data = {
        "threads": PROCESSES * THREADS_OF_EACH,
        "partitions": partitions,
        "applications": APPLICATIONS,
    }
    return {"data": data, "limits": LIMITS, **found}


def observed(partitions: int, turn: int = 0) -> Any:
    """Return what a broker tells of the large application; members write as in the tests.

    With another `turn` each process has the tasks of another one.
    """
    from tests.jobs.streams import written

    mine = {p: list(range((p + turn) % PROCESSES, partitions, PROCESSES)) for p in range(PROCESSES)}
    copied = {p: mine[(p + 1) % PROCESSES] for p in mine}
    endpoint = "host-{}.example:7070".format
    routes, copies = (
        {endpoint(p): [("orders", n) for n in own] for p, own in placed.items()}
        for placed in (mine, copied)
    )
    members = []
    for p in range(PROCESSES):
        for thread in range(THREADS_OF_EACH):
            active, standby = (own[p][thread::THREADS_OF_EACH] for own in (mine, copied))
            sums = [((0, n), -2) for n in active] + [((0, n), 40) for n in standby]
            given = written.assignment_info(
                [(0, n) for n in active],
                [((0, n), [("orders", n)]) for n in standby],
                routes,
                copies,
            )
            wants = written.subscription(written.subscription_info(p + 1, endpoint(p), sums))
            holds = written.assignment([("orders", n) for n in active], given)
            members.append(written.member(p + 1, wants, holds, thread + 1))
    topics = {
        "orders": written.facts(partitions),
        "app-totals-changelog": written.facts(partitions, 50, **{"cleanup.policy": "compact"}),
    }
    stream_time = base64.b64encode(struct.pack(">bq", 1, written.NOW_MS - 2_000)).decode()
    commits = {("orders", number): (90, stream_time) for number in range(partitions)}
    return written.observation(written.group(*members), topics, commits)


def decoded(say: pages.Say, seen: Any) -> dict[str, float]:
    from jobs.streams.assembly import application_of

    size = sum(len(one.metadata) + len(one.assignment) for one in seen.group.members)
    took = sorted(timed(partial(application_of, seen)) for _ in range(5))
    say(f"decode: {took[2]:.2f} s for {size / 1e6:.1f} MB")
    return {"megabytes": round(size / 1e6, 1), "s": round(took[2], 3)}


def audited(say: pages.Say, seen: Any) -> dict[str, float]:
    """Audit a hundred times what a collection saw and counted: an instance has no endpoint."""
    from dataclasses import replace

    from console.streams.collection.rows import counts_of
    from jobs.streams.assembly import application_of
    from jobs.streams.audit.conditions import Seen
    from jobs.streams.audit.rules import audit, conditions_in
    from jobs.streams.lookup.own_answer import worst_misrouted_share
    from jobs.streams.stored import pack_application, unpack_application

    whole, facts = application_of(seen), seen.facts
    threads = (replace(one, endpoint=None) for one in whole.threads[:THREADS_OF_EACH])
    found = replace(whole, threads=(*threads, *whole.threads[THREADS_OF_EACH:]))
    before = replace(
        facts,
        topics={
            name: replace(one, ends={number: end - 5 for number, end in one.ends.items()})
            for name, one in facts.topics.items()
        },
        committed={place: replace(one, offset=80) for place, one in facts.committed.items()},
    )
    share = worst_misrouted_share(found)
    packed = pack_application(found)
    unpacked = timed(partial(unpack_application, packed))
    kept: dict[str, Any] = {}
    counted = took = 0.0
    for _ in range(APPLICATIONS):
        given = {"misrouted": share, "memory": kept.get("memory", {})}
        one = Seen(found, facts, before=before, joined=facts, **given)
        counted = timed(partial(counts_of, one))
        took += timed(lambda whole=one: kept.update(audit(whole)))
    told = ", ".join(conditions_in(kept))
    say(f"audits: {took:.2f} s for {APPLICATIONS}; they found {told}")
    say(f"beside one: unpack {unpacked * 1000:.0f} ms, count {counted * 1000:.0f} ms")
    return {
        "s": round(took, 3),
        "unpack_ms": round(unpacked * 1000, 1),
        "count_ms": round(counted * 1000, 1),
        "packed_bytes": len(packed),
    }


def measure_history(say: pages.Say, partitions: int, rebalances: int) -> dict[str, float]:
    """Keep the large application after each of its rebalances, in which all tasks move."""
    from console.clusters.models import Cluster
    from console.streams.collection.rows import save_application
    from console.streams.models import StreamsApplication, StreamsSnapshot

    now = datetime.now().astimezone()
    cluster = Cluster.objects.create(alias="large", bootstrap_servers="127.0.0.1:1", created_at=now)
    turns = [observed(partitions, turn) for turn in (0, 1)]
    took = []
    for number in range(rebalances):
        row = StreamsApplication.objects.filter(application_id="app").first()
        at = now - timedelta(minutes=rebalances - number)
        save = partial(save_application, cluster, row, turns[number % 2], at)
        took.append(timed(save))
    if StreamsSnapshot.objects.count() != rebalances:
        raise RuntimeError("Not every rebalance was kept.")
    worst = max(took)
    say(f"history: {worst:.2f} s at most to take in one of {rebalances} rebalances")
    return {"rebalances": rebalances, "worst_s": round(worst, 3)}


def add_changes(count: int) -> None:
    """Add copies of the newest snapshot within half an hour, until there are this many changes.

    Each instance has another number of tasks after each of them.
    """
    from console.streams.models import StreamsSnapshot

    rows = StreamsSnapshot.objects.filter(application__application_id="app")
    newest = rows.order_by("-pk").first()
    number = count - rows.count()
    made = []
    for left in range(number, 0, -1):
        change = copy.deepcopy(newest.change)
        for place, one in enumerate(change["instances"]):
            one[3] += (place + left) % 5
        fields = {"content": newest.content, "changelogs": newest.changelogs, "change": change}
        at = newest.taken_at + timedelta(seconds=left * -20)
        made.append(
            StreamsSnapshot(
                application=newest.application,
                taken_at=at,
                generation=newest.generation,
                fingerprint=newest.fingerprint,
                **fields,
            )
        )
    StreamsSnapshot.objects.bulk_create(made)


def add_findings_and_flow(partitions: int) -> None:
    """Add an open finding of each check to the application, and a flow that copies all of it."""
    from console.clusters.models import Cluster, CollectionRound, Noun
    from console.findings.models import Finding
    from console.replication.flows.models import FlowPartition, FlowRound, GroupReadiness
    from jobs.streams.audit.rules import CHECKS
    from tests.console.making import make_flow, make_topic

    now = datetime.now().astimezone()
    cluster = Cluster.objects.get(alias="large")
    seen = {"opened_at": now, "last_seen_at": now, "sentence": "Kafka Streams application app."}
    scope = {"kind": "checks", "cluster": cluster, "subject": "app", "severity": "warning"}
    Finding.objects.bulk_create(Finding(code=one.id, rank=3, **scope, **seen) for one in CHECKS)
    flow = make_flow(source=cluster, topics=[".*"], groups=[".*"], policy="identity")
    offsets = {"position": 100, "log_start_offset": 0, "end_offset": 100, "lag": 0}
    dated = {"since": now, "updated_at": now}
    for name in ("orders", "app-totals-changelog"):
        make_topic(flow.target, name, partition_count=partitions)
        FlowPartition.objects.bulk_create(
            FlowPartition(flow=flow, topic=name, partition=n, remote_topic=name, **offsets, **dated)
            for n in range(partitions)
        )
    FlowRound.objects.bulk_create(
        FlowRound(flow=flow, noun=noun, succeeded_at=now) for noun in FlowRound.Noun
    )
    for noun in (Noun.TOPICS, Noun.GROUPS):
        CollectionRound.objects.create(cluster=flow.target, noun=noun, succeeded_at=now)
    at_ms = int(now.timestamp() * 1000) - 20_000
    proof = {"topic": "orders", "committed": 90, "upstream": 90, "checkpoint_at_ms": at_ms}
    places = [{**proof, "partition": number} for number in range(partitions)]
    GroupReadiness.objects.create(flow=flow, group="app", partitions=places, **dated)


def measure_round(say: pages.Say, seen: Any) -> dict[str, float]:
    """Take in a hundred applications, as a round does; the second one finds nothing changed."""
    from dataclasses import replace

    from console.clusters.models import Cluster
    from console.streams.collection.collect import SeenApplications, collect_applications
    from console.streams.models import StreamsRound
    from tests.jobs.streams import written

    cluster = Cluster.objects.get(alias="large")
    small = written.two_processes()
    all_of_them = {"app": seen} | {
        f"app-{n}": written.observation(replace(small, group_id=f"app-{n}"), group_ids=["app"])
        for n in range(1, APPLICATIONS)
    }
    answer = SeenApplications(all_of_them, frozenset(all_of_them))
    found = {}
    for name in ("first_s", "again_s"):
        StreamsRound.objects.update(claimed_until=None)
        collect = partial(collect_applications, cluster.pk, read=lambda *_: answer)
        found[name] = round(timed(collect), 2)
        say(f"round: {found[name]} s, {name}")
    if StreamsRound.objects.get().row_count != APPLICATIONS:
        raise RuntimeError("The round did not take all applications in.")
    return found


def measure_lookups(say: pages.Say) -> dict[str, float]:
    """Ask for keys, from the rows of the database at first."""
    from console.streams.models import StreamsApplication
    from console.streams.snapshots import picture_of
    from jobs.streams.answers import metadata_for_key

    def ask(key: str) -> None:
        row = StreamsApplication.objects.defer("facts").get(application_id="app")
        metadata_for_key(picture_of(row).application, "totals", key.encode())

    first = timed(partial(ask, "first")) * 1000
    took = sorted(timed(partial(ask, str(number))) * 1000 for number in range(KEYS))
    p95 = took[int(len(took) * 0.95) - 1]
    say(
        f"lookup: {first:.0f} ms at first, then {took[len(took) // 2]:.1f} ms p50, {p95:.1f} ms p95"
    )
    return {
        "first_ms": round(first, 1),
        "p50_ms": round(took[len(took) // 2], 2),
        "p95_ms": round(p95, 2),
    }


def timed(work: Any) -> float:
    """Return how many seconds something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
