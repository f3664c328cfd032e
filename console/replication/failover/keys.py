"""The key that signs reports: given by the environment, or kept in the home."""

from __future__ import annotations

from django.conf import settings

from jobs.replication.failover.reports.signing import SigningKey, kept_key

FILE = "report-key.pem"


def report_key() -> SigningKey:
    """Return the key of this installation; on several machines all need the same REPORT_KEY."""
    if settings.REPORT_KEY:
        return SigningKey.from_pem(settings.REPORT_KEY)
    return kept_key(settings.CROSSLOG_HOME / FILE)
