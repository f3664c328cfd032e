"""The voter timeline of a folder as one JSON document, and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.quorum.log.folder import LogFolder
from jobs.quorum.timeline.parts import Anomaly, Election, VoterSetEntry
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.endpoints import ENDPOINT_TODO, EndpointFault, endpoint_faults
from jobs.wire.values import utc_time

_MOST_LINES = 50


def time_text(at_ms: int | None) -> str | None:
    """Return a time as ISO 8601 in UTC with milliseconds; None for none, or beyond the calendar."""
    at = utc_time(at_ms)
    if at is None:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def report(folder: LogFolder, timeline: VoterTimeline) -> dict[str, Any]:
    """Return everything about the voters of a folder as JSON values; docs/formats.md describes it."""
    current = timeline.current
    return {
        "path": str(folder.path),
        "clusterId": folder.meta_properties.cluster_id if folder.meta_properties else None,
        "logStartOffset": folder.log_start_offset,
        "firstOffset": timeline.first_offset,
        "endOffset": timeline.end_offset,
        "highWatermark": timeline.high_watermark,
        "snapshotEnd": timeline.snapshot_end,
        "kraftVersion": timeline.kraft_version,
        "voterSets": [_timed(entry) for entry in timeline.entries],
        "current": _timed(current) if current else None,
        "currentIsKnown": timeline.is_current_known,
        "isCutShort": timeline.is_cut_short,
        "endpointFaults": [
            {"endpoint": str(one.endpoint), "voters": list(one.voter_ids), "sentence": one.sentence}
            for one in faults_of_current(timeline)
        ],
        "overwritten": [_timed(entry) for entry in timeline.overwritten],
        "elections": [_timed(election) for election in timeline.elections],
        "epochs": [span.to_mapping() for span in timeline.epochs],
        "silences": [silence.to_mapping() for silence in timeline.silences],
        "kraftVersions": [entry.to_mapping() for entry in timeline.kraft_versions],
        "unknown": [{"fromOffset": a, "toOffset": b} for a, b in timeline.unknown],
        "anomalies": [_timed(anomaly) for anomaly in timeline.anomalies],
        "anomaliesLeftOut": timeline.anomalies_left_out,
        "configuredVoters": _configured(folder),
        "files": [{"file": one.file, "problem": one.problem} for one in folder.findings],
    }


def has_finding(timeline: VoterTimeline) -> bool:
    """Say whether a person should look at this log."""
    return any(one.is_finding for one in timeline.anomalies) or bool(faults_of_current(timeline))


def faults_of_current(timeline: VoterTimeline) -> list[EndpointFault]:
    """Return what is wrong with the endpoints of the last voters of a log."""
    return [] if timeline.current is None else endpoint_faults(timeline.current.voters)


def lines(folder: LogFolder, timeline: VoterTimeline, *, with_elections: bool) -> Iterator[str]:
    """Yield the same for a person."""
    yield from _head(folder, timeline)
    for entry in timeline.entries:
        yield from _entry_lines(entry)
    for entry in timeline.overwritten:
        yield f"never committed, overwritten by a later epoch: offset {entry.offset}, {entry.change}"
    if timeline.entries and not timeline.is_current_known:
        yield "unknown: whether the last of these still are the voters, for records behind them are missing"
    for start, end in timeline.unknown:
        yield f"unknown: the records from offset {start} to {end - 1} are missing"
    yield from _election_lines(timeline, with_elections=with_elections)
    for anomaly in timeline.anomalies[:_MOST_LINES]:
        yield f"{'!' if anomaly.is_finding else '-'} {anomaly.sentence} [{anomaly.code}]"
    hidden = max(0, len(timeline.anomalies) - _MOST_LINES)
    hidden += sum(timeline.anomalies_left_out.values())
    if hidden:
        yield f"... and {hidden} more (--json has the first thousand of each kind)"
    yield from _endpoint_lines(timeline)
    for one in folder.findings:
        yield f"- {one.file}: {one.problem}"


def _head(folder: LogFolder, timeline: VoterTimeline) -> Iterator[str]:
    version = timeline.kraft_version
    told = "unknown" if version is None else version
    if timeline.end_offset is None:
        yield f"{folder.path}: no record"
        return
    first = timeline.first_offset if timeline.first_offset is not None else timeline.end_offset
    yield f"{folder.path}: offsets {first} to {timeline.end_offset - 1}, kraft.version {told}"
    configured = _configured(folder)
    if not timeline.entries:
        if configured:
            yield f"The log names no voters; quorum-state has the configured ids {configured}."
        else:
            yield "The log names no voters: neither a voters record nor an election is in it."


def _entry_lines(entry: VoterSetEntry) -> Iterator[str]:
    committed = {True: "committed", False: "NOT committed", None: "not known whether committed"}
    known = {"snapshot": "in a snapshot", "bootstrap": "formatted with"}.get(entry.source.value, "")
    static = "static, ids only" if entry.is_static else ""
    gap = "after missing records" if entry.is_after_gap else ""
    words = [word for word in (known, static, gap, committed[entry.is_committed]) if word]
    at = time_text(entry.timestamp_ms) or "no time"
    change = "" if entry.change.is_empty else f": {entry.change}"
    yield f"offset {entry.offset} epoch {entry.epoch} {at} ({', '.join(words)}){change}"
    for voter in entry.voters:
        where = " ".join(map(str, voter.endpoints))
        yield f"    {voter.id} {voter.directory_id or '-'} {where}".rstrip()


def _endpoint_lines(timeline: VoterTimeline) -> Iterator[str]:
    faults = faults_of_current(timeline)
    yield from (f"! {fault.sentence} [voter_endpoint]" for fault in faults)
    if faults:
        yield f"  {ENDPOINT_TODO}"


def _election_lines(timeline: VoterTimeline, *, with_elections: bool) -> Iterator[str]:
    count = len(timeline.elections)
    if with_elections:
        for one in timeline.elections:
            gap = "" if one.gap_ms is None else f", {one.gap_ms} ms after the record before it"
            votes = f" by {[key.id for key in one.granting]}" if one.granting else ""
            at = time_text(one.timestamp_ms)
            yield f"offset {one.offset} epoch {one.epoch} {at}: {one.leader_id} elected{votes}{gap}"
    elif count:
        last = timeline.elections[-1]
        yield f"{count} election{'' if count == 1 else 's'}, the last of {last.leader_id} (--elections)"
    gaps = [one.gap_ms for one in timeline.controller_gaps]
    if gaps:
        many = "1 time" if len(gaps) == 1 else f"{len(gaps)} times"
        yield f"{many} without an active controller, {sum(gaps)} ms in all, at most {max(gaps)} ms"


def _timed(part: VoterSetEntry | Election | Anomaly) -> dict[str, Any]:
    """Return a part with its time as text beside the number."""
    told = part.to_mapping()
    return {
        "offset": told.pop("offset"),
        "epoch": told.pop("epoch"),
        "time": time_text(part.timestamp_ms),
        **told,
    }


def _configured(folder: LogFolder) -> list[int] | None:
    """Return the ids that a static quorum's voter has written down; None in a dynamic one."""
    state = folder.quorum_state
    return None if state is None or state.current_voters is None else sorted(state.current_voters)
