"""Syncs are written in batches of a bounded size, and a reader knows that none is missing between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.batches.commit import SYNCS_PER_BATCH, SyncsToWrite, pieces
from jobs.wire.topics.sync_links import SyncLinks


def told(partition, count, follows):
    pairs = np.column_stack((np.arange(count) * 2 + 10, np.arange(count) + 100))
    return SyncsToWrite("orders", partition, pairs, follows)


counts = st.lists(st.sampled_from([1, 2, 2999, 3000, 3001, 6500]), min_size=1, max_size=4)


@given(counts)
def test_every_sync_is_written_once_in_order_and_follows_the_one_before(counts):
    wanted = [told(number, count, (8, 99)) for number, count in enumerate(counts)]
    links, at, found = SyncLinks(), 0, []
    for piece in pieces(wanted):
        assert 0 < sum(len(group.pairs) for group in piece) <= SYNCS_PER_BATCH
        for group in piece:
            where = TopicPartition(group.topic, group.partition)
            for number, pair in enumerate(group.pairs.tolist()):
                headers = [(n.decode(), v) for n, v in group.headers] if number == 0 else None
                here = links.told(at, where, tuple(pair), headers)
                found += [(where, *one) for one in here]
                at += 1
    expected = []
    for one in wanted:
        pairs = [tuple(pair) for pair in one.pairs.tolist()]
        where = TopicPartition(one.topic, one.partition)
        expected += [(where, *both) for both in zip(pairs, [one.follows, *pairs], strict=False)]
    assert found == expected
