"""The copy audits of flows, as of the end of a report's period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.replication.flows import queries as flows_queries
from console.reports.kinds.asked import Asked
from jobs.reports.kinds.flows.copy_audits import CopyAudit, CopyAudits


def read_audits(asked: Asked, flows: Sequence[Any]) -> CopyAudits:
    """Return the audit of each flow that counted then."""
    rows = flows_queries.with_audits(list(flows), min(asked.period.end, asked.now))
    found = tuple(_audit(flow, flow.audit) for flow in rows)
    return CopyAudits(found, asked.now - flows_queries.AUDITS_KEPT)


def _audit(flow: Any, audit: Any) -> CopyAudit:
    return CopyAudit(
        flow.name,
        audit.word,
        audit.severity,
        audit.href,
        audit.at,
        audit.level,
        None if audit.age_s is None else round(audit.age_s * 1000),
        audit.facts.get("topics"),
        audit.facts.get("topics_of_flow"),
        audit.facts.get("records_compared"),
        audit.counts,
        audit.sentence,
        audit.found,
    )
