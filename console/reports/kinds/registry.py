"""Each kind of report with its reader and its builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.reports.kinds import (
    audit_trail,
    availability,
    disaster_recovery,
    quorum,
    replication,
)
from console.reports.kinds.asked import Asked, Question
from jobs.reports.kinds import audit_trail as audit_trail_rules
from jobs.reports.kinds.clusters import availability as availability_rules
from jobs.reports.kinds.clusters import quorum as quorum_rules
from jobs.reports.kinds.flows import disaster_recovery as disaster_recovery_rules
from jobs.reports.kinds.flows import replication as replication_rules
from jobs.reports.kinds.kind import Content


def _nothing(_: Asked) -> Sequence[Question]:
    return ()


@dataclass(frozen=True, slots=True)
class Maker:
    """Builder of a kind: `read` the records of a period, `build` the content.

    `questions` are analyses to be answered before `read`: for what the database no longer has.
    """

    read: Callable[[Asked], Any]
    build: Callable[[Any, Any], Content]
    questions: Callable[[Asked], Sequence[Question]] = _nothing


MAKERS: Mapping[str, Maker] = {
    "disaster-recovery": Maker(disaster_recovery.read, disaster_recovery_rules.build),
    "replication": Maker(replication.read, replication_rules.build),
    "availability": Maker(availability.read, availability_rules.build, availability.questions),
    "quorum": Maker(quorum.read, quorum_rules.build, quorum.questions),
    "audit-trail": Maker(audit_trail.read, audit_trail_rules.build),
}
