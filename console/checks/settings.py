"""Settings of checks as the rules take them."""

from __future__ import annotations

from console.checks.models import CheckSetting
from jobs.checks.settings import Setting, Settings


def read_settings() -> Settings:
    """Return all settings; one query."""
    return Settings.of(
        Setting(
            row.check_id,
            row.thresholds,
            row.cluster_id,
            row.flow_id,
            row.topic_pattern,
            row.group_pattern,
            row.is_excluded,
        )
        for row in CheckSetting.objects.order_by("pk")
    )
