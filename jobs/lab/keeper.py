"""The keeper: the process that owns the nodes of a lab and takes orders from a shell.

The nodes are its children and end with it, even when it is killed.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from jobs.lab import control
from jobs.lab.child import start_child
from jobs.lab.errors import LabError
from jobs.lab.lab import Lab, Say
from jobs.lab.status import lab_status

logger = logging.getLogger(__name__)
_ORDER_S = 5.0  # for an order to arrive once its connection is there


class Keeper:
    """Starts a lab, takes orders until told to stop, stops the lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.traffic: subprocess.Popen[bytes] | None = None
        self.is_wanted = True
        self.started_at = time.time()
        self.orders: dict[str, Callable[..., dict[str, Any]]] = {
            "status": self.status,
            "stop": self.stop,
            "kill": lambda name: self._with_node(name, lambda node: node.kill()),
            "stop-node": lambda name: self._with_node(name, lambda node: node.stop()),
            "pause": lambda name: self._with_node(name, lambda node: node.pause()),
            "resume": lambda name: self._with_node(name, lambda node: node.resume()),
            "start-node": self.start_node,
            "add-controller": self.add_controller,
        }

    def run(self, say: Say, *, with_traffic: bool = False) -> None:
        """Keep the lab until the order to stop, SIGTERM or SIGINT comes."""
        signal.signal(signal.SIGTERM, _leave)
        with control.KeeperLock(self.lab.root):
            try:
                self.lab.start(say=say)
                if with_traffic:
                    self.traffic = start_traffic(self.lab.root)
                    say("traffic runs")
                self._take_orders(say)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self._end_traffic()
                self.lab.stop()

    def status(self) -> dict[str, Any]:
        """Return the lab as the keeper sees it."""
        status = lab_status(self.lab)
        status |= {"keeper": os.getpid(), "up_s": round(time.time() - self.started_at, 1)}
        return status | {"traffic": self.traffic is not None and self.traffic.poll() is None}

    def stop(self) -> dict[str, Any]:
        """Take no more orders; the lab stops after the answer."""
        self.is_wanted = False
        return {"stopping": str(self.lab.root)}

    def start_node(self, name: str) -> dict[str, Any]:
        """Start a node again and wait until it serves."""
        node = self.lab.node(name)
        node.start()
        self.lab.cluster(node.plan.cluster.alias).wait_until_serving()
        return {"node": name, "is_running": node.is_running, "is_paused": node.is_paused}

    def add_controller(self, alias: str) -> dict[str, Any]:
        """Add a controller to a cluster's quorum."""
        node = self.lab.cluster(alias).add_controller()
        return {"node": node.name, "is_running": node.is_running, "is_paused": False}

    def _with_node(self, name: str, act: Callable[[Any], None]) -> dict[str, Any]:
        node = self.lab.node(name)
        act(node)
        return {"node": name, "is_running": node.is_running, "is_paused": node.is_paused}

    def _take_orders(self, say: Say) -> None:
        with control.listen(self.lab.root) as listener:
            say("ready")
            while self.is_wanted:
                connection, _ = listener.accept()
                with connection:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        """Do one order; whatever goes wrong with it is its answer, and the lab goes on."""
        try:
            connection.settimeout(_ORDER_S)
            with connection.makefile("rb") as file:
                line = file.readline()
            if line:  # nothing comes from somebody who only looked whether a keeper is there
                connection.sendall(json.dumps(self._do(line)).encode() + b"\n")
        except OSError as error:
            logger.warning("order lost reason=%s", error)

    def _do(self, line: bytes) -> dict[str, Any]:
        try:
            order, *arguments = json.loads(line)
            return self.orders[order](*arguments)
        except LabError as error:
            return {"error": str(error), "exit_code": error.exit_code}
        except (KeyError, TypeError, ValueError) as error:
            return {"error": f"The keeper does not understand {line!r}: {error!r}."}

    def _end_traffic(self) -> None:
        if self.traffic is None:
            return
        self.traffic.terminate()
        try:
            self.traffic.wait(10)
        except subprocess.TimeoutExpired:
            self.traffic.kill()


def start_traffic(root: Path) -> subprocess.Popen[bytes]:
    """Start the traffic of a lab as a child: it ends with us."""
    command = [sys.executable, "-m", "jobs.lab", "lab", "traffic", "--dir", str(root)]
    return start_child(command, root / "traffic.log")


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
