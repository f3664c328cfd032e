"""What the columns and figures of the streams room mean."""

STATE = "State of the consumer group. Gone: the cluster does not list the group any more."
INSTANCES = "Processes, told apart by their process ids; each runs one or more stream threads."
TASKS = "Subtopologies times their partitions."
LAG_RECORDS = "Records of the source topics that are not committed yet."
LAG_AT_MOST = (
    "The oldest record that is not committed can be no older: the time since the stream time of the "
    "last commit."
)
EVENT_TIME_LAG = (
    "How far the newest record is ahead of the stream time of the last commit, at most."
)
MISROUTED = (
    "Share of all keys for which the application's own metadata names an instance that does not serve "
    "them, or another partition, in its worst store."
)
STORE_CONFIDENCE = (
    "Exact: registered or committed. Given: by the description. Inferred: by partition counts."
)
JOINS = "Rejoins of the thread since it started, modulo 256."
