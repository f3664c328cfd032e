"""The preview of a flow: its effect on each topic of the source, from stored rows of both clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Max

from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic
from console.replication.flows.models import FlowPartition
from jobs.cluster.admin.configs import ConfigSource, ConfigValue
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import PartitionDescription, TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.replication.flow.lacking import Lacking, find_lacking
from jobs.replication.flow.selection import explain_topic, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.detection import Candidate, detect_policies
from jobs.replication.topics import preview as topic_preview
from jobs.replication.topics.fan_in import Existing, keeps_name, refuse_existing
from jobs.replication.topics.preview import SELECTS_NOTHING, Caution, PreviewInput, find_cautions

_MIN_ISR = "min.insync.replicas"
# Timeout of the query for topics that were created since the last round.
ASK_S = 3.0


@dataclass(frozen=True, slots=True)
class TopicPreview:
    """The effect of a flow on a topic of its source: its remote topic, or the reason why it is not selected.

    `plan` is what would happen to the remote topic, `remote_partitions` how many it has now (None:
    no such topic, or unknown).
    """

    topic: str
    partitions: int
    is_selected: bool
    remote_topic: str
    reason: str
    remote_partitions: int | None = None
    plan: str = ""
    warnings: tuple[str, ...] = ()


def preview_flow(spec: FlowSpec) -> tuple[list[TopicPreview], list[Caution]]:
    """Return the effect of the flow on each collected topic of its source, and cautions to confirm."""
    known = _known(spec)
    found = topic_preview.preview_topics(spec, known)
    return [_row(known, one) for one in found], find_cautions(spec, known, found)


def lacking_of(spec: FlowSpec) -> list[Lacking]:
    """Return capabilities that the flow needs and its clusters lack, as last reported by their brokers."""
    rows = Cluster.objects.filter(alias__in=(spec.source.alias, spec.target.alias))
    offers = {row.alias: row.offers for row in rows}
    return find_lacking(spec, offers[spec.source.alias], offers[spec.target.alias])


def cautions_now(spec: FlowSpec) -> list[Caution]:
    """Return cautions to confirm; without a matching topic the source is queried again."""
    found = preview_flow(spec)[1]
    if all(one.code != SELECTS_NOTHING for one in found) or not _selects_now(spec):
        return found
    return [one for one in found if one.code != SELECTS_NOTHING]


def _selects_now(spec: FlowSpec) -> bool:
    """Whether a topic that was created since the last round matches; False if the source does not answer."""
    try:
        with ClusterClient(spec.source, timeout_s=ASK_S) as client:
            return any(should_replicate(spec, name) for name in list_topic_names(client))
    except ClusterFault:
        return False


def policies_on(alias: str) -> list[Candidate]:
    """Return which naming policies explain the topics of a cluster, the surest first."""
    names = Topic.objects.filter(cluster__alias=alias).order_by().values_list("name", flat=True)
    return detect_policies(names)


def _known(spec: FlowSpec) -> PreviewInput:
    """Read the stored rows of both clusters: seven queries at most."""
    source = list(Topic.objects.filter(cluster__alias=spec.source.alias).order_by("name"))
    topics = [_described(row) for row in source]
    target = _on_target(spec)
    brokers = Broker.objects.filter(cluster__alias=spec.target.alias, is_live=True).count()
    there = Cluster.objects.filter(alias=spec.target.alias).first()
    return PreviewInput(
        topics,
        target,
        {row.name: _configs(row) for row in source},
        brokers or None,
        _refused(spec, topics, target or {}),
        min_isr=_default_min_isr(spec),
        limits_min_isr=there.offers.limits_min_isr if there else None,
    )


def _configs(row: Topic) -> dict[str, ConfigValue]:
    found = {key: ConfigValue(value) for key, value in row.configs.items()}
    if row.min_isr_source and _MIN_ISR in found:
        found[_MIN_ISR] = ConfigValue(row.configs[_MIN_ISR], ConfigSource(row.min_isr_source))
    return found


def _default_min_isr(spec: FlowSpec) -> int | None:
    """Return min.insync.replicas of the target's topics that do not set it; None: not known."""
    rows = Topic.objects.filter(cluster__alias=spec.target.alias).exclude(
        min_isr_source__in=("", ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
    )
    return rows.order_by("name").values_list("min_insync_replicas", flat=True).first()


def _on_target(spec: FlowSpec) -> dict[str, TopicDescription] | None:
    """Return the topics of the target by name; None while they were never collected."""
    rows = Topic.objects.filter(cluster__alias=spec.target.alias)
    found = {row.name: _described(row) for row in rows}
    rounds = CollectionRound.objects.filter(cluster__alias=spec.target.alias, noun=Noun.TOPICS)
    return found if found or rounds.filter(succeeded_at__isnull=False).exists() else None


def _described(row: Topic) -> TopicDescription:
    replicas = tuple(range(row.replication_factor or 0))
    numbers = range(row.partition_count)
    partitions = tuple(PartitionDescription(number, None, replicas, ()) for number in numbers)
    return TopicDescription(row.name, row.topic_id or None, row.is_internal, partitions)


def _refused(
    spec: FlowSpec, topics: Iterable[TopicDescription], target: Mapping[str, TopicDescription]
) -> dict[str, str]:
    """Return the target's topics that another producer has written, with the reason.

    Only those whose ends are known; the flow checks again before it writes.
    """
    kept = [t for t in topics if t.name in target and keeps_name(spec, t.name)]
    selected = [topic.name for topic in kept if explain_topic(spec, topic).selected]
    if not selected:
        return {}
    copied, ends = _copied(spec), _ends(spec)
    existing = [Existing(name, ends[name]) for name in selected if name in ends.keys() - copied]
    found = {one.remote_topic: refuse_existing(spec, one) for one in existing}
    return {name: why for name, why in found.items() if why}


def _copied(spec: FlowSpec) -> set[str]:
    rows = FlowPartition.objects.filter(
        flow__source__alias=spec.source.alias, flow__target__alias=spec.target.alias
    )
    return set(rows.exclude(position=None).order_by().values_list("topic", flat=True).distinct())


def _ends(spec: FlowSpec) -> dict[str, int]:
    rows = Partition.objects.filter(cluster__alias=spec.target.alias).order_by()
    ends = rows.values_list("topic__name").annotate(end=Max("end_offset"))
    return {name: end for name, end in ends if end is not None}


def _row(known: PreviewInput, found: topic_preview.TopicPreview) -> TopicPreview:
    there = (known.target or {}).get(found.remote_topic)
    return TopicPreview(
        found.topic,
        found.partitions,
        found.is_selected,
        found.remote_topic,
        found.reason,
        len(there.partitions) if there else None,
        _plan(known, found) if found.is_selected else "",
        found.warnings,
    )


def _plan(known: PreviewInput, found: topic_preview.TopicPreview) -> str:
    if known.target is None:
        return "The topics of the target are not collected yet."
    if found.remote_topic in known.refused:
        return "It exists on the target; the flow would not write to it."
    if found.creates is not None:
        factor = found.creates.replication_factor or "default of the target"
        why = found.creates.replication_factor_from
        return (
            f"Will be created: {_partitions(found.partitions)}, replication factor {factor}. {why}"
        )
    if found.grows is not None:
        return f"Will grow from {found.grows[0]} to {_partitions(found.grows[1])}."
    there = known.target.get(found.remote_topic)
    if there is None or not found.partitions:
        return "Its partitions are not collected yet."
    return _compared(len(there.partitions), found.partitions)


def _compared(there: int, wanted: int) -> str:
    if there == wanted:
        return f"Exists with {_partitions(there)}."
    if there > wanted:
        return f"Exists with {_partitions(there)}, the source has {wanted}. They are kept."
    return (
        f"Exists with {_partitions(there)}, the source has {wanted}, and this flow adds no partitions: the "
        "others are not replicated."
    )


def _partitions(number: int) -> str:
    return f"{number} partition{'' if number == 1 else 's'}"
