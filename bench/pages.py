"""Page time for large clusters: real HTTP against gunicorn, and the number of queries.

`pages` has 5,000 partitions and 200 groups, `pages50k` 50,000 and 5,000 with ten offsets each.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import watch

from jobs.spark.processes import children_of

Say = Callable[[str], None]
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Size:
    """How much a cluster has: topics, partitions of each, groups, offsets of each group."""

    topics: int
    partitions: int
    groups: int
    offsets: int = 0


SMALL = Size(5, 10, 5)
LARGE = Size(250, 20, 200)
HUGE = Size(1000, 50, 5000, 10)
REQUESTS = 100
PASSWORD = "only-for-this-benchmark"
PAGES = (
    "/",
    "/clusters/",
    "/clusters/{alias}/",
    "/clusters/{alias}/topics/",
    "/clusters/{alias}/partitions/",
    "/clusters/{alias}/partitions/?sort=end_offset&dir=desc&page=3",
    "/clusters/{alias}/partitions/?q=topic-00",
    "/clusters/{alias}/groups/",
    "/clusters/{alias}/groups/?sort=lag&dir=desc&page=2",
    "/clusters/{alias}/groups/?q=group-00",
    "/clusters/{alias}/topics/topic-001/",
    "/clusters/{alias}/brokers/",
    "/frame/jumps/?q=topic-00",
    "/api/v1/partitions/?cluster={alias}",
    "/api/v1/topics/?cluster={alias}",
    "/api/v1/groups/?cluster={alias}",
)


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every page for a large cluster; returns JSON values."""
    return measure_size(say, LARGE, quick=quick)


def measure_50k(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every page for a huge cluster; returns JSON values."""
    return measure_size(say, HUGE, quick=quick)


def measure_size(say: Say, size: Size, *, quick: bool) -> dict[str, object]:
    """Measure every page for a cluster of this size beside a small one."""
    sizes = {"large": size, "small": SMALL}
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        set_up(Path(folder))
        for alias, each in sizes.items():
            register(alias, each)
        queries = {path: count_queries(path) for path in PAGES}
        with served(Path(folder)) as (visitor, pid):
            rows = [
                {
                    "page": path,
                    **timing(visitor, pid, path, 10 if quick else REQUESTS),
                    **queries[path],
                }
                for path in PAGES
            ]
    for row in rows:
        say(
            f"{row['p50_ms']:6.1f} ms p50, {row['p95_ms']:6.1f} ms p95, {row['cpu_ms']:5.1f} ms CPU, "
            f"{row['queries_large']:2} queries  {row['page']}"
        )
    return {
        "data": {
            "partitions": size.topics * size.partitions,
            "topics": size.topics,
            "groups": size.groups,
            "group_offsets": size.groups * size.offsets,
            "database": "SQLite (WAL)",
        },
        "settings": {
            "server": "gunicorn, 1 process, 8 threads",
            "clients": 1,
            "requests": REQUESTS,
        },
        "rows": rows,
    }


def set_up(home: Path) -> None:
    """Make a console of its own in this folder and load Django with it."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "CROSSLOG_HOME": str(home),
        "DATABASE_URL": f"sqlite:///{home / 'bench.sqlite3'}",
        "ALLOWED_HOSTS": "127.0.0.1,testserver",
        "LOG_LEVEL": "WARNING",
    }
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    get_user_model().objects.create_superuser("bench", "", PASSWORD)
    from console.frame.processes import gc_freeze

    gc_freeze.freeze_gc()  # as every process of the console does


def register(alias: str, size: Size) -> None:
    """Write a cluster with its rows as the collection rounds would."""
    from console.clusters.models import Broker, Cluster, CollectionRound, Group, Noun, Topic

    now = datetime.now(UTC)
    cluster = Cluster.objects.create(
        alias=alias, bootstrap_servers="127.0.0.1:1", is_enabled=False, created_at=now
    )
    for noun in Noun:
        CollectionRound.objects.create(cluster=cluster, noun=noun, succeeded_at=now, duration_ms=40)
    Broker.objects.bulk_create(
        Broker(cluster=cluster, broker_id=i, host="127.0.0.1", port=1, changed_at=now, seen_at=now)
        for i in range(1, 4)
    )
    made = Topic.objects.bulk_create(
        Topic(
            cluster=cluster, name=f"topic-{i:03}", partition_count=size.partitions,
            replication_factor=3, record_count=i * 1000, changed_at=now,
        )
        for i in range(size.topics)
    )  # fmt: skip
    add_partitions(cluster, made, size.partitions, now)
    groups = Group.objects.bulk_create(
        Group(
            cluster=cluster, group_id=f"group-{i:04}", state="Stable", type="consumer",
            member_count=3, lag=i, changed_at=now,
        )
        for i in range(size.groups)
    )  # fmt: skip
    add_offsets(groups, size.offsets, now)


def add_offsets(groups: list[Any], count: int, now: datetime) -> None:
    from console.clusters.models import GroupOffset

    GroupOffset.objects.bulk_create(
        GroupOffset(
            group=group, topic=f"topic-{number % 5:03}", partition=number, committed_offset=1,
            end_offset=2, lag=1, lag_status="ok", changed_at=now,
        )
        for number in range(count)
        for group in groups
    )  # fmt: skip


def add_partitions(cluster: Any, topics: list[Any], count: int, now: datetime) -> None:
    from console.clusters.models import Partition

    Partition.objects.bulk_create(
        Partition(
            cluster=cluster, topic=topic, partition=number, leader=1 + number % 3,
            replicas=[1, 2, 3], isr=[1, 2, 3], isr_count=3, log_start_offset=0,
            end_offset=number * 1000, high_watermark=number * 1000,
            max_timestamp_ms=int(now.timestamp() * 1000), changed_at=now,
        )
        for topic in topics
        for number in range(count)
    )  # fmt: skip


def count_queries(path: str, aliases: tuple[str, ...] = ("large", "small")) -> dict[str, int]:
    """Return how many queries a page needs for each cluster, the large and the small one."""
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(get_user_model().objects.get(username="bench"))
    found = {}
    for alias in aliases:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(path.format(alias=alias))
        if answer.status_code != 200:
            raise RuntimeError(f"{path} answered {answer.status_code} for {alias}")
        found[f"queries_{alias}"] = len(captured)
    return found


@contextmanager
def served(home: Path) -> Iterator[Any]:
    """Serve the console as `manage.py up` does and yield a visitor who is logged in."""
    from console.frame.processes import programs
    from console.frame.processes.demo_client import DemoClient
    from console.frame.processes.supervisor import Supervisor, free_port, is_url_ok

    port = free_port(27100)
    supervisor = Supervisor(home / "logs", print)
    supervisor.start(programs.web("127.0.0.1", port))
    url = f"http://127.0.0.1:{port}/"
    try:
        supervisor.wait_until(lambda: is_url_ok(f"{url}healthz"), "web", 60.0)
        visitor = DemoClient(url)
        visitor.log_in("bench", PASSWORD)
        yield visitor, supervisor.pid("web")
    finally:
        supervisor.stop_all()


def timing(visitor: Any, pid: int, path: str, requests: int) -> dict[str, float]:
    """Return p50 and p95 of a page's whole answer, measured by a client on the same machine.

    `cpu_ms` is what the server used per request: it hardly depends on what else the machine does.
    """
    for _ in range(3):  # the first ones fill caches
        text = visitor.page(path.format(alias="large"))
    used = server_cpu_s(pid)
    took = []
    for _ in range(requests):
        began = time.perf_counter()
        visitor.page(path.format(alias="large"))
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return {
        "p50_ms": round(median(took), 1),
        "p95_ms": round(took[int(len(took) * 0.95) - 1], 1),
        "cpu_ms": round((server_cpu_s(pid) - used) * 1000 / requests, 1),
        "kilobytes": round(len(text) / 1000, 1),
    }


def server_cpu_s(pid: int) -> float:
    """Return the CPU time of gunicorn and its worker so far."""
    return sum(watch.cpu_s(each) or 0.0 for each in [pid, *children_of(pid)])
