"""Anomalies of a voter timeline: the words for each, and a bound on how many are kept. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jobs.quorum.timeline.parts import Anomaly, AnomalyCode, Election
from jobs.quorum.voters.voter_change import VoterChange
from jobs.quorum.voters.voter_sets import VoterSet
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord, PassedBatch

# A damaged or foreign file could hold millions.
MOST_OF_A_CODE = 1_000
UNFINISHED = "The log ends with what its node had not finished, which is normal after a kill,"
_OF_A_CODE = {
    AnomalyCode.NON_OVERLAPPING_CHANGE: "The voters became {after}, after {before}: more than one changed: "
    "two majorities need not have met. Kafka allows it by hand only, when most voters were lost for good.",
    AnomalyCode.SEVERAL_CHANGES: "One record changed several voters ({change}); Kafka changes one at a "
    "time.",
    AnomalyCode.VOTERS_WITHOUT_KRAFT_VERSION: "Voters were written ({after}) although kraft.version is 0 "
    "there: Kafka never does that.",
    AnomalyCode.LEADER_NOT_VOTER: "Node {leader} was elected without being one of the voters {voters}.",
    AnomalyCode.MINORITY_ELECTION: "Node {leader} was elected by {granting} of the voters {voters}: that is "
    "no majority.",
    AnomalyCode.VOTERS_DIFFER: "The election names the voters {voters}, the log before it {known}.",
}


class Anomalies:
    """Collects anomalies: the first thousand of each code are kept, the others counted in `left_out`."""

    def __init__(self) -> None:
        self.kept: list[Anomaly] = []
        self.left_out: Counter[str] = Counter()
        self._count: Counter[AnomalyCode] = Counter()

    def add(
        self,
        code: AnomalyCode,
        record: LogRecord | PassedBatch | None,
        sentence: str,
        **evidence: Any,
    ) -> AnomalyCode:
        """Keep an anomaly of a record (None: of none), and return its code."""
        if record is None:
            return self._keep(Anomaly(code, None, None, None, sentence, evidence))
        at_ms = record.timestamp_ms
        return self._keep(Anomaly(code, record.offset, record.epoch, at_ms, sentence, evidence))

    def damage(self, damage: LogDamage) -> AnomalyCode:
        """Keep what is damaged in a file, or not finished at the end of the last one."""
        evidence = {"file": damage.file, "position": damage.position, "kind": str(damage.kind)}
        code, offset, sentence = AnomalyCode.DAMAGED, damage.offset, damage.sentence
        if damage.is_tail:
            code, offset = AnomalyCode.UNFINISHED_TAIL, damage.expected
            sentence = f"{UNFINISHED} before offset {offset}: {sentence}"
        elif offset is None:
            offset = damage.expected
        return self._keep(Anomaly(code, offset, None, None, sentence, evidence))

    def of_voters(
        self,
        codes: list[AnomalyCode],
        record: LogRecord,
        sets: tuple[VoterSet, VoterSet, VoterChange],
    ) -> tuple[AnomalyCode, ...]:
        """Keep what is wrong with a change of voters, given as the set before, after, and the change."""
        before, after, change = sets
        for code in codes:
            sentence = _OF_A_CODE[code].format(before=before, after=after, change=change)
            self.add(code, record, sentence, before=sorted(before.ids), after=sorted(after.ids))
        return tuple(codes)

    def of_election(
        self, codes: list[AnomalyCode], record: LogRecord, election: Election, known: VoterSet
    ) -> tuple[AnomalyCode, ...]:
        """Keep what is wrong with an election."""
        voters, granting = (
            sorted(k.id for k in keys) for keys in (election.voters, election.granting)
        )
        words = {"leader": election.leader_id, "voters": voters, "granting": granting}
        for code in codes:
            sentence = _OF_A_CODE[code].format(**words, known=sorted(known.ids))
            self.add(code, record, sentence, **words)
        return tuple(codes)

    def _keep(self, anomaly: Anomaly) -> AnomalyCode:
        self._count[anomaly.code] += 1
        if self._count[anomaly.code] <= MOST_OF_A_CODE:
            self.kept.append(anomaly)
        else:
            self.left_out[anomaly.code.value] += 1
        return anomaly.code


def election_faults(election: Election, known: VoterSet) -> list[AnomalyCode]:
    """Return what is wrong with an election; `known` are the voters of the log before it, or none."""
    ids = {key.id for key in election.voters}
    granting = {key.id for key in election.granting}
    faults = []
    if ids and election.leader_id not in ids:
        faults.append(AnomalyCode.LEADER_NOT_VOTER)
    if granting and len(granting & ids) < len(ids) // 2 + 1:
        faults.append(AnomalyCode.MINORITY_ELECTION)
    if ids and known.ids and ids != known.ids:
        faults.append(AnomalyCode.VOTERS_DIFFER)
    return faults


def change_faults(
    before: VoterSet, change: VoterChange, *, is_static: bool = False
) -> list[AnomalyCode]:
    """Return what is unsafe about a change; nothing where the voters before it are not known.

    Static voters are changed in configuration files, one by one or not: only the overlap is judged.
    """
    if not before.voters:
        return []
    faults = []
    if max(len(change.added), len(change.removed)) > 1:
        faults.append(AnomalyCode.NON_OVERLAPPING_CHANGE)
    if change.steps > 1 and not is_static:
        faults.append(AnomalyCode.SEVERAL_CHANGES)
    return faults
