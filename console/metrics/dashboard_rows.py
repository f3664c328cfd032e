"""What the Grafana dashboard shows: rows of panels, and what each asks for."""

from __future__ import annotations

from dataclasses import dataclass, field

from console.metrics import definitions as known
from console.metrics.definition import OPEN_FINDINGS, OPEN_INCIDENTS, Definition

FLOW = 'flow=~"$flow"'
CLUSTER = 'cluster=~"$cluster"'
BLOCKED = f'{FLOW},readiness="blocked"'
UNWELL = f'{CLUSTER},severity!="ok"'


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: queries with their legends; `limits` are (value, colour), worst last."""

    title: str
    unit: str
    queries: dict[str, str]
    width: int = 12
    kind: str = "timeseries"
    limits: list[tuple[float, str]] = field(default_factory=list)


def _of(metric: Definition, selector: str) -> str:
    return f"{metric.name}{{{selector}}}"


ROWS: dict[str, list[Panel]] = {
    "Incidents": [
        Panel(
            "Open incidents",
            "short",
            {"{{severity}} {{state}}": f"sum by (severity, state) ({OPEN_INCIDENTS.name})"},
        ),
        Panel(
            "Open findings",
            "short",
            {"{{cluster}} {{flow}} {{check}}": _of(OPEN_FINDINGS, f"{CLUSTER},{FLOW}")},
        ),
    ],
    "Replication": [
        Panel(
            "Flows that should run and do not",
            "short",
            {"flows": f"sum({known.FLOW_WANTED.name} > {known.FLOW_UP.name}) or vector(0)"},
            4,
            "stat",
            [(1, "red")],
        ),
        Panel("Lag in records", "short", {"{{flow}}": _of(known.FLOW_LAG, FLOW)}, 10),
        Panel("Lag (time)", "s", {"{{flow}}": _of(known.FLOW_LAG_TIME, FLOW)}, 10),
        Panel("Rate", "cps", {"{{flow}}": _of(known.FLOW_RATE, FLOW)}),
        Panel(
            "Topics with the largest lag",
            "short",
            {"{{flow}} {{topic}}": f"topk(10, {_of(known.TOPIC_LAG, FLOW)})"},
        ),
        Panel(
            "Partitions by state",
            "short",
            {"{{state}}": f"sum by (state) ({_of(known.FLOW_PARTITIONS, FLOW)})"},
        ),
        Panel(
            "Runs that ended badly in a row", "short", {"{{flow}}": _of(known.FLOW_FAILURES, FLOW)}
        ),
    ],
    "Failover": [
        Panel(
            "Flows that cannot fail over now",
            "short",
            {"flows": f"sum({_of(known.FAILOVER_READY, BLOCKED)}) or vector(0)"},
            4,
            "stat",
            [(1, "red")],
        ),
        Panel(
            "Groups by answer",
            "short",
            {"{{flow}} {{readiness}}": _of(known.FAILOVER_GROUPS, FLOW)},
            10,
        ),
        Panel("Records at risk", "short", {"{{flow}}": _of(known.AT_RISK, FLOW)}, 10),
        Panel("Records at risk, in time", "s", {"{{flow}}": _of(known.AT_RISK_TIME, FLOW)}, 8),
        Panel(
            "Records that groups would read again at most",
            "short",
            {"{{flow}}": _of(known.REREAD, FLOW)},
            8,
        ),
        Panel(
            "Age of the oldest checkpoint", "s", {"{{flow}}": _of(known.CHECKPOINT_AGE, FLOW)}, 8
        ),
        Panel(
            "Groups that are not ready: 2 warning, 3 unknown, 4 blocked",
            "short",
            {"{{flow}} {{group}}": f"topk(10, {_of(known.GROUP_READY, FLOW)} > 1)"},
        ),
    ],
    "Clusters": [
        Panel(
            "Unhealthy partitions",
            "short",
            {"{{cluster}} {{severity}}": _of(known.PARTITIONS, UNWELL)},
        ),
        Panel(
            "Under-replicated and offline",
            "short",
            {
                "{{cluster}} under-replicated": _of(known.UNDER_REPLICATED, CLUSTER),
                "{{cluster}} offline": _of(known.OFFLINE, CLUSTER),
            },
        ),
        Panel(
            "For how long a replica is missing",
            "s",
            {"{{cluster}}": _of(known.OUT_OF_SYNC_AGE, CLUSTER)},
        ),
        Panel("Brokers", "short", {"{{cluster}} {{state}}": _of(known.BROKERS, CLUSTER)}),
        Panel(
            "Consumer groups with the largest lag",
            "short",
            {"{{cluster}} {{group}}": f"topk(10, {_of(known.GROUP_LAG, CLUSTER)})"},
        ),
        Panel(
            "The same in time",
            "s",
            {"{{cluster}} {{group}}": f"topk(10, {_of(known.GROUP_LAG_TIME, CLUSTER)})"},
        ),
    ],
    "KRaft quorum": [
        Panel(
            "New epochs of the quorum in the last hour",
            "short",
            {"{{cluster}}": f"delta({_of(known.QUORUM_EPOCH, CLUSTER)}[1h])"},
            8,
        ),
        Panel(
            "Leader: id of the node", "none", {"{{cluster}}": _of(known.QUORUM_LEADER, CLUSTER)}, 8
        ),
        Panel("Epoch of the quorum", "none", {"{{cluster}}": _of(known.QUORUM_EPOCH, CLUSTER)}, 8),
        Panel(
            "Voters and observers",
            "short",
            {"{{cluster}} {{role}}": _of(known.QUORUM_VOTERS, CLUSTER)},
            8,
        ),
        Panel(
            "Max follower lag of voters (time)",
            "s",
            {"{{cluster}}": _of(known.QUORUM_LAG_TIME, CLUSTER)},
            8,
        ),
        Panel(
            "Metadata records per second",
            "cps",
            {"{{cluster}}": f"rate({_of(known.QUORUM_MARK, CLUSTER)}[5m])"},
            8,
        ),
        Panel(
            "Follower of the metadata log is behind by",
            "s",
            {"{{cluster}}": _of(known.METADATA_BEHIND, CLUSTER)},
        ),
    ],
    "Availability": [
        Panel(
            "Partitions with fewer replicas than min.insync.replicas",
            "short",
            {"{{cluster}}": _of(known.RF_BELOW_MIN, CLUSTER)},
        ),
        Panel(
            "Replicas out of sync by broker",
            "short",
            {"{{cluster}} broker {{broker}}": f"topk(10, {_of(known.OUT_OF_SYNC, CLUSTER)} > 0)"},
        ),
        Panel(
            "Unclean elections that are still kept",
            "short",
            {"{{cluster}}": _of(known.UNCLEAN, CLUSTER)},
            6,
        ),
        Panel(
            "Observers in the ISR",
            "short",
            {"{{cluster}}": _of(known.OBSERVERS_IN_ISR, CLUSTER)},
            6,
        ),
        Panel("Promotions", "short", {"{{cluster}} {{state}}": _of(known.PROMOTIONS, CLUSTER)}, 6),
        Panel(
            "Standby loops",
            "short",
            {"{{cluster}}": _of(known.PROMOTION_PROMOTERS, CLUSTER)},
            6,
        ),
    ],
    "crosslog itself": [
        Panel(
            "Age of what is known of the clusters",
            "s",
            {"{{cluster}} {{noun}}": _of(known.COLLECTION_AGE, CLUSTER)},
        ),
        Panel("Age of the flows' numbers", "s", {"{{flow}} {{noun}}": _of(known.FLOW_AGE, FLOW)}),
        Panel(
            "Duration of rounds",
            "s",
            {"{{cluster}} {{noun}}": _of(known.COLLECTION_TIME, CLUSTER)},
        ),
        Panel("Runs", "short", {"{{kind}} {{state}}": known.RUNS.name}),
    ],
}
