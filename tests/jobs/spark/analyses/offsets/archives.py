"""Archives of offset syncs, given by a few pairs for each partition."""

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import Increment, SyncArchive
from jobs.replication.offset_syncs.sync_rows import SyncRows


def make_archive(folder, syncs, gap=None, at_ms=None):
    """Write an archive of {(topic, partition): [(upstream, downstream), ...]}; returns its folder.

    `at_ms`: when each of them was written, in their order.
    """
    rows = [(number, *pair, 0) for number, pairs in enumerate(syncs.values()) for pair in pairs]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    names = [TopicPartition(*where) for where in syncs]
    told = SyncRows.without_links(*columns)
    if at_ms is not None:
        told = told._replace(at_ms=np.array(at_ms, np.int64))
    with SyncArchive(folder) as archive:
        archive.append(
            Increment(
                Source("east", "mm2-offset-syncs"),
                names,
                told,
                len(rows),
                gap=gap,
                read_at_ms=1_790_000_000_000,
            )
        )
    return folder


def flow(**more):
    """A flow from east to west that copies all topics but those of the name secret."""
    return FlowSpec.from_mapping(
        {
            "name": "told",
            "source": {"alias": "east", "bootstrap_servers": "127.0.0.1:1"},
            "target": {"alias": "west", "bootstrap_servers": "127.0.0.1:1"},
            "topics_exclude": ["secret"],
            **more,
        }
    )
