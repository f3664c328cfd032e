"""The whole console as its user starts it: `manage.py up` with its own home, Redis, workers and ports."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from console.frame.processes.demo_client import DemoClient, Refused
from jobs.lab.child import start_child
from jobs.spark import processes
from tests.waiting import eventually

ROOT = Path(__file__).parents[1]
ENV = "/usr/bin/env"
UP_WITHIN_S = 120
# Longer than a worker needs to restart on a busy machine: its flows keep running meanwhile.
LEASE_S = 180
DATABASE = "crosslog.sqlite3"


class Visitor(DemoClient):
    """Deletes, too."""

    def delete(self, path: str) -> None:
        headers = {"Referer": self.url, "X-CSRFToken": self._csrf()}
        request = urllib.request.Request(f"{self.url}{path}", None, headers, method="DELETE")
        self._open(request).close()


class RunningConsole:
    """A started console, a visitor who is logged in, and the processes behind it."""

    def __init__(
        self,
        home: Path,
        port: int,
        lease_s: int = LEASE_S,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}/"
        self.password = secrets.token_urlsafe(12)
        password_file = home / "admin-password"
        password_file.write_text(self.password)
        changed = {
            "CROSSLOG_HOME": str(home),
            "CROSSLOG_SECRETS_DIR": str(home),
            "COLLECT_INTERVAL_S": "3",
            "FLOW_INTERVAL_S": "2",
            "LEASE_S": str(lease_s),
            "DJANGO_SETTINGS_MODULE": "console.settings",
            **(settings or {}),
        }
        # It ends with this process, whatever ends that.
        self.supervisor = start_child(
            [
                ENV,
                f"--chdir={ROOT}",
                *(f"--unset={name}" for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")),
                *(f"{name}={value}" for name, value in changed.items()),
                *(sys.executable, "manage.py", "up", "--port", str(port)),
                *("--password-file", str(password_file)),
            ],
            home / "up.log",
        )
        self.visitor = Visitor(self.url)

    def log_in(self) -> None:
        eventually(self._answers, UP_WITHIN_S)
        self.visitor.log_in("admin", self.password)

    def _answers(self) -> bool:
        assert self.supervisor.poll() is None, (self.home / "up.log").read_text()
        try:
            return bool(self.visitor.page("readyz"))
        except (OSError, Refused):
            return False

    def pid_of(self, word: str) -> int | None:
        """Return the pid of the supervisor's child whose command line has this word."""
        for pid in processes.children_of(self.supervisor.pid):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
            except OSError:
                continue
            if word in command:
                return pid
        return None

    def kill(self, word: str) -> int:
        """Kill -9 one program, wait until the supervisor started another, return the new pid."""
        old = self.pid_of(word)
        assert old is not None, f"no program with {word}"
        os.kill(old, signal.SIGKILL)
        eventually(lambda: self.pid_of(word) not in (None, old), 30)
        return self.pid_of(word) or 0

    def flow(self, flow_id: int) -> dict:
        return dict(self.visitor.get(f"api/v1/flows/{flow_id}/"))

    def empty(self) -> None:
        """Delete every flow, which ends its run, and every cluster."""
        for flow in self._all("flows"):
            self.visitor.delete(f"api/v1/flows/{flow['id']}/")
        eventually(lambda: self._all("flows") == [], 90, every=0.5)
        for cluster in self._all("clusters"):
            self.visitor.delete(f"api/v1/clusters/{cluster['alias']}/")

    def _all(self, what: str) -> list[dict]:
        return list(self.visitor.get(f"api/v1/{what}/")["results"])

    def end(self) -> None:
        self.supervisor.terminate()
        try:
            self.supervisor.wait(60)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
