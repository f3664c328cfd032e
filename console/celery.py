"""Background work: queues, and the schedule that starts every task.

A task loads a row by its id, or takes the row that is longest overdue (`frame/rounds.py`),
calls one function and ends. Three queues separate slow work from the rest: `collect` queries clusters,
`flows` measures flows and carries out failovers, `spark` supervises runs.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import (
    after_task_publish,
    beat_init,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
# `migrate` and `make check` run them; in a worker they would load every page.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

from django.conf import settings
from django.db import close_old_connections

from console.frame.processes import gc_freeze, liveness

COLLECT, FLOWS, SPARK = "collect", "flows", "spark"

app = Celery("crosslog", broker=settings.REDIS_URL)
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue=COLLECT,
    task_routes={
        "console.replication.tasks.*": {"queue": FLOWS},
        "console.replication.tasks.ensure_flows": {"queue": SPARK},
        "console.runs.tasks.*": {"queue": SPARK},
        "console.schedules.tasks.*": {"queue": SPARK},
        "console.reports.tasks.*": {"queue": SPARK},
        "console.quorum.tasks.fold_import": {"queue": SPARK},
        "console.quorum.tasks.take_import": {"queue": SPARK},
        "console.quorum.tasks.prune_history": {"queue": SPARK},
    },
    # Clients bound every request by themselves; these limits end what hangs all the same.
    task_soft_time_limit=90,
    task_time_limit=120,
    worker_prefetch_multiplier=1,
    # No program sends commands to workers through Redis.
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    # None: try again for ever. The broker may be away for longer than a worker's patience.
    broker_connection_max_retries=None,
    # In a page, an enqueue to a dead broker must fail soon instead of holding the page.
    broker_transport_options={"socket_connect_timeout": 5, "socket_timeout": 30},
    beat_schedule_filename=str(settings.CROSSLOG_HOME / "beat-schedule"),
    timezone="UTC",
)


# Celery closes the connection to the database before and after every task; here it is kept for as long as
# CONN_MAX_AGE says, and asked whether it still answers, as a web process does.
app.conf.CELERY_DB_REUSE_MAX = sys.maxsize


@worker_ready.connect
def settle(**_: object) -> None:
    """Leave out of garbage collections what a worker has loaded, tasks of all rooms included."""
    gc_freeze.freeze_gc()


@worker_init.connect
def begin_worker(sender: Any = None, **_: object) -> None:
    """Sign whenever a task has ended, as the queue that the worker is named after."""
    liveness.begin(settings.SIGNS_DIR, str(sender.hostname).partition("@")[0])
    task_prerun.connect(close_old_connections, weak=False)
    task_postrun.connect(_sign, weak=False)


@beat_init.connect
def begin_beat(**_: object) -> None:
    """Sign whenever a task was handed out."""
    liveness.begin_part(settings.SIGNS_DIR, "beat")
    after_task_publish.connect(_sign, weak=False)


def _sign(**_: object) -> None:
    liveness.sign()


def _every(seconds: float, task: str) -> dict[str, object]:
    """Return an entry of the clock; what waited longer than one period is dropped, not piled up."""
    return {"task": task, "schedule": seconds, "options": {"expires": max(seconds, 2.0)}}


def _rounds(seconds: float, queue: str, *kinds: str) -> dict[str, object]:
    """Return an entry of the clock that queues the due rounds of some kinds (`console.frame.rounds`)."""
    return {
        "task": "console.frame.tasks.queue_rounds",
        "args": kinds,
        "schedule": seconds,
        "options": {"expires": seconds, "queue": queue},
    }


app.conf.beat_schedule = {
    "queue rounds of clusters": _rounds(
        5, COLLECT, "clusters", "quorums", "applications", "what_if", "replica_lags", "advice"
    ),
    "queue rounds of partitions": _rounds(2, COLLECT, "partitions"),
    "queue rounds of flows": _rounds(5, FLOWS, "measurements", "checkpoints"),
    "queue checks of flows": _rounds(10, FLOWS, "findings"),
    "queue rounds of checks": _rounds(5, COLLECT, "checks"),
    "roll up series": _every(60, "console.frame.tasks.roll_up"),
    "prune histories of metadata": _every(86_400, "console.quorum.tasks.prune_history"),
    "ensure flows": _every(3, "console.replication.tasks.ensure_flows"),
    "work on failovers": _rounds(2, FLOWS, "failover_plans", "failover_runs"),
    "observe runs": _every(2, "console.runs.tasks.observe_runs"),
    "fire schedules": _every(5, "console.schedules.tasks.fire_due"),
    "make reports": _every(5, "console.reports.tasks.make_due"),
    "deliver reports": _every(10, "console.delivery.tasks.deliver_due"),
    "prune": _every(3600, "console.frame.tasks.prune"),
    "forget failures": _every(60, "console.accounts.tasks.forget_failures"),
}
app.autodiscover_tasks()
app.autodiscover_tasks(["console.availability.advice"])
