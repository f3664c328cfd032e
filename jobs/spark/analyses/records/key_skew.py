"""`key-skew`: hot keys, what places keys into partitions, and what other partition counts would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import CLUSTER, RANGE, TOPICS, check_range

if TYPE_CHECKING:
    from jobs.cluster.client import ClusterClient
    from jobs.cluster.descriptions import TopicDescription
    from jobs.spark.analyses.records.keys.counting import TopicKeys
    from jobs.spark.analyses.records.ranges import Span, Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask

MOST_TOPICS = 20
_MOST_COUNTS = 20
_MOST_PARTITIONS = 100_000


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the records once, and once more where hot keys are not known exactly yet."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.keys.counting import TopicKeys
    from jobs.spark.analyses.records.keys.rows import Skews
    from jobs.spark.analyses.records.ranges import pieces, spans_of
    from jobs.spark.analyses.records.running import connections_of, notes_of

    connection = connections_of(task, "cluster")["cluster"]
    with ClusterClient(connection, timeout_s=30) as client:
        topics, pairs = _topics(client, arguments)
        known = {one.name: TopicKeys.empty(len(one.partitions)) for one in topics}

        def plan() -> list[Work]:
            return pieces(alike(spans_of(client, topics, arguments), arguments["most_records"]))

        first, second = _read(task, arguments, known, plan)
    cluster_id = connection.cluster_id or connection.bootstrap_servers
    skews = Skews(ANALYSIS, cluster_id, other_counts(arguments["partitions"]))
    partial = {one.work.spans[0].topic for one in first + second if not one.outcomes[0].is_whole}
    for topic, keys in known.items():
        skews.add(topic, keys, is_whole=topic not in partial)
    for pair in pairs:
        skews.join(*pair)
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, skews.rows[table.name]))
    notes = [*skews.notes, *notes_of(first), *notes_of(second)]
    return Answer(skews.facts(), tuple(dict.fromkeys(notes)))


def _read(
    task: AnalysisTask,
    arguments: Mapping[str, Any],
    known: Mapping[str, TopicKeys],
    plan: Callable[[], list[Work]],
) -> tuple[list[Reduced], list[Reduced]]:
    """Do both passes over the same offsets; returns what came of their works."""
    from jobs.spark.analyses.records.keys.counting import count_keys, read_keys
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, reduce_records

    is_committed, is_shown = (
        arguments["isolation"] == "read_committed",
        arguments["keys"] == "shown",
    )
    reading = Reading(connections_of(task, "cluster"), is_committed, hash_keys=True)
    counts: dict[str, Any] = {"counts": {topic: keys.count for topic, keys in known.items()}}
    question = {"kind": ANALYSIS.kind, **counts, **arguments}
    first, second = [], []
    for one in reduce_records(task, question, reading, plan, read_keys, counts):
        (span,) = one.work.spans
        known[span.topic].merge(one.tables, span.partition)
        first.append(one._replace(tables={}))
    for keys in known.values():
        keys.settle()
    chosen = {topic: keys.candidates(is_shown=is_shown) for topic, keys in known.items()}
    works = [one.work for one in first if chosen[one.work.spans[0].topic]]
    options = {"chosen": chosen, "shown": is_shown}
    question |= options
    for one in reduce_records(task, question, reading, works.copy, count_keys, options):
        known[one.work.spans[0].topic].merge_counted(one.tables)
        second.append(one._replace(tables={}))
    return first, second


def alike(spans: Sequence[Span], most: int) -> list[Span]:
    """Return spans of about so many offsets together: the same newest share of each, which keeps skew."""
    total = sum(one.offsets for one in spans)
    if total <= most:
        return list(spans)
    return [
        replace(one, start=one.end - one.offsets * most // total, is_cut=True)
        if one.offsets
        else one
        for one in spans
    ]


def _topics(
    client: ClusterClient, arguments: Mapping[str, Any]
) -> tuple[Sequence[TopicDescription], list[tuple[str, str]]]:
    """Return the topics, and the pairs of them that are joined."""
    from jobs.spark.analyses.records.ranges import topics_named

    topics = {one.name: one for one in topics_named(client, arguments["topics"])}
    names = list(topics)
    others = [] if names[2:] else names[1:]
    if arguments["joined_with"]:
        joined = topics_named(client, arguments["joined_with"], "joined_with")
        others = [one.name for one in joined]
        if len(others) > 1 or others == names:
            raise InvalidFields({"joined_with": "One other topic is required."})
        topics |= dict(zip(others, joined, strict=True))
    pairs = [(name, other) for other in others for name in names if name != other]
    if len(topics) > MOST_TOPICS:
        raise InvalidFields({"topics": f"{len(topics):,} topics match: at most {MOST_TOPICS}."})
    return list(topics.values()), pairs


def other_counts(text: str | None) -> list[int]:
    """Return the partition counts of a list, empty without one; raises InvalidFields."""
    wanted = f"Up to {_MOST_COUNTS} numbers from 1 to {_MOST_PARTITIONS:,}, separated by commas."
    try:
        found = sorted({int(part) for part in (text or "").split(",") if part.strip()})
    except ValueError:
        raise InvalidFields({"partitions": wanted}) from None
    if found and (found[0] < 1 or found[-1] > _MOST_PARTITIONS or len(found) > _MOST_COUNTS):
        raise InvalidFields({"partitions": wanted})
    return found


def check(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields for a range that ends before it begins, and for a list of no numbers."""
    check_range(arguments)
    other_counts(arguments["partitions"])


_TEXT, _CODE, _MOMENT = ColumnType.TEXT, ColumnType.CODE, ColumnType.MOMENT
_COUNT, _SIZE, _RATIO = ColumnType.INTEGER, ColumnType.BYTES, ColumnType.RATIO
_NUMBER, _IS = ColumnType.NUMBER, ColumnType.BOOLEAN
_CHOICE, _WORDS = ArgumentType.CHOICE, ArgumentType.TEXT
_TOPIC = Column("topic", "Topic", _TEXT)
_TOPIC_COLUMNS = (
    _TOPIC,
    Column("partitions", "Partitions", _COUNT),
    Column("records", "Records", _COUNT),
    Column("bytes", "Bytes", _SIZE, "Keys, values, headers; uncompressed."),
    Column("null_keys", "Records without key", _COUNT),
    Column("distinct_keys", "Distinct keys", _COUNT, "Estimated above 2,048 (error 2 %)."),
    Column("cause", "Cause of skew", _CODE),
    Column("max_mean", "Max/mean", _NUMBER, "Largest partition/mean, by records."),
    Column("max_mean_bytes", "Max/mean by bytes", _NUMBER),
    Column("cv", "Variation", _NUMBER, "Standard deviation/mean."),
    Column("top_share", "Largest partition", _RATIO, "Share of all records."),
    Column("without_hot", "Max/mean without hot keys", _NUMBER),
    Column("explained", "Explained by hot keys", _RATIO, "Share of the excess gone without."),
    Column("hot", "Hot keys", _COUNT, "Removed for that."),
    Column("partitioner", "Partitioner", _CODE),
    Column("partitioner_share", "Best rule", _RATIO, "Of the records of up to 2,048 keys."),
    Column("partitioner_detail", "Details", _TEXT),
    Column("partitioner_since", "Changed at", _MOMENT, "First record of another partitioner."),
)
_PARTITION_COLUMNS = (
    _TOPIC,
    Column("partition", "Partition", _COUNT),
    Column("where", "Topic and partition", _TEXT),
    Column("records", "Records", _COUNT),
    Column("share", "Share", _RATIO),
    Column("bytes", "Bytes", _SIZE, "Keys, values, headers; uncompressed."),
    Column("without_hot", "Records without hot keys", _COUNT),
)
_KEY_COLUMNS = (
    _TOPIC,
    Column("rank", "Rank", _COUNT),
    Column("key", "Key", _TEXT),
    Column("records", "Records", _COUNT, "Exact."),
    Column("share", "Share", _RATIO, "Of all records of the topic."),
    Column("bytes", "Bytes", _SIZE, "Keys, values, headers; uncompressed."),
    Column("partition", "Partition", _COUNT, "Empty: several."),
    Column("is_certain", "Rank certain", _IS, "No uncounted key has more."),
)
_SIMULATION_COLUMNS = (
    _TOPIC,
    Column("partitions", "Partitions", _COUNT),
    Column("rule", "Placed by", _CODE),
    Column("max_mean", "Max/mean", _NUMBER, "Largest partition/mean, by records."),
    Column("top_share", "Largest partition", _RATIO, "Share of all records."),
    Column("moved_keys", "Keys moved", _RATIO, "Their order is broken at the change."),
    Column("moved_records", "Records of moved keys", _RATIO),
    Column("moved_hot", "Hot keys moved", _COUNT, "Of the top 100."),
)
_JOIN_COLUMNS = (
    Column("first", "Topic", _TEXT),
    Column("second", "Joined with", _TEXT),
    Column("first_partitions", "Partitions", _COUNT),
    Column("second_partitions", "Partitions of the other", _COUNT),
    Column("first_partitioner", "Partitioner", _CODE),
    Column("second_partitioner", "Partitioner of the other", _CODE),
    Column("keys", "Keys compared", _COUNT, "Sampled keys in both topics."),
    Column("apart", "In different partitions", _COUNT),
    Column("share", "Share", _RATIO),
    Column("since_ms", "Since", _MOMENT, "First record whose key the other has elsewhere."),
)
_JOINED_HELP = "A topic with the same keys. Two topics alone are compared, too."
_COUNTS_HELP = "Separated by commas. Default: the half and the double."
ANALYSIS = Analysis(
    kind="key-skew",
    title="Key skew",
    arguments=(
        CLUSTER,
        TOPICS,
        Argument("joined_with", _WORDS, "Joined with", _JOINED_HELP),
        Argument("partitions", _WORDS, "Other partition counts", _COUNTS_HELP),
        Argument(
            "keys",
            _CHOICE,
            "Keys",
            "hashed: keys are shown as digests. shown: as text.",
            default="hashed",
            choices=("hashed", "shown"),
            admin_choices=("shown",),
        ),
        *RANGE,
    ),
    tables=(
        Table("topics", "Topics", _TOPIC_COLUMNS),
        Table("partitions", "Partitions", _PARTITION_COLUMNS),
        Table("hot_keys", "Hot keys", _KEY_COLUMNS),
        Table("simulation", "Other partition counts", _SIMULATION_COLUMNS),
        Table("joins", "Co-partitioning", _JOIN_COLUMNS),
    ),
    run=run,
    charts=(
        Chart(ChartType.BARS, "partitions", "Records by partition", "where", "records"),
        Chart(ChartType.BARS, "hot_keys", "Share of the hot keys", "key", "share"),
    ),
    checked=check,
    definition="Hot keys are found in bounded memory and counted exactly in a second pass, where the first "
    "one had to leave keys out. A partitioner is recognised when it explains 99.9 % of the records with a "
    "key, and when so many keys cannot fit by chance. Causes: hot key (without the hot keys at most half of "
    "the skew is left), bad partitioner (murmur2 would halve it), few keys (less than 10 for each "
    "partition), unexplained. Below max/mean 1.5 a topic is balanced. With max records, the newest share of "
    "each partition is read, the same of all. Of a compacted topic only the records that are left count.",
)
