"""A standby broker for a long time: a producer, promotions and demotions, loops killed, controllers killed.

`bench/run.py standby --duration-s 3600`. What is told: how long it really ran, how long each promotion and
demotion took, whether a promoted standby ever left an ISR, the longest time without an acked record, and
whether every acked record is there in the end.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.folder_store import FolderStore
from jobs.availability.acting.standby.promotions import HeldPromotion, Phase
from jobs.cluster.admin.quorum import describe_quorum
from jobs.cluster.errors import ClusterFault
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.live.availability.standby_cluster import (
    SETTINGS,
    STANDBY,
    Acked,
    IsrWatch,
    in_all_isrs,
    now_ms,
    partitions,
    wait_until_fenced,
)
from tests.live.records import read_all
from tests.live.topics import new_topic_on

HERE = Path(__file__).parent
Say = Callable[[str], None]
DURATION_S, QUICK_S = 600.0, 120.0
SEED = 20240831
LOOPS_SHARE = 0.75
_WITHIN_S = 60.0


@dataclass
class Seen:
    """What happened so far; times in ms."""

    promoted_ms: list[int] = field(default_factory=list)
    demoted_ms: list[int] = field(default_factory=list)
    loop_kills: int = 0
    controller_kills: int = 0
    looks: int = 0
    dropped: list[str] = field(default_factory=list)


@dataclass
class Stage:
    """Everything that a round needs."""

    cluster: Cluster
    doors: ClusterConnections
    topic: str
    store: FolderStore
    loops: "Loops"
    chance: random.Random
    seen: Seen = field(default_factory=Seen)

    def is_promoted(self) -> bool:
        return in_all_isrs(self.doors, STANDBY, self.topic)

    def is_demoted(self) -> bool:
        return not any(STANDBY in p.isr for p in partitions(self.doors, self.topic).values())


class Loops:
    """Two loops in processes of their own; one that is killed is started again."""

    def __init__(self, cluster: Cluster, store: Path) -> None:
        self._settings = store.parent / "cluster.yaml"
        plan = cluster.plan
        self._settings.write_text(
            f"alias: {plan.alias}\nbootstrap_servers: {plan.bootstrap_servers()}\n"
        )
        self._store = store
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("one", "two"):
            self.start(name)

    def start(self, name: str) -> None:
        words = ["standby", "run", str(self._settings), "--store", str(self._store), "--id", name]
        self._running[name] = subprocess.Popen(
            [sys.executable, "-m", "jobs", *words],
            cwd=HERE.parent,
            env=os.environ | {"PYTHONPATH": str(HERE.parent)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_and_start(self, name: str) -> None:
        self._running[name].kill()
        self._running[name].wait(10)
        self.start(name)

    def stop(self) -> None:
        for one in self._running.values():
            one.kill()
            one.wait(10)


def measure(say: Say, *, quick: bool, duration_s: float | None = None) -> dict[str, object]:
    """Run for so long (ten minutes without a wish); returns JSON values."""
    wanted_s = duration_s or (QUICK_S if quick else DURATION_S)
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        lab = Lab(Path(folder) / "lab", plans(find_base_port(plans)))
        lab.start()
        try:
            return {"wanted_s": wanted_s, **run(lab, Path(folder), wanted_s, say)}
        finally:
            lab.kill()


def plans(base_port: int) -> list[ClusterPlan]:
    racks = ("site-a", "site-a", "site-b", "site-b")
    return [ClusterPlan("standby", 4, base_port, racks=racks, node_overrides=SETTINGS)]


def run(lab: Lab, folder: Path, wanted_s: float, say: Say) -> dict[str, object]:
    """Promote, kill, demote, again and again."""
    cluster = lab.cluster("standby")
    doors = ClusterConnections(cluster.connection)
    topic = new_topic_on(cluster, [[1, 2, STANDBY], [2, 1, STANDBY]], min_insync_replicas="2")
    wait_until_fenced(doors)
    store = FolderStore(folder / "store")
    loops = Loops(cluster, folder / "store")
    stage = Stage(cluster, doors, topic, store, loops, random.Random(SEED))
    seen = stage.seen
    began = time.monotonic()
    try:
        with Acked(cluster, topic, 0.02) as producer:
            rounds = 0
            while time.monotonic() - began < wanted_s:
                rounds += 1
                one_round(stage)
                say(
                    f"{time.monotonic() - began:.0f} s: {rounds} promotions, dropped {seen.dropped}"
                )
            ran_s = time.monotonic() - began
            producer.stop()
    finally:
        loops.stop()
    found = {int(one.value.split()[0]) for one in read_all(cluster, topic)}
    return {
        "ran_s": round(ran_s, 1),
        "promotions": rounds,
        "promoted_ms": spread(seen.promoted_ms),
        "demoted_ms": spread(seen.demoted_ms),
        "loop_kills": seen.loop_kills,
        "controller_kills": seen.controller_kills,
        "isr_looks": seen.looks,
        "left_the_isr_while_promoted": seen.dropped,
        "acked": len(producer.acked),
        "refused": producer.refused,
        "longest_time_without_an_ack_s": round(producer.longest_gap_s(), 2),
        "acked_but_not_found": len(set(producer.acked) - found),
    }


def one_round(stage: Stage) -> None:
    """Promote the standby, let something die meanwhile, and demote it."""
    store, seen, chance = stage.store, stage.seen, stage.chance
    one = HeldPromotion(
        uuid.uuid4().hex, STANDBY, begun_at_ms=now_ms(), changed_at_ms=now_ms(), asked_by="bench"
    )
    at = time.monotonic()
    if not store.begin(one):
        raise RuntimeError(f"the promotion did not begin: {store.read()}")
    wait(stage.is_promoted)
    seen.promoted_ms.append(round((time.monotonic() - at) * 1000))
    with IsrWatch(stage.doors, stage.topic) as watch:
        time.sleep(chance.uniform(2, 6))
        something_dies(stage)
        time.sleep(chance.uniform(10, 14))
    seen.looks += watch.looks
    seen.dropped += [f"after {t - at:.1f} s" for t in watch.missing[:1]]
    at = time.monotonic()
    known = next(p for p in store.read().promotions if p.promotion_id == one.promotion_id)
    store.move(known.promotion_id, known.generation, Phase.DEMOTING, now_ms())
    wait(stage.is_demoted)
    seen.demoted_ms.append(round((time.monotonic() - at) * 1000))
    wait(lambda: not store.read().promotions)


def something_dies(stage: Stage) -> None:
    """Kill a loop in three of four rounds, the active controller in the fourth (never the standby itself)."""
    if stage.chance.random() < LOOPS_SHARE:
        stage.loops.kill_and_start(stage.chance.choice(("one", "two")))
        stage.seen.loop_kills += 1
        return
    leader = describe_quorum(stage.cluster.connection).leader_id
    if leader is None or leader == STANDBY:
        return
    stage.seen.controller_kills += 1
    stage.cluster.node(leader).kill()
    time.sleep(3)
    stage.cluster.node(leader).start()
    stage.cluster.wait_until_serving()


def wait(predicate: Callable[[], bool]) -> None:
    """Wait for something; a cluster that does not answer for a moment is asked again."""
    end = time.monotonic() + _WITHIN_S
    while time.monotonic() < end:
        try:
            if predicate():
                return
        except ClusterFault:
            pass
        time.sleep(0.02)
    raise RuntimeError(f"not within {_WITHIN_S:.0f} s: {predicate}")


def spread(values: list[int]) -> dict[str, float]:
    """Return how many there are, the middle, and the ends."""
    if not values:
        return {"count": 0}
    return {
        "count": len(values),
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
    }
