"""Everything breaks at random while records flow; in the end both sides hold the same.

`make test` takes half a minute for one case; all share the time of `make campaign chaos`, which belongs to
a change of the engine.
"""

import logging

import pytest

from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.spec import Guarantee
from tests.campaigns import seconds_of_campaign, seed_of_campaign
from tests.live.batches.chaos import Copier, Writing, happenings, is_settled, rage
from tests.live.copied_records import assert_equal, assert_mapped, content, read_syncs
from tests.live.copiers import flow_between
from tests.live.topics import ends_of, make_topic
from tests.live.whole_batches import read_placed
from tests.waiting import eventually

logger = logging.getLogger(__name__)

CHAOS_S = seconds_of_campaign(20)
SEED = seed_of_campaign()
pytestmark = pytest.mark.timeout(1200 + CHAOS_S)
PARTITIONS = 6
RECOVERY_S = 150


LONG = pytest.mark.campaign("chaos")
CASES = [
    pytest.param(1, 3, Guarantee.EXACTLY_ONCE, id="three target brokers, exactly once"),
    pytest.param(3, 1, Guarantee.EXACTLY_ONCE, id="three source brokers, exactly once", marks=LONG),
    pytest.param(1, 1, Guarantee.AT_LEAST_ONCE, id="at least once", marks=LONG),
]
SHARE_S = CHAOS_S / len(CASES) if CHAOS_S >= 120 else CHAOS_S


@pytest.mark.parametrize(("source_nodes", "target_nodes", "delivery"), CASES)
def test_whatever_breaks_both_sides_hold_the_same_in_the_end(
    small_lab, tmp_path, source_nodes, target_nodes, delivery
):
    source_lab = small_lab("storm", nodes=source_nodes)
    target_lab = small_lab("haven", nodes=target_nodes)
    source, target = source_lab.cluster("storm"), target_lab.cluster("haven")
    topic = "chaos"
    make_topic(source, topic, PARTITIONS)
    flow = flow_between(source, target, topic, delivery=delivery)
    copier = Copier(flow, tmp_path / "copier")
    writing = Writing(source.connection, topic, PARTITIONS, SEED)
    writing.start()
    try:
        copier.wait_until_copying()
        happened = rage(happenings(source_lab, source, target, copier), SHARE_S, SEED)
        writing.stop()
        eventually(lambda: is_caught_up(source, topic, copier), RECOVERY_S, every=0.5)
    finally:
        copier.stop()
        logger.warning("the last lives ended: %s", [life.error for life in copier.lives[-3:]])
        for row in copier.worker.rows.values():
            logger.warning("%s", row)
    logger.warning(
        "seed %s: %s, %s records, lives %s",
        SEED,
        happened,
        writing.count,
        [life.code for life in copier.lives],
    )
    wanted, found = read_placed(source, topic), read_placed(target, f"storm.{topic}")
    if delivery is Guarantee.EXACTLY_ONCE:
        assert_equal(wanted, found)
        syncs_topic, _ = syncs_place(flow)
        assert_mapped(wanted, found, read_syncs(target, syncs_topic, topic))
        # Who was paused between becoming the producer and reading positions finds those of its successor.
        told = {"", "ProducerFenced", "PositionsMoved"}
        assert {zombie.error.split(":")[0] for zombie in copier.zombies} <= told
    else:
        assert_nothing_lost(wanted, found, copier)


def is_caught_up(source, topic: str, copier: Copier) -> bool:
    there = copier.worker.positions()
    if not is_settled(source, topic, PARTITIONS):
        return False
    return all(there.get((topic, p), -1) >= end for p, end in ends_of(source, topic).items())


def assert_nothing_lost(wanted, found, copier: Copier) -> None:
    """Every record is there, in order; what is there twice was told, unless a kill was quicker."""
    doubled = 0
    for partition, records in wanted.items():
        sent = [content(record) for record in records]
        copied = [content(record) for record in found[partition]]
        assert list(dict.fromkeys(copied)) == sent
        doubled += len(copied) - len(sent)
    told = sum(life.duplicates() for life in [*copier.lives, *copier.zombies])
    logger.warning("%s records twice, %s told, %s kills", doubled, told, copier.killed)
    assert told <= doubled
    if not copier.killed and not copier.zombies:
        assert told == doubled
