"""Whether those who must agree do: the log and DescribeQuorum, and the replicas of the log. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.cluster.admin.quorum import QuorumDescription
from jobs.quorum.advisor.state import described_voters
from jobs.quorum.health.finding import QuorumCode, QuorumFinding, Severity
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_sets import VoterSet

# A change may be committed between the description and the end of what was read.
UNCOMMITTED_AFTER_MS = 60_000


def find_disagreement(
    description: QuorumDescription, timeline: VoterTimeline
) -> Iterator[QuorumFinding]:
    """Yield where the log says another quorum than its leader does.

    Only what the log must know is judged: it may end before the description was made.
    """
    end = timeline.end_offset
    last = timeline.epochs[-1] if timeline.epochs else None
    if last is not None and last.epoch > description.leader_epoch:
        yield _disagrees(
            "epoch",
            f"The log has records of epoch {last.epoch}, but the quorum says it is at "
            f"{description.leader_epoch}.",
            {"log_epoch": last.epoch, "described_epoch": description.leader_epoch},
        )
    same_epoch = last is not None and last.epoch == description.leader_epoch
    leaders = {last.leader_id if last else None, description.leader_id}
    if same_epoch and None not in leaders and len(leaders) > 1:
        yield _disagrees(
            "leader",
            f"In epoch {description.leader_epoch} the log has another leader than node "
            f"{description.leader_id}, which the quorum says.",
            {
                "log_leader": last.leader_id if last else None,
                "described_leader": description.leader_id,
            },
        )
    current = timeline.current
    is_read = end is not None and end >= (description.high_watermark or 0)
    if current is not None and same_epoch and is_read and timeline.is_current_known:
        yield from _compare_voters(current.voters, described_voters(description))


def _compare_voters(log: VoterSet, described: VoterSet) -> Iterator[QuorumFinding]:
    is_named = all(voter.directory_id for voter in (*log, *described))
    differs = log.keys != described.keys if is_named else log.ids != described.ids
    if differs:
        yield _disagrees(
            "voters",
            f"By the log the voters are {log}; the quorum says {described}.",
            {"log_voters": sorted(log.ids), "described_voters": sorted(described.ids)},
        )


def _disagrees(subject: str, sentence: str, evidence: Mapping[str, object]) -> QuorumFinding:
    return QuorumFinding(
        QuorumCode.LOG_DISAGREES,
        Severity.RISK,
        sentence,
        "Read the log again from a controller. If it stays so, the folder is of another cluster, or a disk "
        "lost records.",
        subject=subject,
        evidence=dict(evidence),
    )


def find_uncommitted_change(
    description: QuorumDescription, timeline: VoterTimeline, now_ms: int
) -> Iterator[QuorumFinding]:
    """Yield a change of voters that is not committed after a minute."""
    current, committed = timeline.current, description.high_watermark
    if current is None or committed is None or current.offset < committed:
        return
    age_ms = None if current.timestamp_ms is None else now_ms - current.timestamp_ms
    if age_ms is None or age_ms < UNCOMMITTED_AFTER_MS:
        return
    yield QuorumFinding(
        QuorumCode.CHANGE_NOT_COMMITTED,
        Severity.CRIT,
        f"The change of voters at offset {current.offset} ({current.change}) is not committed after "
        f"{age_ms / 1000:.0f} s; the new set needs {current.voters.majority} of {len(current.voters)}.",
        "Bring back voters of the new set; no other change is possible before.",
        subject=str(current.offset),
        evidence={"offset": current.offset, "high_watermark": committed, "age_ms": age_ms},
    )


@dataclass(frozen=True, slots=True)
class LogDigest:
    """One replica's log for a comparison: a checksum by the base offset of each batch, and who has it.

    `checksums` hold (epoch, CRC) of batches; the CRC does not cover the epoch.
    """

    name: str
    checksums: Mapping[int, tuple[int, int]]


def find_different_replicas(
    replicas: list[LogDigest], high_watermark: int
) -> Iterator[QuorumFinding]:
    """Yield replicas of the log that differ below the high watermark; above it a difference is normal.

    Compared are batches that both have: one may begin later (a snapshot) or end sooner (it lags).
    """
    for number, one in enumerate(replicas):
        for other in replicas[number + 1 :]:
            yield from _compare_logs(one, other, high_watermark)


def _compare_logs(one: LogDigest, other: LogDigest, high_watermark: int) -> Iterator[QuorumFinding]:
    shared = one.checksums.keys() & other.checksums.keys()
    bad = sorted(
        at for at in shared if at < high_watermark and one.checksums[at] != other.checksums[at]
    )
    if not bad:
        bad = _out_of_step(one, other, high_watermark)
    if bad:
        yield QuorumFinding(
            QuorumCode.REPLICAS_DIFFER,
            Severity.CRIT,
            f"The logs of {one.name} and {other.name} differ below the high watermark {high_watermark}, "
            f"first at offset {bad[0]}: one of the disks is corrupt, or records were lost.",
            "Find by a third replica which one is right, and replace the disk of the other (crosslog "
            "quorum-change "
            "--replace).",
            subject=f"{one.name} {other.name}",
            evidence={"offset": bad[0], "batches": len(bad), "high_watermark": high_watermark},
        )


def _out_of_step(one: LogDigest, other: LogDigest, high_watermark: int) -> list[int]:
    """Return batches that only one has between the first and the last batch that both could have."""
    if not one.checksums or not other.checksums:
        return []
    start = max(min(one.checksums), min(other.checksums))
    end = min(max(one.checksums), max(other.checksums), high_watermark)
    odd = one.checksums.keys() ^ other.checksums.keys()
    return sorted(at for at in odd if start <= at < end)
