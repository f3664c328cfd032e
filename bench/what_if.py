"""What the loss of each of eight parts of a cluster does to 50,000 partitions, on one core.

Four fifths of the topics are plain and have replicas in all three sites; the rest have a placement with
observers, which their brokers promote. Some ISRs are short. Timed is everything a question costs: the model
by classes of partitions that are alike, each loss, and its sums over the cluster and over every topic. Beside
it: the step-by-step simulation of one loss with every sentence, reading the same cluster from JSON, and the
same eight losses where replicas are placed at random, so that hardly any partitions are alike.
"""

import json
import random
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.what_if.matrix import alike_partitions, matrix, single_failures
from jobs.availability.what_if.model.cluster import (
    BrokerModel,
    ClusterModel,
    ControllerModel,
    PartitionModel,
)
from jobs.availability.what_if.simulation import simulate
from jobs.availability.what_if.steps import Loss

Say = Callable[[str], None]
TOPICS = 1000
PARTITIONS_EACH = 50
BROKERS = 30
SITES = ("dc-a", "dc-b", "dc-c")
RUNS = 5
SHORT_ISR = 0.02


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Ask for eight losses at once, some times over; returns JSON values."""
    topics = TOPICS // 10 if quick else TOPICS
    cluster = made_cluster(topics)
    asked = scenarios()
    seconds = [timed(lambda: answer(cluster, asked)) for _ in range(RUNS)]
    say(f"{len(asked)} losses of {len(cluster.partitions)} partitions: {min(seconds):.2f} s")
    classes = alike_partitions(cluster)
    worst = timed(lambda: matrix(classes, single_failures(cluster)).worst)
    random_cluster = placed_at_random(cluster)
    at_random = timed(lambda: answer(random_cluster, asked))
    one = timed(lambda: simulate(cluster, asked[:1]))
    text = json.dumps(cluster.to_json())
    read = timed(lambda: ClusterModel.from_json(json.loads(text)))
    say(f"placed at random {at_random:.2f} s")
    say(f"worst single failure {worst:.2f} s, one step by step {one:.2f} s, from JSON {read:.2f} s")
    return {
        "partitions": len(cluster.partitions),
        "topics": topics,
        "brokers": BROKERS,
        "losses": [column.name for column in matrix(classes, asked).columns],
        "settings": {"has_elr": True, "promotes_itself": True, "runs": RUNS, "processes": 1},
        "numpy": np.__version__,
        "matrix_s": {"median": round(statistics.median(seconds), 3), "all": rounded(seconds)},
        "classes": len(classes.model.partitions),
        "placed_at_random_s": round(at_random, 3),
        "worst_single_failure_s": round(worst, 3),
        "worst_single_failure_of": BROKERS + len(SITES),
        "one_loss_step_by_step_s": round(one, 3),
        "read_from_json_s": round(read, 3),
        "json_mib": round(len(text) / 2**20, 1),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def answer(cluster: ClusterModel, asked: list[Loss]) -> None:
    for column in matrix(alike_partitions(cluster), asked).columns:
        assert column.cluster.partitions == len(cluster.partitions)
        assert column.topics


def placed_at_random(cluster: ClusterModel) -> ClusterModel:
    """Return the same cluster with replicas on any brokers."""
    chance = random.Random(2)
    partitions = []
    for one in cluster.partitions:
        renamed = dict(
            zip(one.replicas, chance.sample(range(BROKERS), len(one.replicas)), strict=True)
        )
        replicas, isr = (tuple(renamed[b] for b in ids) for ids in (one.replicas, one.isr))
        observers = tuple(renamed[b] for b in one.observers)
        partitions.append(
            replace(one, replicas=replicas, isr=isr, leader=isr[0], observers=observers)
        )
    return replace(cluster, partitions=partitions)


def timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def rounded(seconds: list[float]) -> list[float]:
    return [round(one, 3) for one in seconds]


def scenarios() -> list[Loss]:
    """Each site, two sites, single brokers, and controllers only."""
    sites = [Loss(racks=frozenset({one})) for one in SITES]
    return [
        *sites,
        Loss(racks=frozenset(SITES[:2])),
        Loss(brokers=frozenset({0})),
        Loss(brokers=frozenset({1, 4})),
        Loss(brokers=frozenset({2}), racks=frozenset({"dc-a"})),
        Loss(controllers=frozenset({100, 101, 102})),
    ]


def made_cluster(topics: int) -> ClusterModel:
    """Return thirty brokers in three sites, five controllers, and topics of fifty partitions."""
    chance = random.Random(1)
    brokers = {id_: BrokerModel(id_, SITES[id_ % len(SITES)]) for id_ in range(BROKERS)}
    voters = tuple(ControllerModel(100 + n, SITES[n % len(SITES)]) for n in range(5))
    partitions = tuple(
        made_partition(f"topic-{topic:04}", number, chance, is_plain=topic % 5 > 0)
        for topic in range(topics)
        for number in range(PARTITIONS_EACH)
    )
    return ClusterModel(brokers, partitions, voters, has_elr=True, promotes_itself=True)


def made_partition(
    topic: str, number: int, chance: random.Random, *, is_plain: bool
) -> PartitionModel:
    """Return a partition with three replicas, or with two and two observers."""
    first = chance.randrange(BROKERS)
    replicas = tuple((first + step) % BROKERS for step in ((0, 1, 2) if is_plain else (0, 3, 1, 4)))
    observers = () if is_plain else replicas[2:]
    isr = tuple(one for one in replicas if one not in observers)
    if chance.random() < SHORT_ISR:
        isr = isr[:1]
    return PartitionModel(
        topic=topic,
        partition=number,
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        observers=observers,
        min_insync_replicas=2,
        policy=None if is_plain else PromotionPolicy.UNDER_MIN_ISR,
    )
