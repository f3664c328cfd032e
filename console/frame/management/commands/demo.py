"""`manage.py demo`: two Kafka clusters, traffic, the console and a flow between them, until Ctrl-C."""

from __future__ import annotations

import os
import secrets
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.frame.processes.demo_client import DemoClient, Refused
from console.frame.processes.demo_setup import DemoSetup
from console.frame.processes.single_instance import single_instance
from console.frame.processes.supervisor import (
    POLL_S,
    Program,
    StartFailed,
    Supervisor,
    WhenEnded,
    free_port,
    is_url_ok,
    kill_on_next_signal,
    signals_as_interrupts,
)
from console.frame.security.private import FOR_THIS_USER_ONLY
from jobs.lab import control
from jobs.lab.errors import LabError
from jobs.lab.lab import read_plans
from jobs.lab.plan import DEFAULT_BASE_PORT, ClusterPlan, standard_plans
from jobs.lab.ports import is_free
from jobs.spark import class_archive

ROOT = Path(__file__).resolve().parents[4]
USERNAME = "admin"
# Beside the folder in which the console keeps its reports.
REPORTS = "delivered"
PASSWORD_FILE = "password"  # noqa: S105  the name of the file
# The first time Kafka is fetched (130 MB) before anything can start.
LAB_TIMEOUT_S = 900.0
CONSOLE_TIMEOUT_S = 300.0
RECORD_TIMEOUT_S = 300.0
REPORT_TIMEOUT_S = 60.0
LAB_PORTS = 200  # what the two clusters need, and so the step to the next ports to try
LAB_TRIES = 5


class Command(BaseCommand):
    """Shows the whole of crosslog on this machine, with nothing simulated."""

    help = "Show real replication between two real Kafka clusters in the console, until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="the first port to try")
        parser.add_argument(
            "--kafka-port",
            type=int,
            default=DEFAULT_BASE_PORT,
            help="the first one for Kafka to try",
        )
        parser.add_argument(
            "--home", type=Path, default=ROOT / "var" / "demo", help="where its state is kept"
        )
        parser.add_argument(
            "--mirror-maker",
            action="store_true",
            help="also run a MirrorMaker 2 beside crosslog, and watch its flow",
        )
        parser.add_argument(
            "--without-analyses",
            action="store_true",
            help="ask no question of each kind of analysis, which keeps Spark busy for some minutes",
        )
        parser.add_argument(
            "--exit-after-first-record",
            action="store_true",
            help="end when the first replicated record was seen in the console",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.began = time.monotonic()
        self.kafka_port: int = options["kafka_port"]
        self.with_mirror_maker: bool = options["mirror_maker"]
        self.with_analyses: bool = not options["without_analyses"]
        home: Path = Path(os.path.realpath(options["home"]))
        os.umask(FOR_THIS_USER_ONLY)
        with signals_as_interrupts():
            try:
                with single_instance(home / "demo"):
                    self._run(home, options["port"], stay=not options["exit_after_first_record"])
            except KeyboardInterrupt:
                return
            except (StartFailed, Refused, LabError) as error:
                raise CommandError(str(error)) from None

    def _run(self, home: Path, first_port: int, *, stay: bool) -> None:
        supervisor = Supervisor(home / "logs", self.say)
        try:
            self._show(supervisor, home, free_port(first_port), stay=stay)
            while stay:
                supervisor.watch()
                time.sleep(POLL_S)
        finally:
            kill_on_next_signal(supervisor, self.say)
            self.say("ending the demo")
            supervisor.stop("console")
            supervisor.stop_all()

    def _show(self, supervisor: Supervisor, home: Path, port: int, *, stay: bool) -> None:
        plans = lab_plans(home / "lab", self.kafka_port)
        password = kept_password(home / PASSWORD_FILE)
        url = f"http://127.0.0.1:{port}/"
        supervisor.start(lab_program(home / "lab", plans))
        supervisor.start(console_program(home, port))
        wanted = (class_archive.FLOWS, class_archive.ANALYSES)
        if any(class_archive.path_if_made(entry) is None for entry in wanted):
            self.say("making the class archives of Spark (once, about a minute)")
            supervisor.start(archive_program())
        supervisor.wait_until(lambda: is_url_ok(f"{url}healthz"), "console", CONSOLE_TIMEOUT_S)
        self.say(f"the console is up after {self._elapsed_s():.1f} s")
        visitor = DemoClient(url)
        visitor.log_in(USERNAME, password)
        show = DemoSetup(visitor, self.say, supervisor.watch)
        for plan in plans:
            show.register_cluster(plan.alias, plan.bootstrap_servers(), LAB_TIMEOUT_S)
        show.exclude_idle_group()
        self._wait_for_archive(supervisor)
        flow = show.ensure_flow()
        self.say("waiting for Spark and the first replicated record")
        row = show.wait_for_record(flow, RECORD_TIMEOUT_S)
        if self.with_mirror_maker:
            self._show_mirror_maker(show, home, url)
        self._tell(url, password, flow, row)
        if stay:
            self._start_streams(home)
            report = show.ensure_report(flow, REPORT_TIMEOUT_S)
            self.say(f"a report of this flow: {url}reports/made/{report}/")
            self.say(f"it is delivered into {home / REPORTS}")
            if self.with_analyses:
                self.say(
                    f"{show.ensure_analyses()} analyses wait for Spark, one of each kind: {url}runs/"
                )

    def _show_mirror_maker(self, show: DemoSetup, home: Path, url: str) -> None:
        """Start MirrorMaker 2 when everything else is up: it wants a whole core for half a minute."""
        control.ask(home / "lab", "start-mirror-maker")
        watched = show.ensure_watched_flow()
        self.say("MirrorMaker 2 starts beside it: waiting for the first record that it copies")
        show.wait_for_record(watched, RECORD_TIMEOUT_S)
        self.say(f"beside it, MirrorMaker 2 copies: {url}replication/{watched}/")

    def _start_streams(self, home: Path) -> None:
        """Start a Streams application when everything else is up; the demo does not wait for it."""
        try:
            control.ask(home / "lab", "start-streams")
        except LabError as error:
            self.say(str(error))
        else:
            self.say("a Kafka Streams application of two instances starts on east: shop-totals")

    def _wait_for_archive(self, supervisor: Supervisor) -> None:
        while not supervisor.has_ended("archive"):
            supervisor.watch()
            time.sleep(POLL_S)

    def _tell(self, url: str, password: str, flow: int, row: Any) -> None:
        self.say(
            f"{row['topic']}-{row['partition']} of east is copied to {row['remote_topic']} of west "
            f"below offset {row['position']:,}"
        )
        self.say(f"first replicated record seen in the console after {self._elapsed_s():.1f} s")
        self.say("")
        self.say(f"  console   {url}")
        self.say(f"  flow      {url}replication/{flow}/")
        self.say(f"  login     {USERNAME}")
        self.say(f"  password  {password}")
        self.say("")
        self.say("Ctrl-C ends everything; the next demo resumes with the same data")

    def _elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def say(self, text: str) -> None:
        """Print a line at once, also into a log."""
        self.stdout.write(f"demo: {text}".rstrip())
        self.stdout.flush()


def lab_plans(root: Path, first_port: int) -> list[ClusterPlan]:
    """Return the plans of the lab that is there, else the standard ones on free ports."""
    there = read_plans(root)
    if there:
        return there
    for base_port in range(first_port, first_port + LAB_TRIES * LAB_PORTS, LAB_PORTS):
        plans = standard_plans(base_port)
        if all(is_free(port) for plan in plans for port in plan.ports()):
            return plans
    raise StartFailed(
        f"Kafka finds no free ports from {first_port} on; choose others with --kafka-port."
    )


def kept_password(path: Path) -> str:
    """Return the demo's password, which is made at the first start and readable only by its user."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(9), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def lab_program(root: Path, plans: list[ClusterPlan]) -> Program:
    """Return the two clusters with their traffic; they end with their keeper."""
    command = [sys.executable, "-m", "jobs.lab", "lab", "start", "--foreground", "--traffic"]
    command += ["--dir", str(root)]
    if not read_plans(root):
        command += ["--base-port", str(plans[0].base_port)]
    return Program(
        "lab",
        tuple(command),
        stop_within_s=60.0,  # a MirrorMaker 2 commits its positions first
        when_ended=WhenEnded.FAIL,
        is_shown=True,
    )


def console_program(home: Path, port: int) -> Program:
    """Return `manage.py up` with a home, a Redis and an administrator of its own."""
    environment = {
        "CROSSLOG_HOME": str(home),
        # The demo is one machine with nothing else: whatever is set for other consoles is not for it.
        "DATABASE_URL": "",
        "DATABASE_URL_FILE": "",
        "REDIS_URL": "",
        "REDIS_URL_FILE": "",
        "CROSSLOG_RUNS_DIR": "",
        "STATIC_ROOT": "",
        "REPORT_FOLDER": str(home / REPORTS),
        # One of each kind is requested at once.
        "ANALYSES_PER_PERSON": "100",
    }
    (home / REPORTS).mkdir(parents=True, exist_ok=True)
    command = (
        *(sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port)),
        *("--password-file", str(home / PASSWORD_FILE)),
    )
    return Program(
        "console",
        command,
        {**os.environ, **environment},
        stop_within_s=90.0,
        when_ended=WhenEnded.FAIL,
    )


def archive_program() -> Program:
    """Return what makes Spark's class archives, which halve the start of every later flow and analysis."""
    command = (sys.executable, "-m", "jobs.spark.class_archive")
    return Program("archive", command, when_ended=WhenEnded.FINE)
