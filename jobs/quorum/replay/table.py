"""What the compiled replay and its caller share: rows of partitions and of their history, and codes.

All rows are INT64s, one row behind the other. Lists of brokers are numbers of lists: equal lists are one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.quorum.history.changes import Cause, Election

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

# The state of a partition: these fields stand in its row and in every row of its history. From LISTS on are
# numbers of lists, in the order of `jobs.wire.metadata.table` (ISR ...).
LEADER = 0
LEADER_EPOCH = 1
PARTITION_EPOCH = 2
RECOVERY = 3
LISTS = 4
DIRECTORIES = 10
STATE_FIELDS = 11

# A partition.
SLOT_HIGH = 0
SLOT_LOW = 1
SLOT_PARTITION = 2
SLOT_TOPIC = 3
# The next partition of the topic, -1 for the last.
SLOT_NEXT = 4
SLOT_ALIVE = 5
SLOT_STATE = 6
SLOT_FIELDS = SLOT_STATE + STATE_FIELDS

# A topic; FIRST is its first partition, -1 for none. NAME is the number of its id and name, as rows of
# history say it.
TOPIC_HIGH = 0
TOPIC_LOW = 1
TOPIC_FIRST = 2
TOPIC_ALIVE = 3
TOPIC_NAME = 4
TOPIC_FIELDS = 5

# A list: where its numbers begin, and how many.
LIST_BEGIN = 0
LIST_COUNT = 1
LIST_FIELDS = 2

# A directory id: its halves.
ID_HIGH = 0
ID_LOW = 1
ID_FIELDS = 2

# A row of history. APPLIED is -1 outside of transactions; HAD_BEFORE is 0 for a partition that is new, and
# then what was before is not to be read.
OFFSET = 0
APPLIED = 1
EPOCH = 2
TIMESTAMP = 3
BATCH_OFFSET = 4
TOPIC = 5
PARTITION = 6
STATE = 7
HAD_BEFORE = 18
PREVIOUS_LEADER = 19
PREVIOUS_ISR = 20
PREVIOUS_ELR = 21
CAUSE = 22
CAUSE_BROKER = 23
ELECTION = 24
WAS_OUTSIDE = 25
BEGAN_RECOVERING = 26
IS_REMOVED = 27
# Rows of one group were written together: a batch, or several that one event filled.
GROUP = 28
HISTORY_FIELDS = 29
NO_OFFSET = -1
NO_BROKER = -(1 << 40)

# An event of a broker; EVENT_AT: how many rows of history stand before it.
EVENT_AT = 0
EVENT_BROKER = 1
EVENT_CAUSE = 2
EVENT_FIELDS = 3


class Desk(NamedTuple):
    """Names of the fields of the context: how much is filled, where tables begin, what is to be done."""

    slots: int
    topics: int
    lists: int
    values: int
    ids: int
    history: int
    unknown_topic: int
    unknown_partition: int
    growing_topic: int
    growing_row: int
    slot_table: int
    slot_index: int
    slot_mask: int
    topic_table: int
    topic_index: int
    topic_mask: int
    list_table: int
    list_index: int
    list_mask: int
    value_table: int
    id_table: int
    id_index: int
    id_mask: int
    history_table: int
    scratch: int
    source: int
    batches: int
    resets: int
    applied: int
    groups: int
    group: int
    shard: int
    shards: int


D = Desk(*range(33))
CONTEXT_FIELDS = len(D)

# Numbers of causes, for compiled code; they stay as they are, since compiled code is kept.
CAUSES = {
    Cause.NOTHING: 0,
    Cause.BROKER_FENCED: 1,
    Cause.BROKER_UNFENCED: 2,
    Cause.CONTROLLED_SHUTDOWN: 3,
    Cause.BROKER_UNREGISTERED: 4,
    Cause.BROKER_RESTARTED: 5,
    Cause.LOG_DIR_FAILED: 6,
    Cause.ISR_SHRINK: 7,
    Cause.ISR_EXPAND: 8,
    Cause.ISR_CHANGED: 9,
    Cause.LEADER_RECOVERED: 10,
    Cause.PREFERRED_ELECTION: 11,
    Cause.LEADER_ELECTION: 12,
    Cause.ELR_ELECTION: 13,
    Cause.UNCLEAN_ELECTION: 14,
    Cause.LEADER_LOST: 15,
    Cause.LEADER_EPOCH_BUMPED: 16,
    Cause.ELR_CHANGED: 17,
    Cause.ELR_CLEARED: 18,
    Cause.REASSIGNMENT_STARTED: 19,
    Cause.REASSIGNMENT_CHANGED: 20,
    Cause.REASSIGNMENT_COMPLETED: 21,
    Cause.REASSIGNMENT_CANCELLED: 22,
    Cause.DIRECTORIES_ASSIGNED: 23,
    Cause.TOPIC_CREATED: 24,
    Cause.TOPIC_DELETED: 25,
    Cause.PARTITIONS_ADDED: 26,
    Cause.PARTITION_REPLACED: 27,
    Cause.SNAPSHOT: 28,
    Cause.BETWEEN: 29,
}
# Events of brokers that move no partitions.
OTHER_EVENT = 30
ELECTIONS = {
    None: 0,
    Election.PREFERRED: 1,
    Election.IN_SYNC: 2,
    Election.ELIGIBLE_LEADER_REPLICA: 3,
    Election.UNCLEAN: 4,
    Election.NO_LEADER: 5,
}
CAUSE_OF = {number: cause for cause, number in CAUSES.items()}
ELECTION_OF = {number: election for election, number in ELECTIONS.items()}
