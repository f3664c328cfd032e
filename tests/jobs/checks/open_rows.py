"""Open findings for tests of incidents: a cluster 1 (east) with flows 7 and 8, a cluster 2 (west)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

from jobs.checks.check import CHECKS, Area, Check
from jobs.checks.open_findings import Names, OpenFinding
from jobs.severity import Severity

NOW = datetime(2026, 5, 1, 8, 46, 29, tzinfo=UTC)
NAMES = Names(
    {1: "east", 2: "west"},
    {7: "orders", 8: "bills"},
    {4: "east"},
    {1: frozenset({7, 8}), 2: frozenset({7, 8})},
)
_ids = count(1)


def make_check(id_: str, area: Area, effect: str = "", **fields) -> Check:
    values = {"severity": Severity.CRITICAL, "runbook": "Read the log."} | fields
    return Check(
        id_, id_.capitalize(), "Is it so?", "It is so.", area=area, effect=effect, **values
    )


PROBES = (
    make_check("probe_offline", Area.PARTITION, "{partitions} partitions offline"),
    make_check("probe_at_min", Area.PARTITION, "{partitions} at min ISR"),
    make_check("probe_disk", Area.BROKER),
    make_check("probe_group", Area.GROUP, open_after_s=60),
    make_check("probe_advice", Area.PARTITION, is_advice=True),
)


@contextmanager
def probe_checks() -> Iterator[None]:
    """Have checks of the tests beside the others for a while."""
    CHECKS.by_id.update({one.id: one for one in PROBES})
    yield
    for one in PROBES:
        del CHECKS.by_id[one.id]


def open_finding(code: str, after_s: float = 0, **fields) -> OpenFinding:
    """Return an open finding about cluster 1, unless `flow`, `log` or `cluster` say otherwise."""
    if fields.keys() & {"flow", "log"}:
        clusters = (1, 2) if "flow" in fields else (1,)
    else:
        fields = {"cluster": 1} | fields
        clusters = () if fields["cluster"] is None else (fields["cluster"],)
    values = {
        "id": next(_ids),
        "kind": "checks",
        "code": code,
        "severity": Severity.CRITICAL,
        "sentence": f"{code} is wrong.",
        "todo": "Read the log.",
        "subject": "",
        "topic": "",
        "partition": None,
        "brokers": (),
        "evidence": {},
        "opened_at": NOW + timedelta(seconds=after_s),
        "clusters": clusters,
    } | fields
    return OpenFinding(**values)


def broker_down(broker: int = 3, after_s: float = 0, **fields) -> OpenFinding:
    values = {"sentence": f"Broker {broker} (dc-c) of east is down."} | fields
    return open_finding(
        "broker_down", after_s, subject=f"broker {broker}", brokers=(broker,), **values
    )


def unreachable(after_s: float = 0, **fields) -> OpenFinding:
    return open_finding(
        "cluster_unreachable", after_s, sentence="Cluster east is unreachable.", **fields
    )
