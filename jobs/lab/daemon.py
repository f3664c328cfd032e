"""The daemon: the process that owns the nodes of a lab and takes orders from a shell.

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
from typing import TYPE_CHECKING, Any

from jobs.lab import control
from jobs.lab.child import start_child
from jobs.lab.errors import LabError
from jobs.lab.lab import Lab, Say, lab_status
from jobs.lab.mirror_maker import MirrorMaker, beside_properties

if TYPE_CHECKING:
    from jobs.lab.streams.application import StreamsApplication

logger = logging.getLogger(__name__)
# Topics and groups that a MirrorMaker 2 beside crosslog copies; every flow needs topics of its own.
MIRRORED = "mirrored-"
MIRRORED_RATE = "50"
MIRROR_MAKER_HEAP = "256m"
STREAMS_APPLICATION = "shop-totals"
STREAMS_INSTANCES = ("shop-totals-1", "shop-totals-2")
STREAMS_HEAP = "96m"
_ORDER_S = 5.0  # for an order to arrive once its connection is there


class LabDaemon:
    """Starts a lab, takes orders until told to stop, stops the lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.traffic: list[subprocess.Popen[bytes]] = []
        self.mirror: MirrorMaker | None = None
        self.streams: StreamsApplication | None = None
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
            "upgrade-node": self.upgrade_node,
            "start-mirror-maker": self.start_mirror_maker,
            "start-streams": self.start_streams,
        }

    def run(self, say: Say, *, with_traffic: bool = False, with_mirror_maker: bool = False) -> None:
        """Keep the lab until the order to stop, SIGTERM or SIGINT comes."""
        signal.signal(signal.SIGTERM, _leave)
        with control.DaemonLock(self.lab.root):
            try:
                self.lab.start(say=say)
                if with_traffic:
                    self.traffic.append(start_traffic(self.lab.root))
                    say("traffic runs")
                if with_mirror_maker:
                    self.start_mirror_maker()
                    say("MirrorMaker 2 starts")
                self._take_orders(say)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self._end_traffic()
                if self.mirror is not None:
                    self.mirror.stop()
                if self.streams is not None:
                    self.streams.close()
                self.lab.stop()

    def status(self) -> dict[str, Any]:
        status = lab_status(self.lab)
        status |= {"keeper": os.getpid(), "up_s": round(time.time() - self.started_at, 1)}
        return status | {
            "traffic": any(one.poll() is None for one in self.traffic),
            "mirror_maker": self.mirror.pid if self.mirror is not None else None,
            "streams": self._streams_pids(),
        }

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

    def upgrade_node(self, name: str, version: str) -> dict[str, Any]:
        """Restart a node with another version of Kafka and wait until it serves."""
        node = self.lab.upgrade_node(name, version)
        return {"node": name, "kafka": version, "is_running": node.is_running}

    def start_mirror_maker(self) -> dict[str, Any]:
        """Start a MirrorMaker 2 from the first cluster to the second; one that runs already stays."""
        if self.mirror is None or self.mirror.pid is None:
            self._start_mirrored_traffic()
            source, target = list(self.lab.clusters.values())[:2]
            settings = beside_properties(
                (source.plan.alias, source.bootstrap_servers),
                (target.plan.alias, target.bootstrap_servers),
                MIRRORED,
            )
            folder = self.lab.root / "mirror-maker"
            self.mirror = MirrorMaker(folder, self.lab.jvm, settings, heap=MIRROR_MAKER_HEAP)
            self.mirror.start()
        return {"mirror_maker": self.mirror.pid}

    def start_streams(self) -> dict[str, Any]:
        """Start a Streams application of two instances on the first cluster; one that runs already stays.

        It has no standbys: the demo shows that finding, which is advice. The second instance joins when the
        first one runs: members tell which tasks have state only when they join again.
        """
        if not self._streams_pids():
            from jobs.lab.streams.application import (
                StreamsApplication,
                StreamsSettings,
                make_topics,
            )

            cluster = next(iter(self.lab.clusters.values()))
            settings = StreamsSettings(
                STREAMS_APPLICATION, cluster.bootstrap_servers, standbys=0, heap=STREAMS_HEAP
            )
            self.streams = StreamsApplication(
                self.lab.root / STREAMS_APPLICATION, self.lab.jvm, settings
            )
            make_topics(cluster.connection)
            for name in STREAMS_INSTANCES:
                self.streams.start(name)
                self.streams.wait_until_running()
        return {"streams": self._streams_pids()}

    def _streams_pids(self) -> list[int]:
        instances = self.streams.instances.values() if self.streams is not None else ()
        return [one.pid for one in instances if one.pid is not None]

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
        """Do one order; whatever goes wrong with it is its answer, and the lab continues."""
        try:
            connection.settimeout(_ORDER_S)
            with connection.makefile("rb") as file:
                line = file.readline()
            if line:  # nothing comes from somebody who only looked whether a daemon is there
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

    def _start_mirrored_traffic(self) -> None:
        """Give a MirrorMaker 2 something to copy, where the lab has traffic at all."""
        if len(self.traffic) == 1:
            rate = ("--prefix", MIRRORED, "--rate", MIRRORED_RATE)
            self.traffic.append(start_traffic(self.lab.root, "mirrored-traffic.log", *rate))

    def _end_traffic(self) -> None:
        for one in self.traffic:
            one.terminate()
        for one in self.traffic:
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()


def start_traffic(root: Path, log: str = "traffic.log", *options: str) -> subprocess.Popen[bytes]:
    """Start traffic of a lab as a child: it ends with us."""
    command = [sys.executable, "-m", "jobs.lab", "lab", "traffic", "--dir", str(root), *options]
    return start_child(command, root / log)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
