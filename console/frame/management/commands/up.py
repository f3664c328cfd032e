"""`manage.py up`: the whole console on this machine, until Ctrl-C."""

from __future__ import annotations

import hashlib
import os
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from console.broker import SOCKET, is_listened_to, redis_folder, redis_socket
from console.env import env_str
from console.frame.processes import programs
from console.frame.processes.liveness import LivenessSigns
from console.frame.processes.single_instance import single_instance, single_instance_on_database
from console.frame.processes.supervisor import (
    POLL_S,
    StartFailed,
    Supervisor,
    is_port_free,
    is_url_ok,
    kill_on_next_signal,
    signals_as_interrupts,
)
from console.frame.security.checks import is_loopback, refuse_unsafe_settings
from console.frame.security.private import FOR_THIS_USER_ONLY, readable_by_others
from jobs.spark.engine import door

START_TIMEOUT_S = 180.0
FLOW_STOP_TIMEOUT_S = 40.0


class Command(BaseCommand):
    """Starts Redis (unless REDIS_URL is set), web server, workers, followers, promoter and scheduler."""

    help = "Run the whole console on this machine until Ctrl-C."
    requires_system_checks = ()  # `migrate` and `make check` run them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where the console listens")
        parser.add_argument(
            "--host", default="127.0.0.1", help="the address it listens on (see ALLOWED_HOSTS)"
        )

        parser.add_argument(
            "--password-file",
            type=Path,
            help="take the first administrator's password from this file, and do not print it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.password_file: Path | None = options["password_file"]
        with signals_as_interrupts():
            try:
                self._run(options["host"], options["port"])
            except KeyboardInterrupt:
                return
            except (StartFailed, ImproperlyConfigured) as error:
                raise CommandError(str(error)) from None

    def _run(self, host: str, port: int) -> None:
        home = Path(settings.CROSSLOG_HOME)
        os.umask(FOR_THIS_USER_ONLY)
        with single_instance(home), single_instance_on_database():
            for problem in readable_by_others(home):
                self.say(f"warning: {problem}")
            check_port(port, host, "choose another one with --port")
            supervisor = Supervisor(
                home / "logs",
                self.say,
                largest_log_bytes=settings.LOG_FILE_MB * 1_000_000,
                kept_logs=settings.LOG_FILES,
                signs=LivenessSigns(settings.SIGNS_DIR),
            )
            try:
                self._start(supervisor, home, host, port)
                while True:
                    supervisor.watch()
                    time.sleep(POLL_S)
            finally:
                kill_on_next_signal(supervisor, self.say)
                self._stop(supervisor)

    def _start(self, supervisor: Supervisor, home: Path, host: str, port: int) -> None:
        if not env_str("REDIS_URL", ""):
            start_redis(supervisor, home)
        self._refuse_unsafe(host)
        self.say("preparing the database")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("ensure_admin", password_file=self.password_file, stdout=self.stdout)
        collect_static()
        programs.load()
        supervisor.start(programs.web(host, port))
        supervisor.start(programs.worker("spark", programs.SPARK_THREADS))
        supervisor.start(programs.worker("collect", programs.COLLECT_THREADS))
        supervisor.start(programs.worker("flows", programs.FLOW_THREADS))
        supervisor.start(programs.promoter())
        supervisor.start(programs.services())
        seen_from = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104  "every address"
        url = f"http://{seen_from}:{port}/"
        supervisor.wait_until(lambda: is_url_ok(f"{url}healthz"), "web", START_TIMEOUT_S)
        self.say(f"the console is ready at {url} (Ctrl-C ends it; logs in {home / 'logs'})")

    def _refuse_unsafe(self, host: str) -> None:
        """Refuse settings that would let anybody in, before anything listens."""
        if settings.DEBUG and not is_loopback(host):
            raise StartFailed(f"DEBUG is on and {host} can be reached from elsewhere: unset DEBUG.")
        refuse_unsafe_settings()

    def _stop(self, supervisor: Supervisor) -> None:
        self.say("ending")
        for names in programs.STOP_ORDER:
            supervisor.stop(*names)
        stop_flows(Path(settings.CROSSLOG_RUNS_DIR), self.say)
        supervisor.stop_all()

    def say(self, text: str) -> None:
        """Print a status line at once, also into a log."""
        self.stdout.write(f"crosslog: {text}")
        self.stdout.flush()


def check_port(port: int, host: str, what_to_do: str) -> None:
    """Raise when something listens there already."""
    if not is_port_free(port, host):
        raise StartFailed(f"Port {port} on {host} is taken by another program; {what_to_do}.")


def start_redis(supervisor: Supervisor, home: Path) -> None:
    """Start the embedded Redis and wait for it; it replaces what a killed one left behind."""
    address = redis_socket(home)
    if is_listened_to(address):
        raise StartFailed(
            f"Another program listens at {redis_folder(home) / SOCKET}. End it first, or set "
            "CROSSLOG_HOME to another folder, or use a Redis of your own with REDIS_URL."
        )
    supervisor.start(programs.redis(home))
    supervisor.wait_until(lambda: is_listened_to(address), "redis", START_TIMEOUT_S)


def collect_static() -> None:
    """Collect the static files, unless exactly these were collected before."""
    stamp = Path(settings.STATIC_ROOT) / "collected.stamp"
    wanted = _static_fingerprint()
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(wanted, encoding="utf-8")


def _static_fingerprint() -> str:
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list(None):
            digest.update(f"{path} {storage.get_modified_time(path)}\n".encode())
    return digest.hexdigest()


def stop_flows(runs: Path, say: Any) -> None:
    """Ask every run of this machine to end cleanly, wait, and end those that do not."""
    alive = [run for run in runs.glob("*") if run.is_dir() and door.is_alive(run)]
    if alive:
        say(f"waiting for {len(alive)} running jobs to save their positions")
    for run in alive:
        door.request_stop(run)
    end = time.monotonic() + FLOW_STOP_TIMEOUT_S
    while alive and time.monotonic() < end:
        time.sleep(POLL_S)
        alive = [run for run in alive if door.is_alive(run)]
    for run in alive:
        door.kill_run(run)
