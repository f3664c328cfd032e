"""Requirements of a flow that its clusters do not meet; pure rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from jobs.cluster.capabilities import needs
from jobs.cluster.capabilities.verdicts import ClusterVersions, Judged, Verdict
from jobs.replication.flow.spec import CopyPath, FlowSpec, Guarantee, SyncsLocation

_WORDS = {
    Verdict.ANOTHER_WAY: "works another way",
    Verdict.LACKS: "does not work",
    Verdict.UNKNOWN: "not known",
}


@dataclass(frozen=True, slots=True)
class Lacking(Judged):
    """A capability of one of a flow's clusters; `read_at`: see `ClusterVersions`."""

    cluster: str
    read_at: datetime | None

    def __str__(self) -> str:
        return f"{self.cluster}: {self.title}: {_WORDS[self.verdict]}. {self.why}"


def find_lacking(flow: FlowSpec, source: ClusterVersions, target: ClusterVersions) -> list[Lacking]:
    """Return what the flow's settings ask for and a cluster does not simply have, or is not known to have."""
    sides = (
        (flow.source.alias, source, set(_of_source(flow))),
        (flow.target.alias, target, set(_of_target(flow))),
    )
    return [
        Lacking(**asdict(one), cluster=alias, read_at=versions.read_at)
        for alias, versions, codes in sides
        for one in versions.lacking
        if one.code in codes
    ]


def _of_source(flow: FlowSpec) -> Iterator[str]:
    if not flow.is_watched:
        is_auto = flow.path is CopyPath.AUTO
        yield needs.COPY_FROM if is_auto else needs.RECORDS_FROM
        yield needs.RECREATED
    if flow.is_watched or flow.emit_checkpoints_interval_s or flow.sync_group_offsets:
        yield needs.CHECKPOINTS
    if flow.sync_acls:
        yield needs.ACL_SYNC
    if flow.offset_syncs is SyncsLocation.SOURCE and not flow.is_watched:
        yield needs.OFFSET_SYNCS


def _of_target(flow: FlowSpec) -> Iterator[str]:
    if flow.sync_group_offsets:
        yield needs.GROUP_OFFSETS
    if flow.is_watched:
        return
    has_transactions = flow.path is CopyPath.AUTO and flow.delivery is Guarantee.EXACTLY_ONCE
    yield needs.COPY_INTO if has_transactions else needs.RECORDS_INTO
    yield needs.TOPIC_SYNC
    if flow.offset_syncs is SyncsLocation.TARGET:
        yield needs.OFFSET_SYNCS
    if flow.sync_acls:
        yield needs.ACL_SYNC
