"""Probe the endpoints of an application from this server, through the guard of outbound calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from console.accounts.audit import audit
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.frame.rest.throttling import BUCKETS
from console.frame.security.outbound import Outbound, OutboundFailed, OutboundRefused
from console.streams.models import StreamsApplication
from console.streams.snapshots import picture_of
from jobs.cluster.network_addresses import host_text
from jobs.streams.probes import NotAllowed, Probe, endpoints_of, probe_endpoints

ACTION = "streams.probe"
PROBES_PER_MIN = 6


@dataclass(frozen=True, slots=True)
class Probed:
    """The probes of one request; `left_out` counts the endpoints beyond the first ones."""

    probed_at: datetime
    probes: tuple[Probe, ...]
    left_out: int


def probe_application(
    row: StreamsApplication, person: User, guard: Outbound | None = None
) -> Probed:
    """Probe each endpoint once, and write it to the audit log; nothing else is kept.

    Members write the endpoints: only what OUTBOUND_* allows is probed. Raises `ActionRefused` for a person
    who probes too often.
    """
    wait_s = BUCKETS.take(f"probes user:{person.pk}", PROBES_PER_MIN)
    if wait_s:
        text = f"{PROBES_PER_MIN} probes in a minute are allowed: try again in {wait_s:.0f} s."
        raise ActionRefused("too_many_probes", text)
    allowed = guard or Outbound.from_settings()

    def resolve(host: str, port: int) -> str:
        try:
            parts, address = allowed.check(
                f"{next(iter(allowed.schemes))}://{host_text(host)}:{port}"
            )
        except OutboundRefused as refused:
            raise NotAllowed(refused.message) from None
        except OutboundFailed as failed:
            raise OSError(failed.message) from None
        if parts.port != port:
            # A host with a path: what was checked is another port.
            raise NotAllowed("application.server has to be HOST:PORT, without a path.")
        return address

    endpoints = endpoints_of(picture_of(row).application)
    now = timezone.now()
    probes = probe_endpoints(endpoints, resolve)
    counts = Counter(one.answer.value for one in probes)
    audit(ACTION, row.application_id, after=dict(counts), cluster=row.cluster.alias)
    return Probed(now, probes, len(endpoints) - len(probes))
