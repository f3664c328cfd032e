"""Compares the log with DescribeQuorum, and the replicas of the log with each other. Pure.

Log and description are read at different times. Only what does not depend on the order is compared: an epoch
has one leader for ever, and the records before an offset of an epoch are the same for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.checks.check import check
from jobs.cluster.admin.quorum import QuorumDescription
from jobs.findings import Finding
from jobs.quorum.advisor.state import described_voters
from jobs.quorum.health.checks import of
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.voter_states import leader_age_ms, leader_now_ms
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_sets import VoterSet
from jobs.severity import Severity

# A change may be committed between the description and the end of what was read.
UNCOMMITTED_AFTER_MS = 60_000


@check(*of(QuorumCode.LOG_DISAGREES))
def find_disagreement(
    description: QuorumDescription, timeline: VoterTimeline, epoch_before: int | None = None
) -> Iterator[Finding]:
    """Yield where the log says another quorum than its leader does.

    `epoch_before` is the newest epoch that the log had before DescribeQuorum (None: not known): only
    that one the quorum must have reached. The log may end before the description was made, or behind it.
    """
    if epoch_before is not None and epoch_before > description.leader_epoch:
        yield _disagrees(
            "epoch",
            f"The log had records of epoch {epoch_before} before DescribeQuorum answered with epoch "
            f"{description.leader_epoch}.",
            {"log_epoch": epoch_before, "described_epoch": description.leader_epoch},
        )
    led_by = _leaders(timeline).get(description.leader_epoch)
    if None not in {led_by, description.leader_id} and led_by != description.leader_id:
        yield _disagrees(
            "leader",
            f"In epoch {description.leader_epoch} the log has another leader than node "
            f"{description.leader_id}, the leader by DescribeQuorum.",
            {"log_leader": led_by, "described_leader": description.leader_id},
        )
    voters = _voters_of_log(description, timeline)
    if voters is not None:
        yield from _compare_voters(voters, described_voters(description))


def can_compare_voters(description: QuorumDescription, timeline: VoterTimeline) -> bool:
    """Whether the log has the voters at the leader's log end offset of DescribeQuorum.

    Where it ends before that place and has the same voters, nothing is left to disagree about.
    """
    if _voters_of_log(description, timeline) is not None:
        return True
    current = timeline.current
    return current is not None and not any(
        _compare_voters(current.voters, described_voters(description))
    )


def _leaders(timeline: VoterTimeline) -> dict[int, int | None]:
    return {one.epoch: one.leader_id for one in timeline.epochs}


def _voters_of_log(description: QuorumDescription, timeline: VoterTimeline) -> VoterSet | None:
    """Return the voters of the log at the end of the leader's log as described; None where it does not tell.

    The log is to reach that end within the same epoch: a later leader may have cut off what the described one
    had behind the high watermark.
    """
    end = _leader_end(description)
    span = next((one for one in timeline.epochs if one.epoch == description.leader_epoch), None)
    if end is None or span is None or not span.first_offset < end <= span.last_offset + 1:
        return None
    return timeline.voters_at(end - 1)


def _leader_end(description: QuorumDescription) -> int | None:
    leader = (one for one in description.voters if one.id == description.leader_id)
    return next((one.log_end_offset for one in leader), None)


def _compare_voters(log: VoterSet, described: VoterSet) -> Iterator[Finding]:
    is_named = all(voter.directory_id for voter in (*log, *described))
    differs = log.keys != described.keys if is_named else log.ids != described.ids
    if differs:
        yield _disagrees(
            "voters",
            f"The voters are {log} by the log, and {described} by DescribeQuorum.",
            {"log_voters": sorted(log.ids), "described_voters": sorted(described.ids)},
        )


def _disagrees(subject: str, sentence: str, evidence: Mapping[str, object]) -> Finding:
    return Finding(
        QuorumCode.LOG_DISAGREES,
        Severity.CRITICAL,
        sentence,
        "Read the log again from a controller. If the finding remains, the folder is of another "
        "cluster, or a disk lost records.",
        subject=subject,
        evidence=dict(evidence),
    )


@check(*of(QuorumCode.CHANGE_NOT_COMMITTED))
def find_uncommitted_change(
    description: QuorumDescription, timeline: VoterTimeline
) -> Iterator[Finding]:
    """Yield a change of voters that its leader had for a minute without committing it.

    The ages are those of the leader's clock; a change of an earlier epoch counts from the leader's election.
    """
    current, committed, end = timeline.current, description.high_watermark, _leader_end(description)
    if current is None or current.timestamp_ms is None or committed is None or end is None:
        return
    if timeline.high_watermark is not None:
        committed = max(committed, timeline.high_watermark)
    is_of_leader = (
        timeline.epochs[-1].epoch <= description.leader_epoch if timeline.epochs else False
    )
    if not is_of_leader or not committed <= current.offset < end:
        return
    age_ms = leader_now_ms(description) - current.timestamp_ms
    if current.epoch != description.leader_epoch:
        age_ms = min(age_ms, leader_age_ms(description, timeline) or 0)
    if age_ms < UNCOMMITTED_AFTER_MS:
        return
    yield Finding(
        QuorumCode.CHANGE_NOT_COMMITTED,
        Severity.CRITICAL,
        f"The change of voters at offset {current.offset} ({current.change}) is not committed after "
        f"{age_ms / 1000:.0f} s; the new set needs {current.voters.majority} of {len(current.voters)}.",
        "Restart voters of the new set; no other change is possible before.",
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

    @property
    def last_epoch(self) -> int:
        """The newest epoch of its batches; -1 without any."""
        return max((epoch for epoch, _ in self.checksums.values()), default=-1)

    def epoch_at(self, offset: int) -> int:
        """The epoch of the batch at an offset; -1 for none."""
        return self.checksums.get(offset, (-1, 0))[0]


@check(*of(QuorumCode.REPLICAS_DIFFER))
def find_different_replicas(replicas: list[LogDigest], high_watermark: int) -> Iterator[Finding]:
    """Yield replicas of the log that differ below the high watermark; above it a difference is normal.

    Compared are batches that both have: one may begin later (a snapshot) or end sooner (it lags). A replica
    that was read before it had records of a later epoch may have had a tail which that epoch cut off: what
    differs by such an epoch is not compared.
    """
    for number, one in enumerate(replicas):
        for other in replicas[number + 1 :]:
            yield from _compare_logs(one, other, high_watermark)


def _compare_logs(one: LogDigest, other: LogDigest, high_watermark: int) -> Iterator[Finding]:
    shared = one.checksums.keys() & other.checksums.keys()
    bad = [at for at in shared if at < high_watermark and one.checksums[at] != other.checksums[at]]
    if not bad:
        bad = _out_of_step(one, other, high_watermark)
    known = min(one.last_epoch, other.last_epoch)
    bad = sorted(at for at in bad if max(one.epoch_at(at), other.epoch_at(at)) <= known)
    if bad:
        yield Finding(
            QuorumCode.REPLICAS_DIFFER,
            Severity.CRITICAL,
            f"The logs of {one.name} and {other.name} differ below the high watermark {high_watermark}, "
            f"first at offset {bad[0]}: one of the disks is corrupt, or records were lost.",
            "Compare with a third replica, and replace the disk of the wrong one (crosslog "
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
    different = one.checksums.keys() ^ other.checksums.keys()
    return [at for at in different if start <= at < end]
