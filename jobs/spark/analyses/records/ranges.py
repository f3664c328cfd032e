"""What is read of topics: the arguments that say it, and the spans of partitions that follow from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields, NotAuthorized
from jobs.spark.analyses.analysis import Argument, ArgumentType

if TYPE_CHECKING:
    from jobs.cluster.client import ClusterClient
    from jobs.cluster.protocol.cluster import RawCluster

CLUSTER = Argument("cluster", ArgumentType.CLUSTER, "Cluster", is_required=True)
TOPICS = Argument(
    "topics",
    ArgumentType.TEXT,
    "Topics",
    "Names or patterns with *, separated by commas. A pattern matches no internal topic.",
    is_required=True,
)
FROM = Argument("from", ArgumentType.MOMENT, "From", "UTC. Default: the beginning of each log.")
TO = Argument("to", ArgumentType.MOMENT, "To", "UTC, exclusive. Default: the end of each log.")
FROM_OFFSET = Argument(
    "from_offset", ArgumentType.INTEGER, "From offset", "Of each partition.", least=0, most=2**62
)
TO_OFFSET = Argument(
    "to_offset", ArgumentType.INTEGER, "To offset", "Exclusive.", least=0, most=2**62
)
ISOLATION = Argument(
    "isolation",
    ArgumentType.CHOICE,
    "Isolation level",
    "read_committed leaves out aborted transactions, and what an open one holds back.",
    default="read_committed",
    choices=("read_committed", "read_uncommitted"),
)
MOST_RECORDS = Argument(
    "most_records",
    ArgumentType.INTEGER,
    "Max records",
    "Offsets read of all partitions together: the newest of each.",
    default=10_000_000,
    least=1_000,
    most=100_000_000_000,
)
RANGE = (FROM, TO, FROM_OFFSET, TO_OFFSET, ISOLATION, MOST_RECORDS)
# A partition is read by several tasks where it has more offsets.
PIECE_OFFSETS = 4_000_000
BUDGET_S = 60.0


@dataclass(frozen=True, slots=True)
class Span:
    """What is read of a partition: offsets from `start` up to `end`, both known before reading begins.

    `side` is the argument that names the cluster. `log_start` and `log_end` are those of the log at that
    time (`log_end`: the last stable offset with read_committed). `topic_id` is "" before Kafka 3.1.
    `is_cut`: older records were left out by `most_records`.
    """

    side: str
    topic: str
    partition: int
    start: int
    end: int
    log_start: int
    log_end: int
    topic_id: str = ""
    is_cut: bool = False

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def offsets(self) -> int:
        """How many offsets it has; there may be fewer records."""
        return max(self.end - self.start, 0)


@dataclass(frozen=True, slots=True)
class Work:
    """Spans that are read together, with what else is known of them (JSON values)."""

    spans: tuple[Span, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def offsets(self) -> int:
        return sum(one.offsets for one in self.spans)

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"spans": [asdict(one) for one in self.spans], "extra": dict(self.extra)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Work:
        """Read what `to_mapping` returned."""
        return cls(tuple(Span(**one) for one in values["spans"]), values["extra"])


def check_range(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields for a range that ends before it begins."""
    for first, last in (("from", "to"), ("from_offset", "to_offset")):
        start, end = arguments[first], arguments[last]
        if start is not None and end is not None and start >= end:
            raise InvalidFields({last: f"The end must be after the beginning ({first})."})


def topics_named(
    client: ClusterClient, text: str, argument: str = "topics"
) -> list[TopicDescription]:
    """Return the topics that a list of names and patterns means, by name.

    Raises InvalidFields for a name that does not exist and for a list that matches no topic, `ClusterFault`
    for a topic that may not be described.
    """
    from jobs.cluster.admin.topics import describe_topics, is_missing
    from jobs.patterns.matching import Matcher, glob_expression

    wanted = [part.strip() for part in text.split(",") if part.strip()]
    names = {one for one in wanted if not _is_pattern(one)}
    globs = Matcher([glob_expression(one) for one in wanted if _is_pattern(one)])
    found = []
    for topic in describe_topics(client) if len(names) < len(wanted) else ():
        is_inside = topic.is_internal or topic.name.startswith("__") or topic.name in names
        if not is_inside and globs.matches(topic.name):
            found.append(topic)
    for topic in describe_topics(client, sorted(names)) if names else ():
        if is_missing(topic):
            raise InvalidFields({argument: f"There is no topic {topic.name[:100]}."})
        found.append(topic)
    if not found:
        raise InvalidFields({argument: f"No topic of {client.connection.alias} matches."})
    for topic in found:
        if topic.error is not None:
            raise ClusterFault(topic.error, cluster=client.connection.alias)
    return sorted(found, key=lambda one: one.name)


def _is_pattern(text: str) -> bool:
    return any(one in text for one in "*?[")


def spans_of(
    client: ClusterClient,
    topics: Sequence[TopicDescription],
    arguments: Mapping[str, Any],
    side: str = "cluster",
    faults: dict[TopicPartition, ClusterFault] | None = None,
) -> list[Span]:
    """Return the spans of all partitions, within the range that the arguments (RANGE) name.

    What comes after this moment is not read. Ranges beyond a log are cut to it. Raises `ClusterFault`, also
    when a partition has no leader or its records may not be read; with `faults`, those of partitions are put
    there, which have no span then.
    """
    from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST

    is_committed = arguments["isolation"] == "read_committed"
    places = [TopicPartition(one.name, part.partition) for one in topics for part in one.partitions]
    ids = {one.name: one.topic_id or "" for one in topics}
    moments = dict.fromkeys(places, LATEST)
    ends = list_moments(client, moments, is_committed=is_committed, faults=faults)
    moments = dict.fromkeys(ends, EARLIEST)
    starts = list_moments(client, moments, is_committed=is_committed, faults=faults)
    places = [one for one in places if one in starts]
    lows = _at(client, places, arguments["from"], is_committed=is_committed)
    highs = _at(client, places, arguments["to"], is_committed=is_committed)
    found = []
    for where in places:
        log_start, log_end = starts[where] or 0, ends[where] or 0
        low = max(log_start, arguments["from_offset"] or 0)
        high = log_end if arguments["to_offset"] is None else min(log_end, arguments["to_offset"])
        if arguments["from"] is not None:
            at = lows[where]
            low = max(low, log_end if at is None else at)
        if arguments["to"] is not None and highs[where] is not None:
            high = min(high, highs[where] or 0)
        found.append(Span(side, *where, min(low, high), high, log_start, log_end, ids[where.topic]))
    check_readable(client, found)
    return found


def newest(spans: Sequence[Span], most: int) -> list[Span]:
    """Return spans of at most so many offsets together: of each partition the newest, as many of each."""
    if sum(one.offsets for one in spans) <= most:
        return list(spans)
    left, count, share = most, len(spans), 0
    for one in sorted(spans, key=lambda span: span.offsets):
        share = left // count
        left -= min(one.offsets, share)
        count -= 1
    return [
        replace(one, start=max(one.start, one.end - share), is_cut=True)
        if one.offsets > share
        else one
        for one in spans
    ]


def pieces(spans: Iterable[Span], most: int = PIECE_OFFSETS) -> list[Work]:
    """Return works of one span each; a long one is several works, in the order of its offsets."""
    return [
        Work((replace(span, start=start, end=min(start + most, span.end)),))
        for span in spans
        for start in range(span.start, span.end, most)
    ]


def check_readable(client: ClusterClient, spans: Collection[Span]) -> None:
    """Raise `ClusterFault` unless one partition of each topic answers a Fetch: the right READ is there."""
    from jobs.cluster.protocol.data.fetch import FetchPosition, fetch
    from jobs.cluster.protocol.data.fetch_format import FetchLimits

    firsts = {span.topic: span for span in reversed(list(spans))}

    async def ask(cluster: RawCluster) -> None:
        metadata = await cluster.metadata(list(firsts))
        for topic, span in firsts.items():
            partition = metadata.partition(span.where)
            if partition is None or partition.leader is None:
                continue
            known = metadata.topics[topic]
            asked = FetchPosition(
                topic,
                known.topic_id,
                span.partition,
                span.log_end,
                partition.leader_epoch,
                max_bytes=1,
            )
            limits = FetchLimits(0, 0, 1, read_committed=False)
            answer = await fetch(cluster, partition.leader, [asked], limits)
            got = answer.partitions.get(span.where)
            if got is not None and isinstance(got.error, NotAuthorized):
                raise got.error

    client.ask("Checking the right to read", ask, timeout_s=BUDGET_S)


def list_moments(
    client: ClusterClient,
    moments: Mapping[TopicPartition, int],
    *,
    is_committed: bool,
    faults: dict[TopicPartition, ClusterFault] | None = None,
) -> dict[TopicPartition, int | None]:
    """Return the first offset at or after a moment, None where there is none; `faults`: see `spans_of`."""

    from jobs.cluster.protocol.data.offsets import list_offsets

    async def ask(cluster: RawCluster) -> dict[TopicPartition, int | None]:
        listed = await list_offsets(
            cluster, moments, read_committed=is_committed, budget_s=BUDGET_S / 2
        )
        found: dict[TopicPartition, int | None] = {}
        for where, one in listed.items():
            if not isinstance(one, ClusterFault):
                found[where] = one.offset
            elif faults is None:
                raise one
            else:
                faults[where] = one
        return found

    return client.ask("Listing offsets", ask, timeout_s=BUDGET_S) if moments else {}


def _at(
    client: ClusterClient, places: Sequence[TopicPartition], ms: int | None, *, is_committed: bool
) -> dict[TopicPartition, int | None]:
    """Return the first offset at or after a time, None where no record is as young."""
    if ms is None:
        return {}
    # Below 0, a broker would take some times for its words as EARLIEST and LATEST.
    return list_moments(client, dict.fromkeys(places, max(ms, 0)), is_committed=is_committed)
