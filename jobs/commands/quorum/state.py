"""`crosslog state`: what a cluster was at an offset or a time, and what differs between two moments."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from jobs.commands import command
from jobs.commands.quorum.log_arguments import write_tail
from jobs.quorum.history.change_json import change_mapping, difference_mapping, iso, state_mapping
from jobs.quorum.history.changes import AnomalyKind
from jobs.quorum.image.diff import Difference, diff_images
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.image.partition_registration import PartitionRegistration, difference_text
from jobs.quorum.image.point_in_time import LogPosition, StateAt, state_of_folder
from jobs.quorum.log.folder import BadFolder, LogFolder, read_folder
from jobs.quorum.timeline.parts import voter_mapping
from jobs.quorum.timeline.voter_timeline import VoterTimeline, read_voter_timeline
from jobs.quorum.voters.control_scan import ControlItem, items_of_all_segments
from jobs.wire.metadata.log import LogRecord, PassedBatch


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        arguments.moment = arguments.moment or LogPosition()
        _refuse_future(arguments.moment, arguments.diff_to)
        folder = read_folder(arguments.path)
        found = _state(folder, arguments.moment)
        if arguments.diff_to is not None:
            return _differences(arguments, found, _state(folder, arguments.diff_to))
    except (BadFolder, _NoMoment) as error:
        return command.say(error)
    return _whole(arguments, folder, found)


class _NoMoment(ValueError):
    """A moment of which the log knows nothing."""


def _refuse_future(*moments: LogPosition | None) -> None:
    for moment in moments:
        at_ms = None if moment is None else moment.timestamp_ms
        if at_ms is not None and at_ms > time.time() * 1000:
            raise _NoMoment(f"{iso(at_ms)} is in the future: enter a time that is past")


def _state(folder: LogFolder, moment: LogPosition) -> StateAt:
    found = state_of_folder(folder, moment)
    if found.is_before_log:
        if moment == LogPosition():
            raise _NoMoment(f"{folder.path}: no record of the log is in it")
        asked = iso(moment.timestamp_ms) or f"offset {moment.offset}"
        raise _NoMoment(f"{folder.path}: nothing is known of {asked}: the log begins later")
    if _is_behind_log(folder, found, moment):
        raise _NoMoment(
            f"{folder.path}: there is no offset {moment.offset}: the log ends at offset "
            f"{found.image.last_offset}.{_damage_behind(found)}"
        )
    for one in found.anomalies:
        command.say(f"{folder.path}: offset {one.offset}: {one.problem}")
    hidden = found.anomaly_count - len(found.anomalies)
    if hidden:
        command.say(f"{folder.path}: {hidden} more anomalies")
    if found.tail is not None:
        write_tail(folder.path, found.tail)
    return found


def _damage_behind(found: StateAt) -> str:
    """Return what is damaged at the end of what was read, as a sentence behind another; empty for nothing."""
    last = found.image.last_offset
    ends = [one for one in found.anomalies if one.anomaly is AnomalyKind.DAMAGE]
    problem = next((one.problem for one in reversed(ends) if one.offset == last), None)
    return "" if problem is None else f" What is behind it is damaged: {problem}."


def _is_behind_log(folder: LogFolder, found: StateAt, moment: LogPosition) -> bool:
    """Return whether the log has no record at an offset, nor behind it."""
    last = found.image.last_offset
    if moment.offset is None or last >= moment.offset:
        return False
    behind = (one.offset for one in folder.records(last + 1) if isinstance(one, LogRecord))
    return not any(offset >= moment.offset for offset in behind)


def _code(*states: StateAt) -> int:
    return command.FINDING if any(one.anomaly_count for one in states) else command.OK


def _whole(arguments: argparse.Namespace, folder: LogFolder, found: StateAt) -> int:
    image = found.image
    if arguments.topic is not None and arguments.topic not in image.topic_ids:
        return command.say(f"{arguments.path}: there was no topic {arguments.topic} then")
    told = _where(image) | _voters(folder, arguments.moment)
    told |= state_mapping(image, arguments.topic)
    anomalies = [change_mapping(one) for one in found.anomalies]
    command.print_answer(arguments, lambda: told | {"anomalies": anomalies}, _lines(told))
    return _code(found)


def _where(image: MetadataImage) -> dict[str, Any]:
    return {
        "offset": image.last_offset,
        "epoch": image.last_epoch,
        "time": iso(image.last_timestamp_ms),
        "timestampMs": image.last_timestamp_ms,
        "unknownBefore": image.unknown_before,
        "openTransaction": image.open_transaction,
    }


def _voters(folder: LogFolder, moment: LogPosition) -> dict[str, Any]:
    """Return the voters; where they are not known there are none, and `votersUnknown` says why.

    Those of a static quorum are in no snapshot: the elections before it name them.
    """
    timeline = read_voter_timeline(_until(items_of_all_segments(folder), moment))
    entry = timeline.current
    why = _why_unknown(timeline)
    voters = [] if entry is None or why else [voter_mapping(one) for one in entry.voters]
    return {
        "kraftVersion": timeline.kraft_version,
        "votersOffset": None if entry is None or why else entry.offset,
        "votersStatic": None if entry is None or why else entry.is_static,
        "votersUnknown": why,
        "voters": voters,
    }


def _until(items: Iterator[ControlItem], moment: LogPosition) -> Iterator[ControlItem]:
    for item in items:
        if isinstance(item, LogRecord | PassedBatch) and not moment.includes(item):
            return
        yield item


def _why_unknown(timeline: VoterTimeline) -> str | None:
    """Return why the voters are not known; None where they are."""
    entry = timeline.current
    if entry is None:
        return "neither an election nor a voters record is in the log before this moment"
    if timeline.is_cut_short:
        return f"what is behind offset {(timeline.end_offset or 0) - 1} is damaged"
    if not timeline.is_current_known:
        return f"records behind offset {entry.offset}, which named the last ones, are missing"
    return None


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"offset {told['offset']}, epoch {told['epoch']}, {told['time'] or 'time not known'}"
    if told["unknownBefore"] is not None:
        yield f"Records before offset {told['unknownBefore']} are missing: the state is incomplete."
    if told["openTransaction"] is not None:
        yield f"A transaction is open since offset {told['openTransaction']}: it is not applied."
    version = told["kraftVersion"]
    yield f"voters (kraft.version {'not known' if version is None else version})"
    if told["votersUnknown"]:
        yield f"  not known: {told['votersUnknown']}"
    for voter in told["voters"]:
        where = ", ".join(f"{at['name']}://{at['host']}:{at['port']}" for at in voter["endpoints"])
        yield f"  {voter['id']}  {voter['directoryId'] or 'no directory id'}  {where}"
    yield "features"
    for name, level in told["features"].items():
        yield f"  {name} {level}"
    yield "brokers"
    for broker in told["brokers"]:
        yield f"  {_broker(broker)}"
    yield from _topic_lines(told)


def _broker(broker: dict[str, Any]) -> str:
    state = "fenced" if broker["fenced"] else "not fenced"
    leaving = ", in controlled shutdown" if broker["inControlledShutdown"] else ""
    rack = "no rack" if broker["rack"] is None else f"rack {broker['rack']}"
    return f"{broker['brokerId']}  {state}{leaving}  {rack}  epoch {broker['brokerEpoch']}"


def _topic_lines(told: dict[str, Any]) -> Iterator[str]:
    yield "configs"
    for one in told["configs"]:
        name = one["resourceName"] or "(default)"
        yield f"  {one['resourceType']} {name}  {one['name']} = {one['value']}"
    yield f"partitions of {len(told['topics'])} topics"
    for one in told["partitions"]:
        leader = "none" if one["leader"] < 0 else one["leader"]
        moving = (
            f"  adding {one['addingReplicas']} removing {one['removingReplicas']}"
            if one["addingReplicas"] or one["removingReplicas"]
            else ""
        )
        yield (
            f"  {one['topic']}-{one['partition']}  leader {leader}  leader epoch {one['leaderEpoch']}  "
            f"isr {one['isr']}  elr {one['elr']}  replicas {one['replicas']}{moving}"
        )


def _differences(arguments: argparse.Namespace, before: StateAt, after: StateAt) -> int:
    found = [
        one
        for one in diff_images(before.image, after.image)
        if arguments.topic is None or arguments.topic in _topics_of(one)
    ]
    command.print_answer(
        arguments,
        lambda: {
            "from": _where(before.image),
            "to": _where(after.image),
            "differences": [difference_mapping(one) for one in found],
        },
        _difference_lines(before, after, found),
    )
    return _code(before, after)


def _topics_of(found: Difference) -> tuple[Any, ...]:
    one = found.after or found.before
    return (*found.key, getattr(one, "name", None))


def _difference_lines(before: StateAt, after: StateAt, found: list[Difference]) -> Iterator[str]:
    yield (
        f"offset {before.image.last_offset} -> {after.image.last_offset}: "
        f"{len(found) or 'no'} difference{'' if len(found) == 1 else 's'}"
    )
    for one in found:
        yield f"  {one.kind} {' '.join(map(str, one.key))}: {_difference(one)}"


def _difference(found: Difference) -> str:
    if isinstance(found.before, PartitionRegistration) and isinstance(
        found.after, PartitionRegistration
    ):
        return difference_text(found.before, found.after)
    told = difference_mapping(found)
    if found.before is None:
        return f"new: {json.dumps(told['after'])}"
    if found.after is None:
        return "gone"
    old, new = told["before"], told["after"]
    if not isinstance(old, dict):
        return f"{json.dumps(old)} -> {json.dumps(new)}"
    return ", ".join(
        f"{name}: {json.dumps(old[name])} -> {json.dumps(new[name])}"
        for name in old
        if old[name] != new[name]
    )
