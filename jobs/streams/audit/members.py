"""Rules about the members of an application: whether they run each task once and agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.checks.check import Unit, check
from jobs.cluster.descriptions import TopicPartition
from jobs.severity import Severity
from jobs.streams.application import Protocol, Thread
from jobs.streams.audit.conditions import (
    Condition,
    Seen,
    lasts,
    listed,
    most,
    some,
    streams_check,
    unknown,
)
from jobs.streams.rebalances.changes import Change, flapping

VERSION_PROBING, SHUTDOWN = 2, 4
ERRORS = {
    1: "a source topic is missing",
    3: "the assignment failed with an exception",
    SHUTDOWN: "an instance requested the shutdown of the application",
}
# fmt: off
TWICE = streams_check("streams_partition_twice", "Kafka Streams partition in two threads",
    "Does one thread process each source partition?",
    "Two threads have a source partition as active. A partition in none has its own check.",
    severity=Severity.CRITICAL, effect="partitions processed twice", thresholds=(lasts(60),),
    runbook="Records are processed twice, and state differs. Stop one of the instances that the finding "
    "names, and look for a member that missed the last rebalance.")
VERSIONS = streams_check("streams_versions_mixed", "Kafka Streams versions mixed",
    "Do all members write one version of their user data?",
    "Members support different versions, or write an older one than a member supports (classic protocol). "
    "An update has not ended, or upgrade.from is still set.", severity=Severity.INFO, is_advice=True,
    runbook="End the update: restart the remaining instances with the new version, then remove upgrade.from.",
    thresholds=(lasts(3_600),))
ERROR = streams_check("streams_assignment_error", "Kafka Streams assignment error",
    "Does the assignor return no error?",
    "A member carries an error code of the assignor or requests a shutdown (classic protocol). Version "
    "probing is no error.", severity=Severity.CRITICAL, effect="assignment error",
    runbook="The application stops processing. Code 1: create the source topics. Code 3: the log of the "
    "group's leader has the exception. Code 4: the log of the instance that requested the shutdown has it.")
FLAPPING = streams_check("streams_member_flapping", "Kafka Streams thread rejoins",
    "Do all threads join as often as their group rebalances?",
    "Within the last hour a thread joined more often than its group had generations (classic protocol).",
    effect="thread rejoins", runbook="Look in the log of the instance for max.poll.interval.ms exceeded, "
    "session timeouts and restarted threads.",
    thresholds=(most(5, Unit.COUNT, "Joins beyond the generations of the group, in an hour.", most=10_000),))
BEHIND = streams_check("streams_members_behind", "Kafka Streams members behind",
    "Do members take over what the broker assigns?",
    "A member has not taken over its target assignment, or its epoch is behind that of the group, for longer "
    "than a rebalance timeout (streams protocol).", effect="members behind", thresholds=(lasts(300),),
    runbook="The instances that the finding names do not revoke or start tasks: look for long poll loops, "
    "restores and errors in their logs.")
TOPOLOGY = streams_check("streams_topology_mixed", "Kafka Streams topologies mixed",
    "Do all members run one topology?",
    "Members registered different topology epochs (streams protocol): an update has not ended.",
    effect="topologies mixed", thresholds=(lasts(1_800),),
    runbook="End the update: restart the instances with the old topology.")
# fmt: on
# The group is reconciling while these hold.
WHILE_RECONCILING = frozenset({BEHIND.id, TOPOLOGY.id})


@check(TWICE)
def judge_partitions(seen: Seen) -> Iterator[Condition]:
    """Look for source partitions that two threads have."""
    owner: dict[TopicPartition, Thread] = {}
    twice: dict[TopicPartition, set[str]] = {}
    tasks = seen.application.tasks
    for one in seen.application.threads:
        for task in one.now.active:
            for place in tasks.get(task, ()):
                # With a client.id of the user, threads of two instances have one name.
                first = owner.setdefault(place, one)
                if first.member_id != one.member_id:
                    twice.setdefault(place, {first.client_id}).add(one.client_id)
    if twice:
        names = [f"{place.topic}-{place.partition}" for place in sorted(twice)]
        threads = sorted(set().union(*twice.values()))
        text = f"processes {some(names)} in two threads at once: {some(threads)}."
        evidence = {"partitions": len(twice), "first": listed(names), "threads": listed(threads)}
        yield Condition(TWICE, text, evidence)
    elif not seen.is_all:
        yield unknown(TWICE)


@check(VERSIONS)
def judge_versions(seen: Seen) -> Iterator[Condition]:
    """Look for members of several versions."""
    if seen.application.protocol is not Protocol.CLASSIC:
        return
    threads = seen.application.threads
    told = [one for one in threads if one.version is not None and one.latest_version is not None]
    latest = {one.latest_version for one in told}
    newest = max((one for one in latest if one is not None), default=0)
    behind = [one.client_id for one in told if (one.version or 0) < newest]
    if behind or len(latest) > 1:
        supported = ", ".join(map(str, sorted(one or 0 for one in latest)))
        text = (
            f"has members that support user data of version {supported}; {len(behind):,} of "
            f"{len(told):,} write an older one than {newest}."
        )
        yield Condition(VERSIONS, text, {"behind": listed(behind), "newest": newest})
    elif len(told) < len(threads) or not seen.is_all:
        yield unknown(VERSIONS)


@check(ERROR)
def judge_errors(seen: Seen) -> Iterator[Condition]:
    """Look for error codes, and for who requested a shutdown."""
    if seen.application.protocol is not Protocol.CLASSIC:
        return
    threads = seen.application.threads
    codes = {one.error_code for one in threads} - {0, VERSION_PROBING}
    if not codes:
        if not seen.is_all:
            yield unknown(ERROR)
        return
    told = ", ".join(f"{one} ({ERRORS.get(one, 'not known')})" for one in sorted(codes))
    text = f"has assignment error {told}."
    asking = {
        one.process_id or one.member_id for one in threads if one.subscription_error == SHUTDOWN
    }
    places = [one.place for one in seen.application.processes if one.process_id in asking]
    if SHUTDOWN in codes:
        # After the assignor passed it on, others that join again carry the request, too.
        word = "It came from" if len(places) == 1 else "Members that carry the request:"
        text += (
            f" {word} {some(places)}." if places else " The instance that requested it has left."
        )
    yield Condition(ERROR, text, {"codes": listed(sorted(codes)), "requested_by": listed(places)})


@check(FLAPPING)
def judge_joins(seen: Seen) -> Iterator[Condition]:
    """Look for threads that join more often than their group has generations."""
    if seen.application.protocol is not Protocol.CLASSIC:
        return
    changes = (Change.from_json(one) for one in seen.changes if one.get("joins"))
    found = flapping([one for one in changes if one is not None])
    is_watched = seen.is_all and not any(one.get("is_gap") for one in seen.changes)
    if found:
        worst = found[0]
        text = (
            f"has a thread that joined {worst.joins:,} times within an hour, while its group had "
            f"{worst.generations:,} generations: {worst.client_id}."
        )
        evidence = {"threads": len(found), "first": listed(one.client_id for one in found)}
        value = worst.joins - worst.generations
        yield Condition(FLAPPING, text, evidence, value=value, is_at_least=not is_watched)
    elif not is_watched:
        yield unknown(FLAPPING)


@check(BEHIND, TOPOLOGY)
def judge_epochs(seen: Seen) -> Iterator[Condition]:
    """Look for members with another assignment or topology than the group."""
    application = seen.application
    if application.protocol is not Protocol.STREAMS:
        return
    threads, epoch = application.threads, application.generation or 0
    behind = [one for one in threads if one.target is not None or (one.member_epoch or 0) < epoch]
    if behind:
        names = [one.client_id for one in behind]
        text = (
            f"has {len(behind):,} of {len(threads):,} threads that have not taken over the assignment of "
            f"epoch {epoch:,}: {some(names)}."
        )
        yield Condition(BEHIND, text, {"threads": len(behind), "first": listed(names)})
    elif not seen.is_all:
        yield unknown(BEHIND)
    epochs = sorted({one.topology_epoch for one in threads if one.topology_epoch is not None})
    if len(epochs) > 1:
        text = f"has members with different topologies: epochs {some(epochs)}."
        yield Condition(TOPOLOGY, text, {"epochs": listed(epochs)})
    elif not seen.is_all:
        yield unknown(TOPOLOGY)


CHECKS = (TWICE, VERSIONS, ERROR, FLAPPING, BEHIND, TOPOLOGY)
RULES = (judge_partitions, judge_versions, judge_errors, judge_joins, judge_epochs)
