"""Pre-checks of a group. Pure; how old something is comes with the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.cluster.descriptions import GroupDescription, TopicPartition
from jobs.replication.checkpoints.obstacles import BEYOND_END
from jobs.replication.failover.acl_checks import check_acls
from jobs.replication.failover.evidence import Evidence, Side
from jobs.replication.failover.model import (
    Check,
    CheckState,
    PlanItem,
    Untranslated,
    counted,
)
from jobs.wire.topics.streams_topics import (
    changelog_store,
    internal_topics,
    is_repartition,
    own_topics,
)

PASSED, UNKNOWN = CheckState.PASSED, CheckState.UNKNOWN
WARNING, FAILED = CheckState.WARNING, CheckState.FAILED
_INACTIVE = frozenset({"Empty", "Dead", "Unknown", ""})
_KEPT_TYPES = frozenset({"classic", "consumer", ""})
# Spark's Kafka source names the groups that it makes for itself so; its offsets are in the checkpoint folder.
_SPARK = ("spark-kafka-source-", "spark-kafka-relation-", "spark-executor-")
_FEW = 3


def check_group(
    found: Evidence, group: str, items: Sequence[PlanItem], untranslated: Untranslated
) -> tuple[Check, ...]:
    topics = {one.destination.topic for one in items if one.destination}
    inputs = [one for one in items if not one.internal]
    return (
        _inactive_there(found, group),
        _active_here(found, group),
        _type(found, group),
        *_beyond_end(found, inputs, untranslated),
        *_translated(found, inputs, untranslated),
        *_within_log(found, items),
        _rereads(items),
        *_moves_back(found, items),
        *_only_here(found, items),
        check_acls(found, group, topics),
        *_without_commit(found, inputs),
        *_offsets_elsewhere(found, group, items),
        *_streams(found, group, items),
    )


def _described(side: Side, group: str) -> GroupDescription | None:
    return side.groups.get(group)


def _is_active(described: GroupDescription) -> bool:
    return bool(described.member_count) or described.state not in _INACTIVE


def _says(described: GroupDescription) -> str:
    members = described.member_count
    return f"state {described.state}" + ("" if members is None else f", {members} members")


def _inactive_there(found: Evidence, group: str) -> Check:
    alias, described = found.destination.alias, _described(found.destination, group)
    key = "inactive_there"
    if described is None:
        return Check(key, PASSED, f"{group} is not active on {alias}.", "it is not known there")
    if described.error:
        text = f"Whether {group} is active on {alias} is not known."
        return Check(
            key, UNKNOWN, text, described.error, "The cluster refuses offsets of an active group."
        )
    if _is_active(described):
        text = f"{group} is active on {alias}: its offsets cannot be set."
        return Check(key, FAILED, text, _says(described), f"Stop its consumers on {alias}.")
    return Check(key, PASSED, f"{group} is not active on {alias}.", _says(described))


def _active_here(found: Evidence, group: str) -> Check:
    side, key = found.origin, "inactive_here"
    described = _described(side, group)
    if side.fault or described is None or described.error:
        why = side.fault or (described.error if described and described.error else "no answer")
        text = f"Whether consumers of {group} still run on {side.alias} is not known."
        hint = "Make sure that none of them restarts: records would be processed on both clusters."
        return Check(key, UNKNOWN, text, why, hint)
    if _is_active(described):
        text = f"Consumers of {group} are still active on {side.alias} and commit offsets."
        hint = f"Stop them on {side.alias}, then refresh the plan."
        return Check(key, FAILED, text, _says(described), hint)
    return Check(key, PASSED, f"No consumer of {group} runs on {side.alias}.", _says(described))


def _type(found: Evidence, group: str) -> Check:
    described = _described(found.origin, group) or _described(found.destination, group)
    kind = (described.type if described else "").lower()
    for side in (found.origin, found.destination):
        one = _described(side, group)
        if one is None or one.type != "share":
            continue
        text = f"{group} is a share group on {side.alias}: it has no committed offsets and is not moved."
        hint = "Set its start offset with kafka-share-groups.sh."
        return Check("type", FAILED, text, "KIP-932", hint)
    if kind in _KEPT_TYPES:
        return Check("type", PASSED, f"The offsets of a {kind or 'consumer'} group can be set.")
    text = f"{group} is a {kind} group: its offsets can be set, its other state is not moved."
    return Check("type", WARNING, text)


def _is_beyond(found: Evidence, item: PlanItem) -> bool:
    """Whether a commit is beyond the end of a partition that a flow copies: of others nothing is set."""
    return bool(item.how) and found.origin.is_beyond_end(item.origin, item.committed)


def _beyond_end(
    found: Evidence, items: Sequence[PlanItem], untranslated: Untranslated
) -> Iterator[Check]:
    """Say which commits are beyond the end of their partition, on the origin and on the destination."""
    here, there = found.origin, found.destination
    beyond = [one for one in items if _is_beyond(found, one)]
    if beyond:
        text = f"On {here.alias} {_commits(beyond)} beyond the end of the partition: {BEYOND_END}"
        told = [
            f"{one.origin} at {one.committed:,}, ends at {here.range_of(one.origin).high_watermark:,}"
            for one in beyond
        ]
        state, hint = WARNING, f"They start at the beginning of the log on {there.alias}."
        if untranslated is Untranslated.REFUSE:
            state = FAILED
            hint = (
                f"Set these offsets on {here.alias} (kafka-consumer-groups.sh --reset-offsets) and refresh "
                "the plan, or choose that nothing is set for them: auto.offset.reset then decides on "
                f"{there.alias}."
            )
        elif untranslated is Untranslated.LEAVE:
            hint = f"Nothing is set for them on {there.alias}, where auto.offset.reset decides as well."
        yield Check("beyond_end", state, text, _few(told), hint)
    beyond = [one for one in items if _is_beyond_there(found, one)]
    if beyond:
        text = f"On {there.alias} {_commits(beyond)} beyond the end of the partition: {BEYOND_END}"
        told = [
            f"{one.destination} at {one.before:,}, ends at {_end_there(found, one):,}"
            for one in beyond
        ]
        hint = "The plan replaces these offsets where it sets one."
        yield Check("beyond_end_there", WARNING, text, _few(told), hint)


def _is_beyond_there(found: Evidence, item: PlanItem) -> bool:
    there = item.destination
    return there is not None and found.destination.is_beyond_end(there, item.before)


def _end_there(found: Evidence, item: PlanItem) -> int | None:
    return found.destination.range_of(item.destination or item.origin).high_watermark


def _commits(items: Sequence[PlanItem]) -> str:
    count = counted(len(items), "committed offset")
    return f"{count} {'is' if len(items) == 1 else 'are'}"


def _translated(
    found: Evidence, every: Sequence[PlanItem], untranslated: Untranslated
) -> Iterator[Check]:
    items = [one for one in every if not _is_beyond(found, one)]
    if items or not every:
        yield _judged_translation(items, untranslated)


def _judged_translation(items: Sequence[PlanItem], untranslated: Untranslated) -> Check:
    without = [one for one in items if one.lo is None and one.how]
    impossible = [one for one in items if one.lo is not None and one.target is None]
    nowhere = [one for one in items if not one.how]
    if impossible:
        text = "Some offsets are outside the log on the destination."
        hint = "The remote topic may have been deleted and re-created: check the flow, then refresh the plan."
        return Check("translated", FAILED, text, _examples(impossible), hint)
    if without:
        return _untranslated(without, untranslated)
    if nowhere:
        text = "The group also reads topics that no flow replicates to the destination."
        hint = "Create a flow for them, or exclude these topics from the plan."
        return Check("translated", WARNING, text, _examples(nowhere), hint)
    if not items:
        text = "The group has no committed offset on the topics of this plan."
        return Check("translated", FAILED, text, "", "Exclude the group from the plan.")
    return Check(
        "translated", PASSED, f"A lower bound is proven for {counted(len(items), 'partition')}."
    )


def _untranslated(without: Sequence[PlanItem], untranslated: Untranslated) -> Check:
    text = f"There is no translation for {counted(len(without), 'partition')}."
    evidence = _examples(without)
    if untranslated is Untranslated.EARLIEST:
        text += " They start at the beginning of the log, and all its records are reprocessed."
        return Check("translated", WARNING, text, evidence)
    if untranslated is Untranslated.LEAVE:
        text += " Nothing is set for them: the consumers' auto.offset.reset decides."
        return Check("translated", WARNING, text, evidence)
    hint = "Let the flow replicate some records of them, or let them start at the earliest offset."
    return Check("translated", FAILED, text, evidence, hint)


def _within_log(found: Evidence, items: Sequence[PlanItem]) -> Iterator[Check]:
    cut = [
        one
        for one in items
        if one.lo is not None and one.target is not None and one.target > one.lo
    ]
    if cut:
        text = "Some unread records were already deleted on the destination (retention)."
        hint = "They cannot be restored there; the group resumes at the log start offset."
        evidence = "; ".join(
            f"{one.destination} begins at {one.log_start:,}, needed from {one.lo:,}"
            for one in cut[:_FEW]
        )
        yield Check("within_log", WARNING, text, evidence, hint)
        return
    alias = found.destination.alias
    yield Check("within_log", PASSED, f"Every offset to be set is within its log on {alias}.")


def _rereads(items: Sequence[PlanItem]) -> Check:
    planned = [one for one in items if one.target is not None]
    loose = [one for one in planned if one.reread_most != 0]
    if not loose:
        return Check(
            "reread", PASSED, "No record is reprocessed.", counted(len(planned), "partition")
        )
    known = sum(one.reread_most or 0 for one in loose)
    is_bounded = all(one.reread_most is not None for one in loose)
    most = f"At most {known:,} records" if is_bounded else "An unknown number of records"
    text = f"{most} will be reprocessed, in {counted(len(loose), 'partition')}."
    return Check("reread", WARNING, text, _examples(loose), "Consumers must be idempotent.")


def _moves_back(found: Evidence, items: Sequence[PlanItem]) -> Iterator[Check]:
    back = [
        one
        for one in items
        if one.before is not None
        and one.target is not None
        and one.before > one.target
        and not _is_beyond_there(found, one)
    ]
    if back:
        alias = found.destination.alias
        text = f"On {alias} the group's offset is ahead of the plan: the plan would move it back."
        evidence = "; ".join(
            f"{one.destination} from {one.before:,} to {one.target:,}" for one in back[:_FEW]
        )
        hint = f"If the group has read these records on {alias}, exclude it from the plan."
        yield Check("moves_back", WARNING, text, evidence, hint)


def _only_here(found: Evidence, items: Sequence[PlanItem]) -> Iterator[Check]:
    only = [one for one in items if one.only_here and one.only_here[1] > one.only_here[0]]
    if not only:
        return
    here, there = found.origin.alias, found.destination.alias
    count = sum(one.only_here[1] - one.only_here[0] for one in only if one.only_here)
    text = f"At most {count:,} records exist only on {here}: no flow replicates them to {there}."
    evidence = "; ".join(
        f"{one.origin} offsets {one.only_here[0]:,} to {one.only_here[1]:,}"
        for one in only[:_FEW]
        if one.only_here
    )
    more = f" and {len(only) - _FEW} more partitions" if len(only) > _FEW else ""
    hint = f"Start a flow from {here} to {there} for these topics, then refresh the plan."
    yield Check("only_here", WARNING, text, evidence + more, hint)


def _without_commit(found: Evidence, items: Sequence[PlanItem]) -> Iterator[Check]:
    """Say which partitions of the group's topics have no commit: nothing can be moved there."""
    known = {one.origin for one in items}
    there = {
        TopicPartition(topic, one.partition)
        for topic in {one.origin.topic for one in items}
        for one in (found.origin.topics[topic].partitions if topic in found.origin.topics else ())
    }
    missing = sorted(there - known)
    if missing:
        count = counted(len(missing), "partition")
        text = f"The group has no committed offset on {count} of its topics: nothing is set there."
        evidence = ", ".join(map(str, missing[:_FEW])) + (", ..." if len(missing) > _FEW else "")
        hint = "There auto.offset.reset decides where consumers start, as it does now."
        yield Check("without_commit", WARNING, text, evidence, hint)


def _offsets_elsewhere(found: Evidence, group: str, items: Sequence[PlanItem]) -> Iterator[Check]:
    described = _described(found.origin, group)
    members = (described.member_count or 0) if described else 0
    is_spark = group.startswith(_SPARK)
    if is_spark or (members and not items):
        text = "It seems to store its offsets elsewhere, for example in a checkpoint of Spark or Flink."
        why = "its name is one that Spark makes" if is_spark else f"{members} members, no commit"
        hint = "Translate those offsets instead: what is set here would not be looked at."
        yield Check("offsets_elsewhere", WARNING, text, why, hint)


def _streams(found: Evidence, group: str, items: Sequence[PlanItem]) -> Iterator[Check]:
    """Say what a Kafka Streams application needs in place of copies of its internal topics."""
    here, there = found.origin, found.destination.alias
    names = here.topic_names | {one.origin.topic for one in items}
    own = internal_topics(group, own_topics(group, here.groups, names)) - {
        one.origin.topic for one in items if not is_repartition(group, one.origin.topic)
    }
    if not own:
        return
    stores = sorted(filter(None, (changelog_store(group, name) for name in own)))
    inputs = [one for one in items if not one.internal]
    read = ", ".join(sorted({one.destination.topic for one in inputs if one.destination}))
    told = [f"internal topics: {_few(sorted(own))}"]
    if waiting := sum(filter(None, (_waiting(here, one) for one in items if one.internal))):
        told.append(f"{waiting:,} records of repartition topics are not processed yet")
    if not stores:
        text = (
            f"It is a Kafka Streams application without state. It makes its own topics on {there}."
        )
        hint = f"Stop it on {here.alias} in an orderly way, so that its repartition topics are processed."
        yield Check("streams", WARNING if waiting else PASSED, text, "; ".join(told), hint)
        return
    most = _rebuild_most(inputs)
    again = "not known how many records" if most is None else f"0 to {most:,} records"
    told.append(f"read again: {again} (0: start with empty state, most: rebuild all of it)")
    text = (
        f"It is a Kafka Streams application. It makes its own topics on {there}, so its state "
        f"({_few(stores)}) is empty there until it is rebuilt from {read or 'its input topics'}."
    )
    hint = (
        f"Stop it on {here.alias} in an orderly way. Then either start it on {there} at these offsets with "
        "empty state, or rebuild the state: in place of applying this plan, run "
        f"kafka-streams-application-reset.sh --application-id {group} "
        f"--input-topics {read.replace(' ', '') or 'TOPICS'} on {there}, then start it."
    )
    yield Check("streams", WARNING, text, "; ".join(told), hint)


def _waiting(side: Side, item: PlanItem) -> int | None:
    end = side.range_of(item.origin).end_offset
    return None if end is None else max(end - item.committed, 0)


def _rebuild_most(inputs: Sequence[PlanItem]) -> int | None:
    """Return how many offsets of the input topics are before those that are set; None: not known."""
    spans = [
        None if one.target is None or one.log_start is None else one.target - one.log_start
        for one in inputs
    ]
    return None if None in spans else sum(filter(None, spans))


def _examples(items: Sequence[PlanItem]) -> str:
    return _few([f"{one.origin}: {one.problem or one.reason}" for one in items])


def _few(told: Sequence[str]) -> str:
    more = f"; and {len(told) - _FEW} more" if len(told) > _FEW else ""
    return "; ".join(told[:_FEW]) + more
