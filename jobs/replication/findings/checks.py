"""The checks of silent failures and drift of a flow, by the codes of their findings."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from jobs.checks.check import Area, Check, Pattern, Threshold, Unit
from jobs.replication.findings.codes import Code
from jobs.severity import Severity

INFO, WARNING, CRITICAL = Severity.INFO, Severity.WARNING, Severity.CRITICAL
STILL, STALE, UNASSIGNED = "still_s", "stale_s", "not_assigned_s"
_flow = partial(Check, area=Area.FLOW)
_topic = partial(_flow, narrowed_by=Pattern.TOPIC)
_group = partial(_flow, narrowed_by=Pattern.GROUP)
_advice = partial(_topic, is_advice=True)


def _after(name: str, minutes: float, text: str) -> tuple[Threshold, ...]:
    default = timedelta(minutes=minutes).total_seconds()
    return (Threshold(name, default, Unit.SECONDS, text, least=60, most=86_400),)


# MirrorMaker 2 commits its positions once a minute, and emits checkpoints once a minute. A rebalance of
# Connect's workers takes up to five minutes when one of them is gone (KIP-415's delay).
_STILL = _after(STILL, 5, "Time that a position does not advance although records wait.")

# fmt: off
_CHECKS = (
    _flow(Code.NOT_MOVING, "Not moving", "Does the flow replicate?", "Partitions have records waiting, and "
        "no position of the flow advances for the threshold.", CRITICAL,
        runbook="Check the log of the replicator and that its processes run, then restart it: it resumes at "
        "its positions.", thresholds=_STILL, effect="flow not replicating"),
    _flow(Code.FLOW_SET_APART, "Set apart", "Does the flow share its engine?", "A slot of the engine died "
        "twice within ten minutes while the flow replicated; the flow then has an application of its own.",
        WARNING, runbook="Read the logs of the engine and of the flow's run for what ended the process "
        "(memory, a native library), and remove it. Stop and start the flow: it shares its engine again."),
    _topic(Code.STUCK_PARTITION, "Stuck partition", "Does every partition of the flow advance?",
        "A partition has records waiting and its position does not advance for the threshold, while other "
        "partitions of the flow do.", CRITICAL, runbook="Check the log of the replicator for the partition, "
        "and whether both of its partitions have a leader. Then restart the flow.", thresholds=_STILL,
        effect="replicated partition stuck"),
    _topic(Code.RETENTION_LOSS, "Retention loss", "Is every record replicated before retention deletes it?",
        "The log start offset of a source partition is above the position of the flow.", CRITICAL,
        runbook="Raise retention.ms or retention.bytes of the topic, or the throughput of the flow. Restore "
        "the records from a backup if they are needed."),
    _topic(Code.SOURCE_RECREATED, "Source recreated", "Is the source topic still the one that was "
        "replicated?", "The topic ID of a source topic changed; reported for one day, or until the flow "
        "accepts it.", CRITICAL, runbook="Do not fail over with older offsets. Delete the remote topic and "
        "reset the positions, or accept that the remote topic has records of both."),
    _topic(Code.SOURCE_CUT, "Source cut", "Does the source still have what was replicated?",
        "A source partition ends below the position of the flow, in two rounds.", CRITICAL,
        runbook="Do not translate offsets of the partition. Decide whether the new records are replicated "
        "from the beginning, and reset the position."),
    _topic(Code.TARGET_RECREATED, "Target recreated", "Is the remote topic still the one that was written?",
        "The topic ID of a remote topic changed; reported for one day.", CRITICAL,
        runbook="Reset the position of the topic while the source has the records. Older checkpoints and "
        "offset syncs of the topic are invalid."),
    _topic(Code.TARGET_CUT, "Target cut", "Does the target still have what was replicated?",
        "A remote partition ends below the newest offset sync or the end at the last commit, in two rounds.",
        CRITICAL, runbook="Reset the position of the partition while the source has the records. Do not use "
        "its older checkpoints and offset syncs."),
    _flow(Code.TASK_FAILED, "Task failed", "Does every connector and task of MirrorMaker 2 run?",
        "A connector or task says FAILED, in two rounds.", CRITICAL, runbook="Connect does not start it "
        "again. Remove the cause that its trace names, then restart it.", effect="tasks failed"),
    _flow(Code.TASK_NOT_ASSIGNED, "Task not assigned", "Does a worker run every connector and task?",
        "A connector or task says UNASSIGNED or RESTARTING for the threshold.", CRITICAL,
        runbook="Check that the workers of MirrorMaker 2 run and reach each other, then restart them.",
        thresholds=_after(UNASSIGNED, 6, "Time that no worker runs it."), effect="tasks not assigned"),
    _flow(Code.CONNECTOR_PAUSED, "Connector paused", "Is every connector resumed?", "A connector says PAUSED "
        "or STOPPED.", WARNING, runbook="Resume the connector, unless it is paused on purpose."),
    _flow(Code.HEARTBEATS_STALE, "Heartbeats stale", "Do heartbeats pass through the flow?",
        "No heartbeat was replicated or sent for the threshold, in two rounds. Critical when heartbeats are "
        "sent on the source and none reaches the target.", CRITICAL, runbook="Check whether other topics "
        "advance, then the log of the replicator and the heartbeat connector of the opposite direction.",
        thresholds=_after(STALE, 2, "Age of the newest heartbeat."), effect="heartbeats stale"),
    _flow(Code.HEARTBEATS_ABSENT, "Heartbeats absent", "Does the flow have heartbeats?",
        "No heartbeat of the source was ever replicated, in two rounds.", INFO,
        runbook="Run the heartbeat connector of the opposite direction, and let the flow replicate "
        "heartbeats.", is_advice=True),
    _topic(Code.LOOP, "Loop", "Does no record return to its own cluster?", "A topic is replicated back under "
        "the same name, or a remote topic came through a cluster twice.", CRITICAL,
        runbook="Stop one of the two directions, then exclude the topic from it."),
    _flow(Code.SAME_CLUSTER, "Same cluster", "Are source and target two clusters?", "Source and target have "
        "the same cluster ID.", CRITICAL, runbook="Correct the bootstrap servers of one of the two "
        "clusters."),
    _group(Code.GROUP_AHEAD, "Group ahead", "Would no group skip records in a failover?",
        "The offset of a group on the target is above what it has read on the source by offset syncs "
        "(critical) or above its checkpoint (warning), in two rounds.", CRITICAL,
        runbook="Fail over with a plan, which sets all offsets of the group; change nothing if the group "
        "already consumes on the target."),
    _group(Code.GROUP_BEYOND_END, "Group beyond end", "Are committed offsets on the source within the logs?",
        "A committed offset is above the end of its source partition, in two rounds.", CRITICAL,
        runbook="Reset the offset of the group on the source (kafka-consumer-groups.sh --reset-offsets)."),
    _group(Code.GROUP_BEYOND_TARGET_END, "Group beyond target end", "Are committed offsets on the target "
        "within the logs?", "A committed offset is above the end of its remote partition, in two rounds.",
        CRITICAL, runbook="Fail over with a plan: it sets the offsets of the group on the target."),
    _flow(Code.SYNCS_MISSING, "Syncs missing", "Does the flow write offset syncs?",
        "Offset syncs are off (warning), or their topic does not exist, in two rounds.", CRITICAL,
        runbook="Turn offset syncs on, and check offset-syncs.topic.location and the names of both "
        "clusters."),
    _flow(Code.SYNCS_UNREADABLE, "Syncs unreadable", "Can the offset syncs be read?",
        "The topic of offset syncs cannot be read, or none of its records is one, in two rounds.", CRITICAL,
        runbook="Give the principal of crosslog DESCRIBE and READ on the topic, and check that no other "
        "program writes to it."),
    _flow(Code.CHECKPOINTS_STALE, "Checkpoints stale", "Do checkpoints follow the groups?",
        "Groups commit on the source, and no checkpoint was emitted for the threshold.", WARNING,
        runbook="Check that the checkpoint connector runs and may read the offset syncs and its checkpoints.",
        thresholds=_after(STALE, 10, "Time that groups commit without a checkpoint."),
        effect="checkpoints stale"),
    _flow(Code.CHECKPOINTS_MISSING, "No checkpoints", "Does the flow emit checkpoints?",
        "The topic of checkpoints does not exist although groups are covered, in two rounds.", WARNING,
        runbook="Check that the checkpoint connector runs (emit.checkpoints.enabled) and which groups it "
        "selects."),
    _topic(Code.WRAPPED_RECORDS, "Wrapped records", "Can clients read the replicated records?",
        "Newest records of a topic are wrapped in JSON by JsonConverter.", CRITICAL,
        runbook="Set key.converter, value.converter and header.converter to ByteArrayConverter."),
    _advice(Code.POSITIONS_NOT_COMPACTED, "Long start", "Is the topic of positions compacted?",
        "The topic of positions has 500,000 records or more.", WARNING, runbook="Set segment.bytes of the "
        "topic to 1048576, and check that the log cleaner of the brokers runs."),
    _topic(Code.PARTITIONS_DIFFER, "Partitions differ", "Do remote topics have as many partitions?",
        "A remote topic has fewer partitions than its source topic (critical) or more, in two comparisons.",
        CRITICAL, runbook="Fewer: the next sync adds them; if not, grant ALTER on the topic. More: delete "
        "and re-create the remote topic."),
    _advice(Code.REPLICATION_FACTOR_DIFFERS, "Fewer replicas", "Do remote topics have as many replicas?",
        "A remote topic has a lower replication factor than its source topic.", INFO,
        runbook="Add replicas with kafka-reassign-partitions.sh, and set replication_factor of the flow."),
    _topic(Code.CONFIG_DELETED_NEXT, "Config deleted", "Does the next sync keep the configs of remote "
        "topics?", "The next sync of configs deletes a config that only the remote topic sets.", WARNING,
        runbook="Set the config on the source topic as well, or exclude it (config.properties.exclude)."),
    _advice(Code.CONFIG_DIFFERS, "Configs differ", "Do remote topics have the same configs?",
        "Configs of a remote topic differ from its source topic, and no sync sets them.", WARNING,
        runbook="Change the config on one side by hand."),
    _advice(Code.ACLS_NOT_SYNCED, "ACLs not synced", "Do remote topics have the same ACLs?",
        "The target lacks ACLs of a source topic, or the source has ACLs that are never synced.", WARNING,
        runbook="Turn on the sync of ACLs (sync_acls), or add them on the target before a failover."),
    _advice(Code.ACLS_ONLY_ON_TARGET, "Extra ACLs", "Do remote topics have no other ACLs?",
        "A remote topic has ACLs that its source topic does not have.", WARNING,
        runbook="Remove unwanted ACLs on the target by hand: the sync never deletes any."),
    _advice(Code.TOPIC_LEFT_OUT, "Topic left out", "Are topics selected as their names suggest?",
        "The name of a topic makes the flow exclude, rename or replicate it although the patterns say "
        "otherwise.", WARNING, runbook="Change the patterns of the flow, or rename the topic."),
    _topic(Code.TOPIC_REFUSED, "Topic refused", "May the flow write its remote topics?",
        "A topic of the target has the name of a remote topic and must not be written by the flow.", CRITICAL,
        runbook="Choose other names for the remote topics, or let the flow append (on_existing)."),
    _topic(Code.TOPIC_MISSING, "Topic missing", "Does every selected topic have its remote topic?",
        "The remote topic of a selected topic does not exist or cannot be compared, in two comparisons.",
        CRITICAL, runbook="Check that the replicator runs, selects the topic and may create it (CREATE on "
        "the target).", effect="remote topics missing"),
    _flow(Code.BROKEN_PATTERN, "Broken pattern", "Does MirrorMaker 2 read the patterns as intended?",
        "A pattern has a comma within brackets, at which MirrorMaker 2 splits it.", WARNING,
        runbook="Write the pattern without a comma: alternatives for {1,3}, [ab] for [a,b].",
        is_advice=True),
)
# fmt: on
OF = {one.id: one for one in _CHECKS}


def of(*codes: Code) -> list[Check]:
    """Return the checks of some codes."""
    return [OF[code] for code in codes]
