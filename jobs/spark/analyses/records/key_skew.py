"""`key-skew`: hot keys, what places keys into partitions, and what other partition counts would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    from jobs.spark.analyses.records.ranges import Span
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.records.skew import CountedKeys, TopicKeys
    from jobs.spark.analyses.records.skew_rows import Skews
    from jobs.spark.analyses.task import AnalysisTask

MOST_TOPICS = 20
_PAIR = 2
_MOST_COUNTS = 20
_MOST_PARTITIONS = 100_000


@dataclass(slots=True)
class _Found:
    """What both passes found: the keys of each topic, and the exact counts where there are any."""

    keys: dict[str, TopicKeys]
    counted: dict[str, CountedKeys] = field(default_factory=dict)
    first: list[Reduced] = field(default_factory=list)
    second: list[Reduced] = field(default_factory=list)


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the records once, and once more where hot keys are not known exactly yet."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import pieces, spans_of
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of
    from jobs.spark.analyses.records.skew_rows import Skews

    connections = connections_of(task, "cluster")
    connection = connections["cluster"]
    is_committed = arguments["isolation"] == "read_committed"
    reading = Reading(connections, is_committed, hash_keys=True)
    with ClusterClient(connection, timeout_s=30) as client:
        topics, pairs = _topics(client, arguments)

        def spans() -> list[Span]:
            return alike(spans_of(client, topics, arguments), arguments["most_records"])

        counts = {one.name: len(one.partitions) for one in topics}
        found = _read(task, reading, arguments, counts, lambda: pieces(spans()))
    _count(task, reading, arguments, found)
    cluster_id = connection.cluster_id or connection.bootstrap_servers
    skews = Skews(ANALYSIS, cluster_id, other_counts(arguments["partitions"]))
    partial = {
        one.work.spans[0].topic
        for one in (*found.first, *found.second)
        if one.outcomes[0].fault or one.outcomes[0].unreadable_count
    }
    for topic, keys in found.keys.items():
        skews.add(topic, keys, found.counted.get(topic), is_whole=topic not in partial)
    for first, second in pairs:
        skews.join(first, second)
    _write(task, skews)
    notes = [*skews.notes, *notes_of(found.first), *notes_of(found.second)]
    return Answer(skews.facts(), tuple(dict.fromkeys(notes)))


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

    topics = topics_named(client, arguments["topics"])
    names = [one.name for one in topics]
    pairs = [(names[0], names[-1])] if len(names) == _PAIR else []
    if arguments["joined_with"]:
        joined = topics_named(client, arguments["joined_with"], "joined_with")
        if len(joined) > 1:
            raise InvalidFields({"joined_with": "One topic is required."})
        pairs = [(name, joined[0].name) for name in names if name != joined[0].name]
        topics = [*(one for one in topics if one.name != joined[0].name), *joined]
    if len(topics) > MOST_TOPICS:
        raise InvalidFields({"topics": f"{len(topics):,} topics match: at most {MOST_TOPICS}."})
    return topics, pairs


def _read(
    task: AnalysisTask,
    reading: Reading,
    arguments: Mapping[str, Any],
    counts: Mapping[str, int],
    plan: Any,
) -> _Found:
    from jobs.spark.analyses.records.running import reduce_records
    from jobs.spark.analyses.records.skew import TopicKeys, read_keys

    found = _Found({name: TopicKeys.empty(count) for name, count in counts.items()})
    question = {"kind": ANALYSIS.kind, "counts": counts, **arguments}
    for one in reduce_records(task, question, reading, plan, read_keys, {"counts": counts}):
        (span,) = one.work.spans
        found.keys[span.topic].merge(one.tables, span.partition)
        found.first.append(one._replace(tables={}))
    for keys in found.keys.values():
        keys.settle()
    return found


def _count(
    task: AnalysisTask, reading: Reading, arguments: Mapping[str, Any], found: _Found
) -> None:
    """Count the candidates of hot keys exactly, in a second pass over the same offsets."""
    from jobs.spark.analyses.records.running import reduce_records
    from jobs.spark.analyses.records.skew import CountedKeys, candidates, count_keys

    is_shown = arguments["keys"] == "shown"
    chosen = {}
    for topic, keys in found.keys.items():
        hashes = candidates(keys, is_shown=is_shown)
        if hashes:
            chosen[topic] = hashes
            found.counted[topic] = CountedKeys()
    works = [one.work for one in found.first if one.work.spans[0].topic in chosen]
    if not works:
        return
    question = {"kind": ANALYSIS.kind, "chosen": chosen, **arguments}
    options = {"chosen": chosen, "shown": is_shown}
    for one in reduce_records(task, question, reading, lambda: works, count_keys, options):
        (span,) = one.work.spans
        found.counted[span.topic].merge(one.tables["counts"], span.partition)
        found.second.append(one._replace(tables={}))


def _write(task: AnalysisTask, skews: Skews) -> None:
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    types = {
        ColumnType.TEXT: pa.string(),
        ColumnType.CODE: pa.string(),
        ColumnType.RATIO: pa.float64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.BOOLEAN: pa.bool_(),
    }
    for table in ANALYSIS.tables:
        schema = pa.schema([(one.name, types.get(one.type, pa.int64())) for one in table.columns])
        task.write(table.name, pa.Table.from_pylist(skews.rows[table.name], schema))


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
_COUNT, _SIZE, _RATIO, _NUMBER = (
    ColumnType.INTEGER, ColumnType.BYTES, ColumnType.RATIO, ColumnType.NUMBER,
)  # fmt: skip
_TOPIC = Column("topic", "Topic", _TEXT)
_MAX_MEAN = "Records of the largest partition, divided by the mean of all."
_SHARES = (
    Column("murmur2", "murmur2", _RATIO, "Java clients; librdkafka's murmur2_random."),
    Column("crc32", "CRC32", _RATIO, "librdkafka's default, consistent_random."),
    Column("fnv1a", "FNV-1a", _RATIO, "librdkafka's fnv1a, Sarama."),
)
ANALYSIS = Analysis(
    kind="key-skew",
    title="Key skew",
    question="Which keys are hot, which partitioner placed them, and would another partition count help?",
    arguments=(
        CLUSTER,
        TOPICS,
        Argument(
            "joined_with",
            ArgumentType.TEXT,
            "Joined with",
            "A topic with the same keys. Two topics alone are compared, too.",
        ),
        Argument(
            "partitions",
            ArgumentType.TEXT,
            "Other partition counts",
            "Separated by commas. Default: the half and the double.",
        ),
        Argument(
            "keys",
            ArgumentType.CHOICE,
            "Keys",
            "hashed: keys are shown as digests. shown: as text.",
            default="hashed",
            choices=("hashed", "shown"),
            admin_choices=("shown",),
        ),
        *RANGE,
    ),
    tables=(
        Table(
            "topics",
            "Topics",
            (
                _TOPIC,
                Column("partitions", "Partitions", _COUNT),
                Column("records", "Records", _COUNT),
                Column("bytes", "Bytes", _SIZE, "Keys, values, headers; uncompressed."),
                Column("null_keys", "Records without key", _COUNT),
                Column(
                    "distinct_keys", "Distinct keys", _COUNT, "Estimated above 2,048 (error 2 %)."
                ),
                Column("cause", "Cause of skew", _CODE),
                Column("max_mean", "Max/mean", _NUMBER, _MAX_MEAN),
                Column("max_mean_bytes", "Max/mean by bytes", _NUMBER),
                Column("cv", "Variation", _NUMBER, "Standard deviation/mean."),
                Column("top_share", "Largest partition", _RATIO, "Share of all records."),
                Column("without_hot", "Max/mean without hot keys", _NUMBER, _MAX_MEAN),
                Column(
                    "explained",
                    "Explained by hot keys",
                    _RATIO,
                    "Share of the excess gone without.",
                ),
                Column("hot", "Hot keys", _COUNT, "Removed for that."),
                Column("partitioner", "Partitioner", _CODE),
                Column(
                    "partitioner_share", "Best rule", _RATIO, "Share of the records with a key."
                ),
                Column("partitioner_detail", "Details", _TEXT),
                Column(
                    "partitioner_since",
                    "Changed at",
                    _MOMENT,
                    "First record (or hour) of another partitioner.",
                ),
            ),
        ),
        Table(
            "partitions",
            "Partitions",
            (
                _TOPIC,
                Column("partition", "Partition", _COUNT),
                Column("where", "Topic and partition", _TEXT),
                Column("records", "Records", _COUNT),
                Column("share", "Share", _RATIO),
                Column("bytes", "Bytes", _SIZE),
                Column("without_hot", "Records without hot keys", _COUNT),
            ),
        ),
        Table(
            "hot_keys",
            "Hot keys",
            (
                _TOPIC,
                Column("rank", "Rank", _COUNT),
                Column("key", "Key", _TEXT),
                Column("records", "Records", _COUNT, "Exact."),
                Column("share", "Share", _RATIO, "Of all records of the topic."),
                Column("bytes", "Bytes", _SIZE),
                Column("partition", "Partition", _COUNT, "Empty: several."),
                Column(
                    "is_certain", "Rank certain", ColumnType.BOOLEAN, "No uncounted key has more."
                ),
            ),
        ),
        Table(
            "hours",
            "Partitioner by hour",
            (
                _TOPIC,
                Column("hour_ms", "Hour", _MOMENT, "Empty: records without a time."),
                Column("keyed", "Records with a key", _COUNT),
                *_SHARES,
            ),
        ),
        Table(
            "simulation",
            "Other partition counts",
            (
                _TOPIC,
                Column("partitions", "Partitions", _COUNT),
                Column("rule", "Placed by", _CODE),
                Column("max_mean", "Max/mean", _NUMBER, "Of the observed keys."),
                Column("top_share", "Largest partition", _RATIO),
                Column("moved_keys", "Keys moved", _RATIO, "Their order is broken at the change."),
                Column("moved_records", "Records of moved keys", _RATIO),
                Column("moved_hot", "Hot keys moved", _COUNT, "Of the top 100."),
            ),
        ),
        Table(
            "joins",
            "Co-partitioning",
            (
                Column("first", "Topic", _TEXT),
                Column("second", "Joined with", _TEXT),
                Column("first_partitions", "Partitions", _COUNT),
                Column("second_partitions", "Partitions of the other", _COUNT),
                Column("first_partitioner", "Partitioner", _CODE),
                Column("second_partitioner", "Partitioner of the other", _CODE),
                Column("keys", "Keys compared", _COUNT, "Sampled keys in both topics."),
                Column("apart", "In different partitions", _COUNT),
                Column("share", "Share", _RATIO),
                Column(
                    "since_ms", "Since", _MOMENT, "First record whose key the other has elsewhere."
                ),
            ),
        ),
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
