"""The demo for hours beside a process that kills a broker every ten minutes: `bench/run.py demo-hours`.

`--duration-s 7200 --seed 1`. Everything is real: `manage.py demo` with a home of its own, its clusters, its
traffic, its flow, which writes checkpoints every second (sixty times as often as by default, so each
follow-up of the offset syncs is tried sixty times as often). The output: every checkpoint checked against
the records on both sides, how often the readiness changed and how much of the time it was ready, and
every run of the flow that crashed.
"""

import itertools
import math
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo_truth import Pairs, Where, Written, judge

from console.frame.processes.demo_client import DemoClient, Refused
from console.frame.processes.demo_setup import FLOW
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.records import ClientPartition, Message
from jobs.lab import control
from jobs.lab.errors import LabError
from jobs.lab.lab import read_plans
from jobs.wire.mirror_records import decode_checkpoint

ROOT = Path(__file__).resolve().parent.parent
Say = Callable[[str], None]
DURATION_S, QUICK_S = 7200.0, 600.0
KILL_EVERY_S, QUICK_KILL_S = 600.0, 150.0
DOWN_S = 60.0  # how long a killed broker stays away
SETTLED_S = 60.0  # and how long after it is back its loss may still show
LOOK_EVERY_S = 5.0
START_S = 900.0
CHECKPOINTS_EVERY_S = 1
BROKERS = 3
SEED = 1
TOPICS = {"orders": 6, "payments": 3, "clicks": 4, "customers": 2}
CHECKPOINTS = "east.checkpoints.internal"
CRASHED = ("CRASHED", "FAILED")
_READER = {
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 16384,
}


@dataclass
class Seen:
    """What was seen so far; moments are monotonic seconds."""

    pairs: dict[Where, Pairs]
    written: list[Written] = field(default_factory=list)
    looks: list[tuple[float, str, str]] = field(default_factory=list)
    kills: list[tuple[float, float, str]] = field(default_factory=list)
    noticed: list[dict[str, float]] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def measure(
    say: Say, *, quick: bool, duration_s: float | None = None, seed: int = SEED
) -> dict[str, object]:
    """Run the demo for so long (two hours without a wish); returns JSON values."""
    wanted_s = duration_s or (QUICK_S if quick else DURATION_S)
    every_s = QUICK_KILL_S if quick else KILL_EVERY_S
    with running_demo(say, "--without-analyses") as (_demo, home, url):
        return {
            "wanted_s": wanted_s,
            "seed": seed,
            "kill_every_s": every_s,
            **run(home, url, Course(wanted_s, every_s, random.Random(seed)), say),
        }


@contextmanager
def running_demo(say: Say, *more: str) -> "Iterator[tuple[subprocess.Popen[str], Path, str]]":
    """Run the demo in a home of its own; gives its process, its home and the console's address."""
    with tempfile.TemporaryDirectory(prefix="crosslog-demo-") as folder:
        home = Path(folder) / "home"
        demo = start(home, *more)
        try:
            yield demo, home, wait_for_address(demo, Path(folder) / "demo.log", say)
        finally:
            demo.send_signal(signal.SIGINT)
            try:
                demo.wait(180)
            except subprocess.TimeoutExpired:
                demo.kill()
                raise


@dataclass(frozen=True)
class Course:
    """How long, how often something dies, and by which chance."""

    wanted_s: float
    kill_every_s: float
    chance: random.Random


def start(home: Path, *more: str) -> "subprocess.Popen[str]":
    words = [sys.executable, str(ROOT / "manage.py"), "demo", "--home", str(home), *more]
    return subprocess.Popen(
        [*words, "--port", "8600", "--kafka-port", "23092"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_address(demo: "subprocess.Popen[str]", log: Path, say: Say) -> str:
    """Return the console's address as soon as the demo has shown its first record."""
    found: list[str] = []
    is_told = threading.Event()

    def listen() -> None:
        assert demo.stdout is not None
        with log.open("w") as file:
            for line in demo.stdout:
                file.write(line)
                file.flush()
                if "  console   " in line:
                    found.append(line.split()[-1])
                    is_told.set()
        is_told.set()

    threading.Thread(target=listen, daemon=True).start()
    if not is_told.wait(START_S) or not found:
        raise RuntimeError(f"the demo did not start:\n{log.read_text()[-3000:]}")
    say(f"the demo runs at {found[0]}")
    return found[0]


def run(home: Path, url: str, course: Course, say: Say) -> dict[str, object]:
    """Follow, look and kill until the time is over, then judge."""
    east, west = (plan.connection for plan in read_plans(home / "lab"))
    seen = Seen({Where(t, n): Pairs() for t, count in TOPICS.items() for n in range(count)})
    visitor = DemoClient(url)
    visitor.log_in("admin", (home / "password").read_text())
    flow = next(f for f in visitor.get("api/v1/flows/?limit=500")["results"] if f["name"] == FLOW)
    path = f"api/v1/flows/{flow['id']}/"
    visitor.patch(path, {"emit_checkpoints_interval_s": CHECKPOINTS_EVERY_S})
    is_over = threading.Event()
    readers = [
        Reader(east, TOPICS, lambda m: take_source(seen, m), is_over),
        Reader(west, [f"east.{t}" for t in TOPICS], lambda m: take_target(seen, m), is_over),
        Reader(west, [CHECKPOINTS], lambda m: take_checkpoint(seen, m), is_over),
    ]
    killer = threading.Thread(target=kill, args=(home, url, course, seen, is_over, say))
    for thread in (*readers, killer):
        thread.start()
    began = time.monotonic()
    try:
        while time.monotonic() - began < course.wanted_s:
            look(visitor, path, seen)
            tell(seen, time.monotonic() - began, say)
            time.sleep(LOOK_EVERY_S)
        ran_s = time.monotonic() - began
        last = visitor.get(path)
        runs = visitor.get(f"api/v1/runs/?subject=flow:{flow['id']}&limit=500")["results"]
    finally:
        is_over.set()
        for thread in (*readers, killer):
            thread.join(60)
    return {
        "ran_s": round(ran_s, 1),
        "records_compared": sum(len(one.upstream) for one in seen.pairs.values()),
        "missing_on_the_target": {
            topic: sum(one.missing for where, one in seen.pairs.items() if where.topic == topic)
            for topic in TOPICS
        },
        "unexpected_on_the_target": {
            topic: sum(one.unexpected for where, one in seen.pairs.items() if where.topic == topic)
            for topic in TOPICS
        },
        "reader_faults": {name: count for one in readers for name, count in one.faults.items()},
        **judge(seen.written, seen.pairs),
        "brokers_killed": [name for _, _, name in seen.kills],
        "kill_noticed_after_s": seen.noticed,
        **readiness(seen),
        "console_refusals": dict(seen.refusals),
        "runs": dict(Counter(one["state"] for one in runs)),
        "crashes": [
            {"at": one["finished_at"], "error": one["error"][:300]}
            for one in runs
            if one["state"] in CRASHED
        ],
        "lag_at_the_end": last["lag"],
    }


class Reader(threading.Thread):
    """Reads topics of one cluster from their beginnings, through every death of a broker."""

    def __init__(
        self,
        connection: Connection,
        topics: Collection[str],
        take: Callable[[Message], None],
        is_over: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self.faults: Counter[str] = Counter()
        self._connection, self._topics = connection, topics
        self._take, self._is_over = take, is_over

    def run(self) -> None:
        with ClusterClient(self._connection) as client:
            consumer = client.consumer(_READER)
            consumer.assign([ClientPartition(t, n, 0) for t, n in self._partitions(client)])
            while not self._is_over.is_set():
                for message in consumer.consume(1000, timeout=0.5):
                    error = message.error()
                    if error is None:
                        self._take(message)
                    else:
                        self.faults[str(error.name())] += 1
            consumer.close()

    def _partitions(self, client: ClusterClient) -> list[tuple[str, int]]:
        """Return the partitions of all topics, once all of them exist."""
        while not self._is_over.wait(0.5):
            try:
                found = describe_topics(client, list(self._topics))
            except ClusterFault as fault:
                self.faults[type(fault).__name__] += 1
                continue
            if all(one.error is None for one in found):
                return [(one.name, p.partition) for one in found for p in one.partitions]
        return []


def take_source(seen: Seen, message: Message) -> None:
    where = Where(message.topic() or "", message.partition() or 0)
    with seen.lock:
        seen.pairs[where].source(message.offset() or 0, content(message))


def take_target(seen: Seen, message: Message) -> None:
    where = Where((message.topic() or "").removeprefix("east."), message.partition() or 0)
    with seen.lock:
        seen.pairs[where].target(message.offset() or 0, content(message))


def take_checkpoint(seen: Seen, message: Message) -> None:
    one = decode_checkpoint(message.key(), message.value())
    where = Where(one.topic.removeprefix("east."), one.partition)
    at_ms = message.timestamp()[1]
    seen.written.append(
        Written(one.consumer_group_id, where, one.upstream_offset, one.downstream_offset, at_ms)
    )


def content(message: Message) -> int:
    """Return what tells records apart: the copy keeps key, value and timestamp."""
    text = b"%r %r %d" % (message.key(), message.value(), message.timestamp()[1])
    return hash((zlib.crc32(text), text[-24:]))


def kill(
    home: Path, url: str, course: Course, seen: Seen, is_over: threading.Event, say: Say
) -> None:
    """Kill one broker of the source every ten minutes, and start it again after one."""
    lab, visitor = home / "lab", DemoClient(url)
    east = read_plans(lab)[0].connection
    visitor.log_in("admin", (home / "password").read_text())
    while not is_over.wait(course.kill_every_s):
        name = f"east-{course.chance.randint(1, BROKERS)}"
        before = state_of_source(visitor)
        control.ask(lab, "kill", name)
        killed_at = time.monotonic()
        seen.kills.append((killed_at, math.inf, name))
        seen.noticed.append(noticed(east, visitor, before, killed_at, is_over))
        say(f"killed {name}, noticed after {seen.noticed[-1]} s")
        is_over.wait(max(0.0, killed_at + DOWN_S - time.monotonic()))
        try:
            control.ask(lab, "start-node", name)
        except LabError as error:
            say(f"{name} did not come back: {error}")
        seen.kills[-1] = (killed_at, time.monotonic() + SETTLED_S, name)


def noticed(
    east: Connection, visitor: DemoClient, before: str, killed_at: float, is_over: threading.Event
) -> dict[str, float]:
    """Return when Kafka no longer named the broker, and when the console's word for the source changed.

    What did not happen while the broker was away is missing.
    """
    found: dict[str, float] = {}
    while time.monotonic() < killed_at + DOWN_S and not is_over.wait(0.5):
        if "kafka" not in found and live_brokers(east) < BROKERS:
            found["kafka"] = round(time.monotonic() - killed_at, 1)
        if "console" not in found and state_of_source(visitor) not in (before, ""):
            found["console"] = round(time.monotonic() - killed_at, 1)
        if len(found) == len(("kafka", "console")):
            break
    return found


def live_brokers(east: Connection) -> int:
    """Return how many brokers the cluster names; all of them where none answers."""
    with suppress(ClusterFault), ClusterClient(east, timeout_s=5.0) as client:
        return len(client.describe().brokers)
    return BROKERS


def state_of_source(visitor: DemoClient) -> str:
    with suppress(Refused, OSError):
        found = visitor.get("api/v1/clusters/?limit=500")["results"]
        return next(str(one["status"]["state"]) for one in found if one["alias"] == "east")
    return ""


def look(visitor: DemoClient, path: str, seen: Seen) -> None:
    """Note what the console answers to "can I fail over now?"."""
    try:
        answer: dict[str, Any] = visitor.get(f"{path}readiness/")
    except (Refused, OSError) as refusal:
        seen.refusals[str(refusal)[:120]] += 1
        return
    why = ", ".join(sorted({one["obstacle"] for one in answer["evidence"]}))
    seen.looks.append((time.monotonic(), answer["readiness"], why))


def tell(seen: Seen, ran_s: float, say: Say) -> None:
    """Print a line whenever the answer changed."""
    if len(seen.looks) > 1 and seen.looks[-1][1:] != seen.looks[-2][1:]:
        say(f"{ran_s:.0f} s: {len(seen.written)} checkpoints; readiness {seen.looks[-1][1:]}")


def readiness(seen: Seen) -> dict[str, object]:
    """Return how often the answer changed and how much of the time it was ready, also without the kills."""
    first_ready = next((at for at, state, _ in seen.looks if state == "ready"), None)
    looks = [one for one in seen.looks if first_ready is not None and one[0] >= first_ready]
    calm = [one for one in looks if not any(begin <= one[0] <= end for begin, end, _ in seen.kills)]
    return {
        "first_ready_after_s": round(first_ready - seen.looks[0][0], 1) if first_ready else None,
        "readiness_changes": changes(looks),
        "ready_share": share(looks),
        "readiness_changes_without_kills": changes(calm),
        "ready_share_without_kills": share(calm),
        "readiness_seen": dict(Counter(f"{state}: {why}" for _, state, why in looks)),
    }


def changes(looks: list[tuple[float, str, str]]) -> int:
    return sum(a[1] != b[1] for a, b in itertools.pairwise(looks))


def share(looks: list[tuple[float, str, str]]) -> float | None:
    return round(sum(one[1] == "ready" for one in looks) / len(looks), 4) if looks else None
